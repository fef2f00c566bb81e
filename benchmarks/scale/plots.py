"""Seconds and memory against cells, and memory against passes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.harness import plots
from benchmarks.harness.plots import BLACK, BLUE, VERMILION, legend, picture
from benchmarks.harness.results import Record, Results
from benchmarks.scale import goals
from benchmarks.scale.results import line_through, measured, total

GROWTH, PASSES = "scale-growth.png", "scale-passes.png"


def draw_all(results: Results, kind: str, folder: Path) -> list[str]:
    """Draw what there is to draw; the names of the pictures."""
    draws = {GROWTH: partial(draw_growth, results, kind), PASSES: partial(draw_passes, results, kind)}
    return plots.draw_all(folder, draws)


def draw_growth(results: Results, kind: str, path: Path) -> bool:
    """Minutes and peak memory of fits from file, the line through them, and the goals."""
    records = measured(results, "growth", format=kind)
    if not records:
        return False
    with picture(path, 1, 2, size=(9.0, 3.6)) as (_, (left, right)):
        draw_panel(left, records, lambda record: total(record) / 60, goals.MINUTES)
        left.set(ylabel="minutes", title="whole job: open, prepare and fit")
        draw_panel(right, records, lambda record: record["peak"] / 1e9, goals.GIGABYTES)
        right.set(ylabel="GB", title="peak resident memory")
        legend(left, fontsize=8)
    return True


def draw_panel(axes: Axes, records: list[Record], value: Callable[[Record], float], bound: float) -> None:
    """One value against cells."""
    cells = [record["cells"] for record in records]
    line = line_through(records, value, goals.CELLS)
    if line is not None:
        ends = (0, max(goals.CELLS, *cells))
        label = str(line).removeprefix("the ")
        axes.plot(ends, [line(end) for end in ends], color=BLACK, linestyle="--", linewidth=1, label=label)
    axes.plot(cells, [value(record) for record in records], "o", color=BLUE, label="measured")
    axes.plot([goals.CELLS], [bound], "_", color=VERMILION, markersize=18, markeredgewidth=2, label="goal: no higher")
    axes.set(xlabel="million cells", ylim=(0, None), xlim=(0, 1.05 * max(goals.CELLS, *cells)))
    axes.xaxis.set_major_formatter(lambda number, _: f"{number / 1e6:g}")


def draw_passes(results: Results, kind: str, path: Path) -> bool:
    """Resident memory after every pass."""
    records = measured(results, "passes", format=kind)
    if not records:
        return False
    steps = records[-1]["steps"]
    passes = [step["passes"] for step in steps]
    highest = max(step["peak"] for step in steps) / 1e9
    with picture(path, size=(6.0, 3.2)) as (_, axes):
        axes.plot(passes, [step["peak"] / 1e9 for step in steps], color=BLACK, linestyle=":", label="peak so far")
        axes.plot(passes, [step["resident"] / 1e9 for step in steps], "o-", color=BLUE, label="after the pass")
        axes.set(xlabel="passes over the file", ylabel="resident memory (GB)", ylim=(0, 1.3 * highest))
        axes.set_title(f"{records[-1]['cells']:,} cells from a file", fontsize=10)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend(axes, fontsize=8)
    return True
