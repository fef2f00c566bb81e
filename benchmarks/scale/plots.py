"""Seconds and memory against cells, and memory against passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.results import Results
from benchmarks.scale import goals
from benchmarks.scale.results import Record, line_through, measured, total

GROWTH, PASSES = "scale-growth.png", "scale-passes.png"
DPI = 120
POINTS, LINE, GOAL = "#0072B2", "#000000", "#D55E00"  # Okabe and Ito's


def draw_all(results: Results, kind: str, folder: Path) -> list[str]:
    """Draw what there is to draw; the names of the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {
        GROWTH: draw_growth(results, kind, folder / GROWTH),
        PASSES: draw_passes(results, kind, folder / PASSES),
    }
    return [name for name, done in drawn.items() if done]


def draw_growth(results: Results, kind: str, path: Path) -> bool:
    """Minutes and peak memory of fits from file, the line through them, and the goals."""
    records = measured(results, "growth", format=kind)
    if not records:
        return False
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    draw_panel(left, records, lambda record: total(record) / 60, goals.MINUTES)
    left.set(ylabel="minutes", title="whole job: open, prepare and fit")
    draw_panel(right, records, lambda record: record["peak"] / 1e9, goals.GIGABYTES)
    right.set(ylabel="GB", title="peak resident memory")
    left.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    return True


def draw_panel(axes: Axes, records: list[Record], value: Callable[[Record], float], bound: float) -> None:
    """One value against cells."""
    cells = [record["cells"] for record in records]
    line = line_through(records, value, goals.CELLS)
    if line is not None:
        ends = (0, max(goals.CELLS, *cells))
        label = f"line through {len(line.cells)} sizes up to {max(line.cells):,} cells"
        axes.plot(ends, [line(end) for end in ends], color=LINE, linestyle="--", linewidth=1, label=label)
    axes.plot(cells, [value(record) for record in records], "o", color=POINTS, label="measured")
    axes.plot([goals.CELLS], [bound], "_", color=GOAL, markersize=18, markeredgewidth=2, label="goal: no higher")
    axes.set(xlabel="million cells", ylim=(0, None), xlim=(0, 1.05 * max(goals.CELLS, *cells)))
    axes.xaxis.set_major_formatter(lambda number, _: f"{number / 1e6:g}")
    axes.grid(alpha=0.3)


def draw_passes(results: Results, kind: str, path: Path) -> bool:
    """Resident memory after every pass."""
    records = measured(results, "passes", format=kind)
    if not records:
        return False
    steps = records[-1]["steps"]
    figure, axes = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
    passes = [step["passes"] for step in steps]
    axes.plot(passes, [step["peak"] / 1e9 for step in steps], color=LINE, linestyle=":", label="peak so far")
    axes.plot(passes, [step["resident"] / 1e9 for step in steps], "o-", color=POINTS, label="after the pass")
    highest = max(step["peak"] for step in steps) / 1e9
    axes.set(xlabel="passes over the file", ylabel="resident memory (GB)", ylim=(0, 1.3 * highest))
    axes.set_title(f"{records[-1]['cells']:,} cells from a file", fontsize=10)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    return True
