"""The pictures of docs/programs.md."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from benchmarks.harness.plots import BLACK, LOOKS, draw_all, legend, picture
from benchmarks.harness.results import Record, Results
from benchmarks.programs.peers import PEERS
from benchmarks.programs.score import KINDS, LEVELS, LOST

FIELDS = {
    "usage_r": "correlation of usages",
    "spectrum_r": "correlation of spectra",
    "sensitivity": "raised genes found",
}


def draw(results: Results, folder: Path) -> list[str]:
    """All that there is to draw; names of the pictures."""
    return draw_all(
        folder, {"programs-recovered.png": partial(recovered, results), "programs-each.png": partial(each, results)}
    )


def found_by(results: Results) -> dict[str, dict[str, list[Record]]]:
    """Records of every peer that has some, by level."""
    found = {name: {level: results.measured(f"planted/{name}/{level}/") for level in LEVELS} for name in PEERS}
    return {name: levels for name, levels in found.items() if any(levels.values())}


def recovered(results: Results, path: Path) -> bool:
    """What is recovered by level: a row of panels for each kind of programs, a dot a draw, a line through the means."""
    found = found_by(results)
    if not found:
        return False
    with picture(path, len(KINDS), len(FIELDS), size=(10.5, 6), sharex=True, sharey=True) as (_, grid):
        for axes, (kind, field) in zip(grid.flat, product(KINDS, FIELDS), strict=True):
            for look, (name, levels) in zip(LOOKS, found.items(), strict=False):
                draw_levels(axes, levels, kind, field, look, title_of(name))
            axes.set(xticks=range(len(LEVELS)), xticklabels=LEVELS, ylim=(0, 1.03))
            axes.set_title(f"{kind}: {FIELDS[field]}", fontsize=10)
        legend(grid[0, 0], loc="lower left", fontsize=8)
    return True


def draw_levels(
    axes: Axes, levels: dict[str, list[Record]], kind: str, field: str, look: tuple[str, str], label: str
) -> None:
    """One peer in one panel."""
    (color, marker), places = look, [LEVELS.index(level) for level, records in levels.items() if records]
    values = [[one[kind][field] for one in records] for records in levels.values() if records]
    for place, some in zip(places, values, strict=True):
        axes.plot([place] * len(some), some, marker, color=color, alpha=0.3, markersize=4, markeredgewidth=0)
    axes.plot(places, [np.mean(some) for some in values], color=color, marker=marker, label=label)


def each(results: Results, path: Path) -> bool:
    """Every program of every draw as a dot, peers side by side: what is lost shows at the bottom."""
    found = found_by(results)
    if not found:
        return False
    rng = np.random.default_rng(0)
    with picture(path, 1, len(LEVELS), size=(10.5, 3.4), sharey=True) as (_, grid):
        for axes, level in zip(grid, LEVELS, strict=True):
            for place, ((color, _), levels) in enumerate(zip(LOOKS, found.values(), strict=False)):
                values = np.array([r for one in levels[level] for r in one["usage_r"]])
                spread = place + rng.uniform(-0.3, 0.3, len(values))
                axes.plot(spread, values, "o", color=color, alpha=0.4, markersize=3, markeredgewidth=0)
            axes.axhline(LOST, color=BLACK, linewidth=0.8, linestyle=":")
            axes.set_xticks(range(len(found)), [title_of(name) for name in found], rotation=30, ha="right", fontsize=8)
            axes.set(title=level, ylim=(-0.05, 1.03), xlim=(-0.5, len(found) - 0.5))
        grid[0].set_ylabel("correlation of usages, each program")
    return True


def title_of(name: str) -> str:
    return PEERS[name].title.replace("`", "")
