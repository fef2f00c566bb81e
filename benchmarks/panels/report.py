"""The places of docs/panels.md."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.harness import plots
from benchmarks.harness.plots import BLUE, VERMILION, picture
from benchmarks.harness.report import goal_table, machine, number, table
from benchmarks.harness.report import picture as shown
from benchmarks.harness.results import Results
from benchmarks.panels.cells import DRAWN_SETS, SETS
from benchmarks.panels.goals import ALL_SIZES, GOALS, SIZES, on_draws, scores, with_error
from benchmarks.panels.peers import FREE, PEERS

PARTS = {
    "accuracy": "types recognised",
    "types_above": "types above 0.8",
    "neighbours": "neighbours kept",
    "nmi_coarse": "coarse clusters",
    "nmi_fine": "fine clusters",
    "uncorrelated": "uncorrelated genes",
}
OURS = ("panel", "panel_labels", "ssnmf")
STEPS = ("prepare", "fit", "panel")
DOTS, LINES = "panels-scores.png", "panels-sizes.png"
PICTURES = {DOTS: "scores", LINES: "scores over sizes"}


def fill(results: Results, images: Path) -> dict[str, str]:
    """The text of every place."""
    drawn = plots.draw_all(images, {DOTS: partial(draw_scores, results), LINES: partial(draw_sizes, results)})
    return {
        "goals": goal_table([goal.row(results) for goal in GOALS]),
        "scores": "\n".join(score_table(results, n) for n in SIZES)
        + "".join(shown(n, "scores") for n in drawn if n == DOTS),
        "draws": "\n".join(draws_table(results, n) for n in SIZES),
        "sizes": size_table(results) + "".join(shown(n, "scores over sizes") for n in drawn if n == LINES),
        "cost": cost_table(results),
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


def draws_table(results: Results, n_genes: int) -> str:
    """Means over draws of cells with their standard errors, methods x data sets."""
    body = []
    for name, peer in PEERS.items():
        by_set = {data: with_error(found.values()) for data, found in on_draws(results, name, n_genes).items()}
        if by_set:
            cells = [_give_or_take(*by_set[data]) if data in by_set else "-" for data in DRAWN_SETS]
            middle = number(mean({data: found[0] for data, found in by_set.items()}), 3)
            body.append([peer.title, peer.group, *cells, middle])
    head = ["method", "", *DRAWN_SETS, "mean of those"]
    return f"#### {n_genes} genes, further draws\n\n{table(head, body)}" if body else ""


def _give_or_take(middle: float, error: float) -> str:
    return f"{middle:.3f}" if error != error else f"{middle:.3f} ± {error:.3f}"


def size_table(results: Results) -> str:
    """Scores over sizes, on the same cells for all methods."""
    body = []
    for name, peer in PEERS.items():
        by_size = _means_over_sizes(results, name)
        if len(by_size) > 1:
            body.append([peer.title, peer.group, *(number(by_size.get(n), 3) for n in ALL_SIZES)])
    return table(["method", "", *(f"{n} genes" for n in ALL_SIZES)], body) if body else ""


def cost_table(results: Results) -> str:
    """Seconds by the clock and memory of panels, step by step."""
    body = [
        [record["data"], f"{record['n_cells']:,}", str(record["n_genes"])]
        + [number(record[step], 1) for step in (*STEPS, "seconds", "cpu_seconds")]
        + [number(record["peak"] / 1e9, 2)]
        for record in sorted(results.measured("cost/"), key=lambda record: record["n_cells"])
    ]
    head = ["data", "cells", "genes", *(f"{step} (s)" for step in STEPS), "in all (s)", "processor s", "peak (GB)"]
    return table(head, body) if body else ""


def _means_over_sizes(results: Results, method: str) -> dict[int, float]:
    """Means over the draws that our panels have at every size; none where the method lacks one of them."""
    ours = [set(_by_draw(results, "panel", n)) for n in ALL_SIZES]
    common = set.intersection(*(draws for draws in ours if draws)) if any(ours) else set()
    sets = {data for data, _ in common}
    found = {n: _by_draw(results, method, n) for n in ALL_SIZES}
    return {
        n: sum(with_error(by_draw[each] for each in common if each[0] == data)[0] for data in sets) / len(sets)
        for n, by_draw in found.items()
        if sets and common <= set(by_draw)
    }


def _by_draw(results: Results, method: str, n_genes: int) -> dict[tuple[str, int], float]:
    found = on_draws(results, method, n_genes)
    return {(data, draw): score for data, draws in found.items() for draw, score in draws.items()}


def mean(found: dict[str, float]) -> float | None:
    """Over the sets that were measured."""
    return sum(found.values()) / len(found) if found else None


def draw_scores(results: Results, path: Path) -> bool:
    """A panel a data set and size, a line a method."""
    methods = [name for name in PEERS if scores(results, name, SIZES[0])]
    sets = [data for data in SETS if any(data in scores(results, name, SIZES[0]) for name in methods)]
    if len(sets) < 2:
        return False  # a table says it as well
    methods.sort(key=lambda name: mean(scores(results, name, SIZES[0])) or 0.0)
    size = (2.4 + 1.5 * len(sets), len(SIZES) * (0.7 + 0.22 * len(methods)))
    with picture(path, len(SIZES), len(sets), size=size, sharey=True, sharex="col", squeeze=False) as (_, grid):
        for n_genes, row in zip(SIZES, grid, strict=True):
            for axes, data in zip(row, sets, strict=True):
                for line, name in enumerate(methods):
                    found = scores(results, name, n_genes).get(data)
                    if found is not None:
                        colour = BLUE if PEERS[name].group == FREE else VERMILION
                        axes.plot([found], [line], "o", color=colour, markersize=5)
                axes.set_title(f"{data}, {n_genes} genes", fontsize=9)
                axes.tick_params(labelsize=8)
                axes.grid(axis="y", linewidth=0.3)
                axes.set_yticks(range(len(methods)), [PEERS[name].title.replace("`", "") for name in methods])
        for axes in grid[-1]:
            axes.set_xlabel("score", fontsize=8)
    return True


def draw_sizes(results: Results, path: Path) -> bool:
    """A line a method, over the sizes of the panel."""
    lines = {name: _means_over_sizes(results, name) for name in PEERS}
    lines = {name: found for name, found in lines.items() if len(found) > 2}
    if len(lines) < 2:
        return False
    with picture(path, 1, 1, size=(6.4, 3.8), squeeze=False) as (_, grid):
        axes = grid[0, 0]
        for name, found in lines.items():
            ours = name in OURS
            style = "-" if PEERS[name].group == FREE else "--"
            axes.plot(
                list(found), list(found.values()), style, marker="o", markersize=3, linewidth=2.2 if ours else 1.0
            )
            axes.lines[-1].set_label(PEERS[name].title.replace("`", ""))
        axes.set_xlabel("genes of the panel")
        axes.set_ylabel("score, mean over sets")
        axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return True
