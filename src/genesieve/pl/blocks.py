"""Heat maps of the genes of every program in its cells: biclusters, and markers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from genesieve._anndata import read_fitted_part, read_part
from genesieve._checks import check_choice, check_integer
from genesieve._slots.keys import Keys
from genesieve._slots.read import read_fit, read_projection
from genesieve.pl._cells import MOST_CELLS, annotate_cells, order_cells, read_annotations
from genesieve.pl._parts import GAP, describe, heat_map, mark, strip, thin
from genesieve.pl._programs import gene_positions, pick_programs, read_programs
from genesieve.pl._style import (
    CHARACTER_WIDTH,
    FRAME,
    LINE_HEIGHT,
    PAGE,
    POINTS,
    SEQUENTIAL,
    SMALL,
    axes_or_new,
    label,
    say_nothing_to_show,
    shorten,
    size_in_points,
    text_width,
)
from genesieve.pl.heatmaps import MOST_GENES, name_genes, relative_to

if TYPE_CHECKING:
    from anndata import AnnData

HEIGHT = 4.2  # inches: of the figure, without legends
OUTLINE = (("white", 2.4), (FRAME, 1.0))  # colour and width in points: dark in a light casing shows on anything
ORDER = {"biclusters": "z", "markers": "score"}  # the tables of genes, and what they are sorted by
GROUP = {"biclusters": "bicluster", "markers": "program"}
SHORT_NAME = 3  # characters: longer names of programs are written upwards


def biclusters(
    adata: AnnData,
    *,
    key: str = "ssnmf",
    programs: Sequence[int | str] | None = None,
    genes: str = "biclusters",
    values: str = "expression",
    layer: str | None = None,
    scale: str | None = "gene",
    color: str | Sequence[str] | None = None,
    n_genes: int | None = None,
    n_names: int | None = None,
    max_cells: int = MOST_CELLS,
    max_genes: int = MOST_GENES,
    cmap: str = SEQUENTIAL,
    ax: Axes | None = None,
) -> Axes:
    """Heat map of the biclusters' genes in the cells of all programs, biclusters outlined.

    A gene of several biclusters has a row in each of them, so that every outline holds the whole bicluster.

    Parameters
    ----------
    adata
        Data with biclusters, from `genesieve.tl.biclusters`.
    key
        Name of the programs' slots.
    programs
        Programs to show, by name or number; ``None`` shows all.
    genes
        ``"biclusters"``, or ``"markers"`` for those of `genesieve.tl.markers`, as `genesieve.pl.markers` has it.
    values
        ``"expression"`` shows the data, ``"fitted"`` what the programs make of them (weights times usages).
    layer
        Layer that holds the expression; ``None`` is the one that was factorised.
    scale
        ``"gene"`` shows every gene relative to its largest value; ``None`` shows values as they are.
    color
        Columns of ``obs`` to show as strips above the cells, say known cell types.
    n_genes
        Show so many genes of each program, those that tell it from the others best, each gene once; ``None`` shows all.
    n_names
        Genes named for each bicluster; ``None`` names as many as fit.
    max_cells, max_genes
        With more, one in two, three, ... of every program is shown, and the axis says so.
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
    >>> genes = gs.tl.biclusters(adata)
    >>> ax = gs.pl.biclusters(adata, color="cell_type")
    """
    check_choice("genes", genes, list(ORDER))
    check_choice("values", values, ["expression", "fitted"])
    check_choice("scale", scale, ["gene", None])
    check_integer("max_genes", max_genes, 1)
    fit = read_programs(adata, key)
    chosen = pick_programs(programs, fit.names)
    annotations = read_annotations(adata, color)
    cells = order_cells(fit, max_cells, chosen)
    shown, owner = _read_genes(adata, key, genes, chosen, n_genes)
    rows, step = thin(np.arange(len(shown)), owner, max_genes)
    names = {program: shorten(fit.names[program]) for program in np.unique(cells.program).tolist()}
    upright = all(len(name) <= SHORT_NAME for name in names.values())
    extra = sum(annotation.height for annotation in annotations) + (0.0 if upright else text_width([*names.values()]))
    tall = 0.0 if n_genes is None else len(rows) * SMALL * LINE_HEIGHT / POINTS + 1.0  # every gene can be named
    ax = axes_or_new(ax, PAGE, max(HEIGHT, tall) + extra)
    if not len(rows) or not len(cells.index):
        return say_nothing_to_show(ax, f"no {GROUP[genes]} has both genes and cells")
    if values == "fitted":
        block = read_fit(adata, key).weights[shown[rows]] @ fit.usages[cells.index].T
    else:
        block = _expression(adata, key, shown[rows], cells.index, layer)
    _draw(ax, block, scale, values, cmap)
    top = annotate_cells(ax, fit, cells, annotations)
    strip(ax, "right", [fit.colors[program] for program in owner[rows]])
    _outline(ax, owner[rows], cells.program)
    named = _that_fit(ax, names, cells.program, upright)
    centres = np.array([np.flatnonzero(cells.program == program).mean() for program in named])
    mark(ax, "top", centres, [names[program] for program in named], pad=top + GAP, upright=upright)
    depth = name_genes(ax, "left", list(adata.var_names[shown[rows]]), owner[rows], n_names)
    label(ax.set_ylabel, describe(len(shown), "genes", step, f"by {GROUP[genes]}"), labelpad=depth)
    return ax


def markers(adata: AnnData, **options: Any) -> Axes:
    """Heat map of the markers' expression in the cells of all programs, the genes and cells of a program outlined.

    Parameters
    ----------
    adata
        Data with markers, from `genesieve.tl.markers`.
    **options
        Options of `genesieve.pl.biclusters`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 50)
    >>> genes = gs.tl.markers(adata, 5)
    >>> ax = gs.pl.markers(adata, color="cell_type")
    """
    return biclusters(adata, genes="markers", **options)


def _that_fit(ax: Axes, names: dict[int, str], of_cell: np.ndarray, upright: bool) -> list[int]:
    """The programs whose names fit above the cells side by side, those with the most cells first, in their order."""
    letters = max(map(len, names.values())) + 1 if upright else LINE_HEIGHT / CHARACTER_WIDTH
    room = int(size_in_points(ax)[0] // (SMALL * CHARACTER_WIDTH * letters))
    by_size = sorted(names, key=lambda program: -np.count_nonzero(of_cell == program))
    return sorted(by_size[: max(room, 1)])


def _telling(table: pd.DataFrame, score: pd.Series | np.ndarray, n_genes: int) -> pd.DataFrame:
    """The genes of each program that tell it from the others best.

    A gene of several stays where fewest are before it: small programs have higher scores, and would take all. One that
    the program does not raise above the others tells nothing of it, however large its weight.
    """
    table = table.assign(telling=score).sort_values("telling", ascending=False, kind="stable")
    table = table[table["telling"] > 0]
    table = table.assign(before=table.groupby("program", sort=False).cumcount()).sort_values("before", kind="stable")
    return table.drop_duplicates("gene").groupby("program", sort=False).head(n_genes)


def _how_telling(adata: AnnData, key: str, table: pd.DataFrame, genes: str) -> pd.Series | np.ndarray:
    """By gene scores where there are any: large weights alone have genes that every cell expresses, say ribosomal."""
    if genes == "markers":
        return table[ORDER[genes]]
    places = adata.var_names.get_indexer(table["gene"].astype(str))
    if (places < 0).any() or not (fit := read_fit(adata, key)).scored:
        return table[ORDER[genes]] * table["specificity"]
    return np.asarray(fit.scores[places, table["program"].to_numpy()])


def _read_genes(
    adata: AnnData, key: str, genes: str, chosen: Sequence[int], n_genes: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the programs' genes, program by program with the highest score first, and their programs."""
    table = read_projection(adata, key).found(genes)
    if n_genes is not None:
        check_integer("n_genes", n_genes, 1)
        table = _telling(table, _how_telling(adata, key, table, genes), n_genes)
    order = {"by": ["program", ORDER[genes]], "ascending": [True, False]}
    table = table[table["program"].isin(chosen)].sort_values(**order, kind="stable")
    slot = f"adata.uns[{getattr(Keys(key), genes)!r}]"
    return gene_positions(adata, [str(gene) for gene in table["gene"]], slot), table["program"].to_numpy()


