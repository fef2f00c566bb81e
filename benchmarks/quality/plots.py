"""Pictures of the results: methods x data sets as dots, and what k genes keep."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.quality import peers
from benchmarks.quality.data import DATA, GOAL_SETS
from benchmarks.quality.genes import COUNTS, SELECTORS
from benchmarks.quality.results import Results

DOTS, GENES = "quality-dots.png", "quality-genes.png"
DPI = 120
MEAN = "mean"
COLOURS = {"genesieve": "#0072B2", "peer": "#D55E00"}  # Okabe and Ito's
LOOKS = {
    "genes_genesieve": ("#0072B2", "o", "-"),
    "genes_variable": ("#D55E00", "s", "-"),
    "genes_l1": ("#009E73", "^", "-"),
    "genes_all": ("#000000", "", ":"),
}


def draw_all(results: Results, folder: Path) -> list[str]:
    """Draw what there is to draw; the names of the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {DOTS: draw_dots(results, folder / DOTS), GENES: draw_genes(results, folder / GENES)}
    return [name for name, done in drawn.items() if done]


def draw_dots(results: Results, path: Path) -> bool:
    """One panel a set and one of the mean, one line a method, one faint dot a seed and a full one for their mean."""
    methods = [name for name in peers.of_group("genesieve", "peer") if any(results.runs(data, name) for data in DATA)]
    if not methods:
        return False
    methods.sort(key=lambda name: (results.over_sets(GOAL_SETS, name) or 0.0, name))
    panels = [MEAN, *(data for data in DATA if any(results.runs(data, name) for name in methods))]
    columns = min(len(panels), 6)
    shape = (-(-len(panels) // columns), columns)
    size = (2.2 + 1.6 * columns, shape[0] * (0.8 + 0.24 * len(methods)))
    figure, grid = plt.subplots(*shape, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained")
    for axes, panel in zip(grid.flat, panels, strict=False):
        draw_panel(axes, results, panel, methods)
        axes.tick_params(labelbottom=True)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel("NMI")
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    return True


def draw_panel(axes: Axes, results: Results, panel: str, methods: list[str]) -> None:
    """The methods on one set, or in the mean of the goals' sets."""
    for line, method in enumerate(methods):
        colour = COLOURS[peers.get(method).GROUP]
        seeds = [] if panel == MEAN else [record["nmi"] for record in results.runs(panel, method)]
        mean = results.over_sets(GOAL_SETS, method) if panel == MEAN else results.mean(panel, method)
        axes.plot(seeds, [line] * len(seeds), "o", color=colour, alpha=0.35, markersize=4, markeredgewidth=0)
        if mean is not None:
            axes.plot([mean], [line], "D" if panel == MEAN else "o", color=colour, markersize=6)
    axes.set_yticks(range(len(methods)), [peers.get(name).TITLE for name in methods])
    axes.set(xlim=(0.0, 1.04), ylim=(-0.6, len(methods) - 0.4), xticks=(0.0, 0.5, 1.0))
    axes.set_title(f"mean of {len(GOAL_SETS)} sets" if panel == MEAN else panel, fontsize=10)
    axes.grid(alpha=0.3)


def draw_genes(results: Results, path: Path) -> bool:
    """What k genes keep, in the mean of the sets that have a choice at that k."""
    titles = {"nmi": "NMI of k-means", "balanced_accuracy": "balanced accuracy, nearest centroid"}
    if not any(results.runs(data, name) for data in DATA for name in SELECTORS):
        return False
    figure, grid = plt.subplots(1, len(titles), figsize=(9.0, 3.6), layout="constrained")
    for axes, (field, title) in zip(grid, titles.items(), strict=True):
        for name, selector in SELECTORS.items():
            values = [(k, results.genes_over_sets(name, k, field)) for k in COUNTS]
            known = [(k, value) for k, value in values if value is not None]
            colour, marker, line = LOOKS[name]
            axes.plot(*zip(*known, strict=True), color=colour, marker=marker, linestyle=line, label=selector.title)
        axes.set(xscale="log", xlabel="genes kept", title=title)
        axes.set_xticks(COUNTS, [str(k) for k in COUNTS])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    grid[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    return True
