"""Objective against time, one picture a data set and model."""

from __future__ import annotations

from pathlib import Path

from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from benchmarks.harness.plots import LOOKS, legend, picture
from benchmarks.harness.results import Record, Results
from benchmarks.speed.peers import PEERS
from benchmarks.speed.protocol import Curve
from benchmarks.speed.results import curve, runs

FLOOR = 1e-3  # per cent above the best: what lies below is drawn there


def name_of(data: str, model: str) -> str:
    """The file name of a picture."""
    return f"bench-{data}-{model}.png"


def draw_all(results: Results, folder: Path) -> None:
    """Draw every data set and model that was raced."""
    raced: dict[tuple[str, str], dict[str, Record]] = {}
    for job, record in results.records.items():
        if record.get("points"):
            data, peer = job.split("/")
            raced.setdefault((data, record["model"]), {})[peer] = record
    for (data, model), records in raced.items():
        draw(records, folder / name_of(data, model), title=f"{data}, {model}")


def draw(records: dict[str, Record], path: Path, *, title: str) -> None:
    """One picture: how far above the best objective of all each run is, as time goes by."""
    courses = {peer: [curve(record, run) for run in _shown(record)] for peer, record in records.items()}
    best = min(objective for each in courses.values() for course in each for _, objective in course)
    with picture(path, size=(6.4, 4.0)) as (_, axes):
        for peer, each in courses.items():
            colour, marker = look(peer)
            for count, course in enumerate(each):
                style = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.2}
                axes.plot(*_above(course, best), label=None if count else records[peer]["title"], **style)
        axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="objective above the best found (%)", title=title)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        legend(axes)


def look(peer: str) -> tuple[str, str]:
    """Colour and marker, by the place of a peer among those of its model."""
    rivals = [name for name, other in PEERS.items() if other.group == PEERS[peer].group]
    return LOOKS[rivals.index(peer) % len(LOOKS)]


def _shown(record: Record) -> list[str]:
    """All runs, but of our own only the long ones: default fits lie on them."""
    long = [run for run in runs(record) if not run.startswith("default")]
    return long or runs(record)


def _above(course: Curve, best: float) -> tuple[list[float], list[float]]:
    seconds = [pair[0] for pair in course]
    return seconds, [max(100.0 * (pair[1] / best - 1.0), FLOOR) for pair in course]
