"""Pictures of the results: methods x data sets as dots, and what k genes keep."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from benchmarks.harness import plots
from benchmarks.harness.plots import BLACK, BLUE, GREEN, VERMILION, legend, picture
from benchmarks.quality.data import GOAL_SETS, SETS
from benchmarks.quality.genes import COUNTS, SELECTORS
from benchmarks.quality.peers import PEERS, of_group
from benchmarks.quality.results import Results

DOTS, GENES = "quality-dots.png", "quality-genes.png"
MEAN = "mean"
COLOURS = {"genesieve": BLUE, "peer": VERMILION}
STYLES = ((BLUE, "o", "-"), (VERMILION, "s", "-"), (GREEN, "^", "-"), (BLACK, "", ":"))  # in the order of selectors
MOST_COLUMNS = 6


def draw_all(results: Results, folder: Path) -> list[str]:
    """Draw what there is to draw; the names of the pictures."""
    return plots.draw_all(folder, {DOTS: partial(draw_dots, results), GENES: partial(draw_genes, results)})


def draw_dots(results: Results, path: Path) -> bool:
    """One panel a set and one of the mean, one line a method, one faint dot a seed and a full one for their mean."""
    methods = [name for name in of_group("genesieve", "peer") if any(results.runs(data, name) for data in SETS)]
    if not methods:
        return False
    methods.sort(key=lambda name: (results.over_sets(GOAL_SETS, name) or 0.0, name))
    panels = [MEAN, *(data for data in SETS if any(results.runs(data, name) for name in methods))]
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns)
    size = (2.2 + 1.6 * columns, rows * (0.8 + 0.24 * len(methods)))
    with picture(path, rows, columns, size=size, sharex=True, sharey=True, squeeze=False) as (figure, grid):
        for axes, panel in zip(grid.flat, panels, strict=False):
            draw_panel(axes, results, panel, methods)
            axes.tick_params(labelbottom=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        figure.supxlabel("NMI")
    return True


def draw_panel(axes: Axes, results: Results, panel: str, methods: list[str]) -> None:
    """The methods on one set, or in the mean of the goals' sets."""
    for line, method in enumerate(methods):
        colour = COLOURS[PEERS[method].group]
        seeds = [] if panel == MEAN else [record["nmi"] for record in results.runs(panel, method)]
        mean = results.over_sets(GOAL_SETS, method) if panel == MEAN else results.mean(panel, method)
        axes.plot(seeds, [line] * len(seeds), "o", color=colour, alpha=0.35, markersize=4, markeredgewidth=0)
        if mean is not None:
            axes.plot([mean], [line], "D" if panel == MEAN else "o", color=colour, markersize=6)
    axes.set_yticks(range(len(methods)), [PEERS[name].title for name in methods])
    axes.set(xlim=(0.0, 1.04), ylim=(-0.6, len(methods) - 0.4), xticks=(0.0, 0.5, 1.0))
    axes.set_title(f"mean of {len(GOAL_SETS)} sets" if panel == MEAN else panel, fontsize=10)


def draw_genes(results: Results, path: Path) -> bool:
    """What k genes keep, in the mean of the sets that have a choice at that k."""
    titles = {"nmi": "NMI of k-means", "balanced_accuracy": "balanced accuracy, nearest centroid"}
    if not any(results.runs(data, name) for data in SETS for name in SELECTORS):
        return False
    with picture(path, 1, len(titles), size=(9.0, 3.6)) as (_, grid):
        for axes, (field, title) in zip(grid, titles.items(), strict=True):
            for (name, selector), (colour, marker, line) in zip(SELECTORS.items(), STYLES, strict=True):
                values = [(k, results.genes_over_sets(name, k, field)) for k in COUNTS]
                known = [(k, value) for k, value in values if value is not None]
                axes.plot(*zip(*known, strict=True), color=colour, marker=marker, linestyle=line, label=selector.title)
            axes.set(xscale="log", xlabel="genes kept", title=title)
            axes.set_xticks(COUNTS, [str(k) for k in COUNTS])
            axes.minorticks_off()
        legend(grid[0], fontsize=8)
    return True
