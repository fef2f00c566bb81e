"""The pictures of docs/genes.md."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from benchmarks.genes.goals import at_count, over_sets
from benchmarks.genes.planted import LEVELS
from benchmarks.genes.selected import COUNTS, LABELLED_COUNTS
from benchmarks.genes.selectors import SELECTORS
from benchmarks.harness.peers import Missing
from benchmarks.harness.plots import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILION, draw_all, legend, picture
from benchmarks.harness.results import Results

STYLES = {
    "genesieve": (BLUE, "o", "-"),
    "more": (BLUE, "o", ":"),
    "panel": (BLUE, "d", "--"),
    "seurat": (VERMILION, "s", "-"),
    "cell_ranger": (VERMILION, "^", "--"),
    "seurat_v3": (VERMILION, "v", ":"),
    "l1": (GREEN, "D", "-"),
    "triku": (ORANGE, "P", "-"),
    "cosg": (PURPLE, "X", "-"),
}
Curve = list[tuple[int, float]]


def draw(results: Results, folder: Path) -> list[str]:
    """All that there is to draw; names of the pictures."""
    draws = {"genes-selected.png": partial(selected, results), "genes-labelled.png": partial(labelled, results)}
    return draw_all(folder, draws)


def selected(results: Results, path: Path) -> bool:
    """The share of k genes that is right, a panel a level."""
    curves = {level: {name: precision(results, level, name) for name in SELECTORS} for level in LEVELS}
    curves = {level: of_level for level, of_level in curves.items() if any(of_level.values())}
    if not curves:
        return False
    size = (1.5 + 2.4 * max(len(curves), 2), 3.4)
    with picture(path, 1, len(curves), size=size, sharey=True, squeeze=False) as (_, (grid,)):
        for axes, (level, of_level) in zip(grid, curves.items(), strict=True):
            draw_curves(axes, of_level, COUNTS[::2])
            axes.set(title=level, ylim=(0.0, 1.03))
        grid[0].set_ylabel("share of the genes that is right")
        legend(grid[0], fontsize=7, loc="lower left")
    return True


def labelled(results: Results, path: Path) -> bool:
    """What k genes keep of known types, in the mean of the sets."""
    titles = {"nmi": "NMI of k-means", "balanced_accuracy": "balanced accuracy, nearest centroid"}
    curves = {field: {name: kept(results, name, field) for name in SELECTORS} for field in titles}
    if not any(curves["nmi"].values()):
        return False
    with picture(path, 1, len(titles), size=(9.0, 3.6)) as (_, grid):
        for axes, (field, of_field) in zip(grid, curves.items(), strict=True):
            draw_curves(axes, of_field, LABELLED_COUNTS)
            axes.set_title(titles[field])
        legend(grid[0], fontsize=7, loc="lower right")
    return True


def draw_curves(axes: Axes, curves: dict[str, Curve], ticks: tuple[int, ...]) -> None:
    for name, curve in curves.items():
        if curve:
            color, marker, line = STYLES.get(name, (BLACK, "", "-"))
            places, values = zip(*curve, strict=True)
            label = SELECTORS[name].title.replace("`", "")
            axes.plot(places, values, color=color, marker=marker, linestyle=line, markersize=5, label=label)
    axes.set(xscale="log", xlabel="genes selected")
    axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
    axes.minorticks_off()


def precision(results: Results, level: str, selector: str) -> Curve:
    found = []
    for k in COUNTS:
        with suppress(Missing):
            found.append((k, at_count(results, "selected", level, selector, k, "precision")))
    return found


def kept(results: Results, selector: str, field: str) -> Curve:
    values = [(k, over_sets(results, selector, k, field)) for k in LABELLED_COUNTS]
    return [(k, value) for k, value in values if value is not None]