def _expression(adata: AnnData, key: str, genes: np.ndarray, cells: np.ndarray, layer: str | None) -> np.ndarray:
    """Expression (genes, cells), of those alone that are shown, from where the fit took it unless a layer is named."""
    rows, row_of = np.unique(cells, return_inverse=True)
    columns, column_of = np.unique(genes, return_inverse=True)
    if layer is None:
        shown = read_fitted_part(adata, read_fit(adata, key), rows, columns)
    else:
        shown = read_part(adata, rows, columns, layer=layer)
    return (shown.toarray() if hasattr(shown, "toarray") else np.asarray(shown))[row_of][:, column_of].T


def _draw(ax: Axes, block: np.ndarray, scale: str | None, values: str, cmap: str) -> None:
    name = "expression" if values == "expression" else "fitted expression"
    if scale == "gene":
        block, name = relative_to(block, block.max(axis=1)), f"relative {name}"
    heat_map(ax, block, cmap=cmap, label=name)
    ax.set_yticks([])


def _outline(ax: Axes, gene_program: np.ndarray, cell_program: np.ndarray) -> None:
    """Frame every bicluster."""
    for program in np.unique(gene_program):
        rows, columns = np.flatnonzero(gene_program == program), np.flatnonzero(cell_program == program)
        for color, width in OUTLINE if len(columns) else ():
            corner = (columns[0] - 0.5, rows[0] - 0.5)
            frame = Rectangle(corner, len(columns), len(rows), fill=False, edgecolor=color, linewidth=width)
            ax.add_patch(frame)
