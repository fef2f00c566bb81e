"""Objective against time, one picture a data set and model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from benchmarks.protocol import Curve
from benchmarks.results import Results, curve, runs

# Okabe and Ito's colours, which most colour-blind readers tell apart; markers differ as well.
LOOKS = {
    "genesieve_nmf": ("#0072B2", "o"),
    "genesieve_l20": ("#0072B2", "o"),
    "sklearn_cd": ("#D55E00", "s"),
    "sklearn_minibatch": ("#E69F00", "D"),
    "rcppml": ("#009E73", "^"),
    "nmf_torch": ("#CC79A7", "v"),
    "palm": ("#D55E00", "s"),
    "mapalm": ("#009E73", "^"),
}
SIZE, DPI = (6.4, 4.0), 120
FLOOR = 1e-3  # per cent above the best: what lies below is drawn there


def picture(data: str, model: str) -> str:
    """The file name of a picture."""
    return f"bench-{data}-{model}.png"


def draw_all(results: Results, folder: Path) -> None:
    """Draw every data set and model that was raced."""
    folder.mkdir(parents=True, exist_ok=True)
    raced = {job: record for job, record in results.records.items() if record.get("points")}
    for data, model in sorted({_key(job, record) for job, record in raced.items()}):
        records = {job.split("/")[1]: record for job, record in raced.items() if _key(job, record) == (data, model)}
        draw(records, folder / picture(data, model), title=f"{data}, {model}")


def draw(records: dict[str, dict[str, Any]], path: Path, *, title: str) -> None:
    """One picture: how far above the best objective of all each run is, as time goes by."""
    courses = [(peer, run, curve(record, run)) for peer, record in records.items() for run in _shown(record)]
    best = min(objective for _, _, course in courses for _, objective in course)
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    labelled = set()
    for peer, _, course in courses:
        colour, marker = LOOKS[peer]
        label = None if peer in labelled else records[peer]["title"]
        labelled.add(peer)
        axes.plot(*_above(course, best), color=colour, marker=marker, markersize=4, linewidth=1.2, label=label)
    axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="objective above the best found (%)", title=title)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def _key(job: str, record: dict[str, Any]) -> tuple[str, str]:
    return job.split("/")[0], record["model"]


def _shown(record: dict[str, Any]) -> list[str]:
    """All runs, but of our own only the long ones: default fits lie on them."""
    long = [run for run in runs(record) if not run.startswith("default")]
    return long or runs(record)


def _above(course: Curve, best: float) -> tuple[list[float], list[float]]:
    seconds = [pair[0] for pair in course]
    return seconds, [max(100.0 * (pair[1] / best - 1.0), FLOOR) for pair in course]
