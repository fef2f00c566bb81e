"""Heat maps of the two factors: gene weights, and usages of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from genesieve._checks import check_choice, check_integer
from genesieve._slots.read import read_fit
from genesieve.pl._cells import MOST_CELLS, annotate_cells, order_cells, read_annotations
from genesieve.pl._parts import describe, heat_map, how_many_fit, mark, strip, thin
from genesieve.pl._programs import Programs, read_programs
from genesieve.pl._style import PAGE, SEQUENTIAL, SMALL, axes_or_new, label, say_nothing_to_show, shorten

if TYPE_CHECKING:
    from anndata import AnnData

# More columns than this are finer than print can show across a page.
MOST_GENES = 2000
NAMED_SHARE = 0.7  # of the names that fit: with some room between them they stay near their genes
ROW = 0.16  # inches: height of a program's row with its name
LOWEST = 1.0  # inches: height of a heat map with few rows


def loadings(
    adata: AnnData,
    *,
    key: str = "ssnmf",
    n_genes: int | None = None,
    n_names: int | None = None,
    max_genes: int = MOST_GENES,
    cmap: str = SEQUENTIAL,
    ax: Axes | None = None,
) -> Axes:
    """Heat map of the gene weights of every program.

    Weights are relative to the largest of their program. Genes stand by the program in which they weigh most, heaviest
    first.

    Parameters
    ----------
    adata
        Data with programs, from `genesieve.tl.ssnmf`.
    key
        Name of the programs' slots.
    n_genes
        Show only so many top genes of each program; ``None`` shows all selected genes.
    n_names
        Genes named for each program; ``None`` names as many as fit.
    max_genes
        With more genes, one in two, three, ... of every program is shown, and the axis says so.
    cmap
        Name of a colour map.
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
    >>> gs.pl.loadings(adata).get_xlabel()
    '50 selected genes, ordered by program'
    """
    check_integer("max_genes", max_genes, 1)
    programs, fit = read_programs(adata, key), read_fit(adata, key)
    # A program of few genes has large weights, beside which those of the others would all look like nothing.
    weights = relative_to(fit.weights.T, fit.weights.max(axis=0, initial=0.0)).T
    genes = order_genes(weights, np.flatnonzero(fit.selected), n_genes)
    ax = axes_or_new(ax, PAGE, max(LOWEST, ROW * len(programs)) + 1.1)
    if not len(genes):
        return say_nothing_to_show(ax, "no gene is selected")
    shown, step = thin(genes, weights[genes].argmax(axis=1), max_genes)
    owner = weights[shown].argmax(axis=1)
    heat_map(ax, weights[shown].T, cmap=cmap, label="relative gene weight")
    _name_rows(ax, programs)
    ax.set_xticks([])
    strip(ax, "top", [programs.colors[program] for program in owner])
    depth = name_genes(ax, "bottom", list(adata.var_names[shown]), owner, n_names)
    what = "selected genes" if n_genes is None else "top genes"
    label(ax.set_xlabel, describe(len(genes), what, step), labelpad=depth)
    return ax


def usages(
    adata: AnnData,
    *,
    key: str = "ssnmf",
    color: str | Sequence[str] | None = None,
    scale: str | None = "program",
    max_cells: int = MOST_CELLS,
    cmap: str = SEQUENTIAL,
    ax: Axes | None = None,
) -> Axes:
    """Heat map of how much each cell uses every program.

    Cells stand by the program that they use most, heaviest users first; the strip above shows that program.

    Parameters
    ----------
    adata
        Data with programs, from `genesieve.tl.ssnmf`.
    key
        Name of the programs' slots.
    color
        Columns of ``obs`` to show as further strips, say known cell types.
    scale
        ``"program"`` shows every program relative to its largest usage; ``None`` shows usages as they are.
    max_cells
        With more cells, one in two, three, ... of every program is shown, and the axis says so.
    cmap
        Name of a colour map.
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
    >>> gs.pl.usages(adata, color="cell_type").get_xlabel()
    '700 cells, ordered by program'
    """
    check_choice("scale", scale, ["program", None])
    programs = read_programs(adata, key)
    annotations = read_annotations(adata, color)
    cells = order_cells(programs, max_cells)
    height = max(LOWEST, ROW * len(programs)) + 0.5 + sum(annotation.height for annotation in annotations)
    ax = axes_or_new(ax, PAGE, height)
    values = programs.usages[cells.index].T  # (programs, cells)
    if scale == "program":
        values = relative_to(values, programs.usages.max(axis=0))
    heat_map(ax, values, cmap=cmap, label="usage" if scale is None else "relative usage")
    _name_rows(ax, programs)
    annotate_cells(ax, programs, cells, annotations)
    return ax


def order_genes(weights: np.ndarray, genes: np.ndarray, n_each: int | None = None) -> np.ndarray:
    """Genes by the program in which they weigh most, heaviest first; at most ``n_each`` of every program."""
    if n_each is not None:
        check_integer("n_genes", n_each, 1)
    heaviest = weights[genes].max(axis=1)
    owner = weights[genes].argmax(axis=1)
    order = np.lexsort((-heaviest, owner))
    rank = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
    return genes[order[rank < (len(genes) if n_each is None else n_each)]]


def name_genes(ax: Axes, side: str, names: Sequence[str], group: np.ndarray, n_each: int | None) -> float:
    """Name the first genes of each group along a side, as many as asked for or as fit; their depth in points."""
    if n_each is None:
        room = how_many_fit(ax, horizontal=side in ("top", "bottom"))
        n_each = len(group) if len(group) <= room else max(1, int(room * NAMED_SHARE) // len(np.unique(group)))
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    at = np.flatnonzero(rank < n_each)
    return mark(ax, side, at, [shorten(names[i]) for i in at.tolist()])


def relative_to(values: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Rows relative to their largest value; a row of zeros stays."""
    return values / np.where(top > 0, top, 1.0)[:, None]


def _name_rows(ax: Axes, programs: Programs) -> None:
    """Name the rows after their programs, each with its colour; where rows are too low, every second, third, ..."""
    strip(ax, "left", programs.colors)
    step = -(-len(programs) // max(1, how_many_fit(ax, horizontal=False)))
    rows = range(0, len(programs), step)
    ax.set_yticks(rows, [shorten(programs.names[row]) for row in rows], fontsize=SMALL, parse_math=False)
    ax.tick_params(axis="y", length=0, pad=11)
    label(ax.set_ylabel, "program")
