"""Still pictures: what shows without JavaScript and in print."""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO

import numpy as np
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from genesieve import pl
from genesieve._report.findings import Findings, Grouping
from genesieve._slots.write import bare_fit, write_groups
from genesieve.pl._layout import Layout, square
from genesieve.pl._parts import legend_below, legend_rows
from genesieve.pl._style import PAGE, QUIET, SMALL, settle_for_good

DPI = 130  # sharp enough in print, small enough for a page
ROW = 0.16  # inches a program
KEY = "genesieve report"  # of the scratch object: a name that no column of known types has


def still_pictures(findings: Findings, shown: np.ndarray, layout: Layout) -> dict[str, str]:
    """Data addresses of the pictures: the cell map, and heat maps of usages and gene weights."""
    scratch, rows = _scratch(findings), max(1.0, ROW * len(findings.programs))
    color = None if findings.known is None else findings.known.title
    legend = 0.0 if findings.known is None else 0.5 + 0.16 * legend_rows(findings.known.names, PAGE - 1.5)[0]
    return {
        "map": draw(PAGE, 5.0, lambda ax: _cell_map(ax, findings.clusters, shown, layout)),
        "usages": draw(PAGE, rows + 0.6 + legend, lambda ax: pl.usages(scratch, key=KEY, color=color, ax=ax)),
        "loadings": draw(PAGE, rows + 1.1, lambda ax: pl.loadings(scratch, key=KEY, ax=ax)),
    }


def _scratch(findings: Findings) -> AnnData:
    """The programs in an object of their own, for the plots to read: names and colours are known to be sound there."""
    programs, known = findings.programs, findings.known
    scratch = bare_fit(KEY, findings.genes, findings.weights, programs.usages, {})
    names = list(dict.fromkeys(programs.names))
    code_of_program = np.array([names.index(name) for name in programs.names])
    write_groups(scratch, KEY, code_of_program[programs.of_cell], names, programs.colors)
    if known is not None:
        write_groups(scratch, known.title, known.of_cell, known.names, known.colors)
    return scratch


def draw(width: float, height: float, paint: Callable[[Axes], object]) -> str:
    """A picture as a data address, drawn without touching the user's figures."""
    figure = Figure(figsize=(width, height), layout="constrained", dpi=DPI)
    FigureCanvasAgg(figure)
    buffer = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that the font lacks
        paint(figure.subplots())
        settle_for_good(figure)
        figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": ""})
    return "data:image/png;base64," + b64encode(buffer.getvalue()).decode()


def _cell_map(ax: Axes, clusters: Grouping, shown: np.ndarray, layout: Layout) -> None:
    colors = np.array([*clusters.colors, QUIET], dtype=object)
    order = np.random.default_rng(0).permutation(len(shown))  # no group lies on top of another
    places = layout.places[order]
    size = float(np.clip(20_000 / len(shown), 1.0, 14.0))
    ax.scatter(places[:, 0], places[:, 1], s=size, c=list(colors[clusters.of_cell[shown][order]]), linewidths=0)
    ax.set_axis_off()
    square(ax, places)
    if len(clusters) <= 60:
        legend_below(ax, clusters.names, clusters.colors, title=clusters.title, below=SMALL / 72)
