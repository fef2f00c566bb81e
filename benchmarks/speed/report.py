"""The places of docs/benchmarks.md."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.report import commands, goal_table, machine, picture, table
from benchmarks.harness.results import Record, Results, why_not
from benchmarks.speed import goals, plots
from benchmarks.speed.peers import PEERS
from benchmarks.speed.races import Race, races
from benchmarks.speed.results import best, runs

MODELS = {"nmf": "plain NMF", "l20": "NMF with a gene budget (l20)"}
MIB = 2**20


def fill(results: Results, images: Path) -> dict[str, str]:
    """The text of every place; the pictures are drawn."""
    plots.draw_all(results, images)
    raced = races(any(results.values("quick")))
    rows = [goal.row(results) for goal in goals.GOALS]
    return {
        "machine": machine(results),
        "goals": goal_table(rows),
        "commands": commands(rows),
        "races": "\n".join(filter(None, (race_section(results, name, race) for name, race in raced.items()))),
        "growth": growth_table(results),
    }


def race_section(results: Results, name: str, race: Race) -> str:
    """Tables and pictures of one data set."""
    jobs = {peer: f"{name}/{peer}" for peer in race.peers}
    records = {peer: results.records[job] for peer, job in jobs.items() if job in results.records}
    text = ""
    for model, title in MODELS.items():
        chosen = {peer: record for peer, record in records.items() if PEERS[peer].group == model}
        if not chosen:
            continue
        budget = f", {race.n_genes} genes" if model == "l20" else ""
        text += f"### {name}: {title}, rank {race.rank}{budget}\n\n{race_table(chosen)}"
        if not all(why_not(record) for record in chosen.values()):
            text += picture(plots.name_of(name, model), "objective against time")
        text += "\n"
    return text and f"## {race.title}\n\n{text}"


def race_table(records: dict[str, Record]) -> str:
    """The end of every run of every peer."""
    head = ["peer", "run", "iterations", "passes", "seconds", "objective", "above the best", "peak above input (MiB)"]
    measured = [record for record in records.values() if not why_not(record)]
    floor = min((best(record, run) for record in measured for run in runs(record)), default=1.0)
    body = []
    for peer, record in records.items():
        if why_not(record):
            body.append([PEERS[peer].title, f"skipped: {why_not(record)}", *[""] * (len(head) - 2)])
            continue
        body += [[record["title"], *_cells(point, floor)] for point in record["points"]]
    return table(head, body)


def _cells(point: Record, floor: float) -> list[str]:
    return [
        point["run"],
        str(point["iterations"]),
        "" if point["passes"] is None else str(point["passes"]),
        f"{point['seconds']:.2f}",
        f"{point['objective']:,.1f}",
        f"{100 * (point['objective'] / floor - 1):.3f}%",
        "" if point["peak"] is None else f"{point['peak'] / MIB:.0f}",
    ]


def growth_table(results: Results) -> str:
    """Default fits at growing numbers of cells."""
    head = ["cells", "model", "passes", "seconds", "us a cell", "X (MiB)", "factors (MiB)", "peak above input (MiB)"]
    body = [
        [
            f"{fit['cells']:,}",
            fit["model"],
            str(fit["passes"]),
            f"{fit['seconds']:.2f}",
            f"{1e6 * fit['seconds'] / fit['cells']:.0f}",
            f"{fit['input'] / MIB:.0f}",
            f"{fit['factors'] / MIB:.1f}",
            "" if fit["peak"] is None else f"{fit['peak'] / MIB:.0f}",
        ]
        for record in results.measured(goals.GROWTH)
        for fit in record["fits"]
    ]
    return table(head, body) if body else ""
