"""The cells on a plane, coloured by program, cluster or what else is known of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from genesieve._checks import check_integer
from genesieve._slots.read import read_fit
from genesieve.pl._cells import Annotation, read_annotations
from genesieve.pl._layout import MOST_SHOWN, cells_to_show, place_cells, square
from genesieve.pl._parts import legend_below
from genesieve.pl._programs import read_programs
from genesieve.pl._style import COLUMN, SMALL, axes_or_new, label

if TYPE_CHECKING:
    from anndata import AnnData

HEIGHT = 3.6  # inches, the legend included
LARGEST, SMALLEST, POINTS_IN_ALL = 14.0, 1.0, 10_000  # areas of points: fewer cells, larger points


def cell_map(
    adata: AnnData,
    color: str | None = None,
    *,
    key: str = "ssnmf",
    basis: str | None = None,
    max_cells: int = MOST_SHOWN,
    ax: Axes | None = None,
) -> Axes:
    """Map of the cells, coloured by the program that they use most, by cluster, or by any column.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`.
    color
        Column of ``obs``, say ``"ssnmf_cluster"``; ``None`` colours by program.
    key
        Name of the fit.
    basis
        Slot of ``obsm`` with coordinates, say ``"X_umap"``. ``None`` takes a UMAP or t-SNE that is there, the map that
        a run has kept (``"X_ssnmf_map"``), and else makes one of the selected genes' expression.
    max_cells
        With more cells, so many are shown, and the axis says so; small groups more densely.
    ax
        Axes to draw into; ``None`` makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 50)
    >>> ax = gs.pl.cell_map(adata, "ssnmf_cluster")
    """
    check_integer("max_cells", max_cells, 1)
    fit = read_fit(adata, key)
    coloring = _by_program(adata, key) if color is None else read_annotations(adata, color)[0]
    if fit.has("cluster") and color == fit.of_cells("cluster").name:
        coloring = replace(coloring, title="cluster")
    shown = cells_to_show(adata, fit, _groups(coloring), fit.usages.max(axis=1), max_cells, basis)
    layout = place_cells(adata, fit, shown, basis)
    ax = axes_or_new(ax, COLUMN, HEIGHT)
    order = np.random.default_rng(0).permutation(len(shown))  # no group lies on top of another
    places, colors = layout.places[order], coloring.rgb[shown][order]
    size = float(np.clip(POINTS_IN_ALL / len(shown), SMALLEST, LARGEST))
    ax.scatter(places[:, 0], places[:, 1], s=size, c=colors, linewidths=0, rasterized=True)
    square(ax, places)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    some = "" if len(shown) == adata.n_obs else f"{len(shown):,} of "
    label(ax.set_xlabel, f"{some}{adata.n_obs:,} cells")
    if coloring.names:
        legend_below(ax, coloring.names, coloring.colors, title=coloring.title, below=3 * SMALL / 72)
    return ax


def _by_program(adata: AnnData, key: str) -> Annotation:
    programs = read_programs(adata, key)
    rgb = np.array([to_rgb(color) for color in programs.colors])[programs.of_cell]
    return Annotation("program", rgb, programs.names, programs.colors)


def _groups(coloring: Annotation) -> np.ndarray:
    """Cells of one colour as a group; of numbers, all are one."""
    found = np.unique(coloring.rgb, axis=0, return_inverse=True)[1].ravel()
    return found if found.max(initial=0) <= len(coloring.names) else np.zeros(len(coloring.rgb), dtype=int)
