"""The places of docs/panels.md."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.harness import plots
from benchmarks.harness.plots import BLUE, VERMILION, picture
from benchmarks.harness.report import goal_table, machine, number, table
from benchmarks.harness.report import picture as shown
from benchmarks.harness.results import Results
from benchmarks.panels.cells import SETS
from benchmarks.panels.goals import GOALS, SIZES, scores
from benchmarks.panels.peers import FREE, PEERS

PARTS = {
    "accuracy": "types recognised",
    "types_above": "types above 0.8",
    "neighbours": "neighbours kept",
    "nmi_coarse": "coarse clusters",
    "nmi_fine": "fine clusters",
}
DOTS = "panels-scores.png"


def fill(results: Results, images: Path) -> dict[str, str]:
    """The text of every place."""
    drawn = plots.draw_all(images, {DOTS: partial(draw_scores, results)})
    return {
        "goals": goal_table([goal.row(results) for goal in GOALS]),
        "scores": "\n".join(score_table(results, n) for n in SIZES) + "".join(shown(name, "scores") for name in drawn),
        "parts": "\n".join(parts_table(results, n) for n in SIZES),
        "machine": machine(results),
    }


def score_table(results: Results, n_genes: int) -> str:
    """Combined scores, methods x data sets, with seconds and memory."""
    body = []
    for name, peer in PEERS.items():
        found = scores(results, name, n_genes)
        if not found:
            continue
        cost = [mean(scores(results, name, n_genes, field)) for field in ("cpu_seconds", "peak")]
        memory = None if cost[1] is None else cost[1] / 1e6
        row = [peer.title, peer.group, *(number(found.get(data), 3) for data in SETS)]
        body.append([*row, number(mean(found), 3), number(cost[0], 1), number(memory, 0)])
    if not body:
        return ""
    head = ["method", "", *SETS, "mean of those", "processor s", "MB"]
    return f"### {n_genes} genes\n\n{table(head, body)}"


def parts_table(results: Results, n_genes: int) -> str:
    """What the score is made of, as means over the sets."""
    body = [
        [peer.title, *(number(mean(scores(results, name, n_genes, part)), 3) for part in PARTS)]
        for name, peer in PEERS.items()
        if scores(results, name, n_genes)
    ]
    return f"### {n_genes} genes\n\n{table(['method', *PARTS.values()], body)}" if body else ""


def mean(found: dict[str, float]) -> float | None:
    """Over the sets that were measured."""
    return sum(found.values()) / len(found) if found else None


def draw_scores(results: Results, path: Path) -> bool:
    """A panel a data set, a line a method, a dot a size."""
    n_genes = SIZES[0]
    methods = [name for name in PEERS if scores(results, name, n_genes)]
    if len({data for name in methods for data in scores(results, name, n_genes)}) < 2:
        return False  # a table says it as well
    methods.sort(key=lambda name: mean(scores(results, name, n_genes)) or 0.0)
    size = (2.4 + 1.5 * len(SETS), 1.0 + 0.26 * len(methods))
    with picture(path, 1, len(SETS), size=size, sharey=True, squeeze=False) as (_, grid):
        for axes, data in zip(grid.flat, SETS, strict=True):
            for line, name in enumerate(methods):
                found = scores(results, name, n_genes).get(data)
                colour = BLUE if PEERS[name].group == FREE else VERMILION
                if found is not None:
                    axes.plot([found], [line], "o", color=colour, markersize=6)
            axes.set_title(data, fontsize=10)
            axes.set_xlabel(f"score, {n_genes} genes", fontsize=8)
            axes.tick_params(labelsize=8)
            titles = [PEERS[name].title.replace("`", "") for name in methods]
            axes.set_yticks(range(len(methods)), titles)
    return True
