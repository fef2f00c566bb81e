"""Tables as pictures: the top genes of every program, and the gene sets enriched in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from genesieve._checks import check_choice, check_integer, check_number
from genesieve._slots.read import read_projection
from genesieve.pl._parts import GAP, color_bar, edge
from genesieve.pl._programs import pick_programs, read_programs
from genesieve.pl._style import (
    COLUMN,
    FRAME,
    LINE_HEIGHT,
    LONGEST_TERM,
    PAGE,
    PALE,
    POINTS,
    QUIET,
    SEQUENTIAL,
    SMALL,
    axes_grid,
    axes_or_new,
    label,
    open_frame,
    say_nothing_to_show,
    shorten,
    text_width,
)
from genesieve.tl._tables import ALPHA, significant

if TYPE_CHECKING:
    from anndata import AnnData

MOST_COLUMNS = 5  # panels beside each other on a page
LONGEST_TITLE = 20  # characters that fit above a panel
BAR = SMALL * LINE_HEIGHT * 1.1 / POINTS  # inches: a gene's bar
WORDS = {"score": "gene score", "weight": "gene weight", "z": "z-score of the weight", "specificity": "specificity"}
SMALLEST_DOT, LARGEST_DOT = 6.0, 60.0  # points squared
SMALLEST_P = 1e-300  # p values that underflow to zero are drawn as this
CELL = 0.17  # inches: a row or column of the dot plot
KEYS = 1.0  # inches: what the sizes and colours of the dots mean, at its right
LOWEST = 1.7  # inches: height of a dot plot with few terms
MOST_TERMS = 40  # rows that a page holds
FEW_TERMS = 5
SHORT_NAME = 3  # characters: longer names of programs are written upwards
TERM, OVERLAP, ADJUSTED_P = "term", "overlap", "p_adjusted"


def top_genes(
    adata: AnnData,
    *,
    key: str = "ssnmf",
    programs: Sequence[int | str] | None = None,
    n_genes: int = 10,
    values: str | None = None,
    axes: Any = None,
) -> np.ndarray:
    """Bars of the top genes, a panel for each program.

    Parameters
    ----------
    adata
        Data with markers, from `genesieve.tl.markers`, or for other values than scores with top genes, from
        `genesieve.tl.top_genes`.
    key
        Name of the programs' slots.
    programs
        Programs to show, by name or number; ``None`` shows all.
    n_genes
        Genes of each program.
    values
        Length of the bars: ``"score"``, for the genes with the highest scores, or for those with the largest weights
        ``"weight"``, ``"z"`` or ``"specificity"``; ``None`` shows scores if there are markers, and weights if not.
    axes
        Axes to draw into, at least one a program; ``None`` makes a figure.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        The panels, one a program.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 50)
    >>> table = gs.tl.top_genes(adata)
    >>> len(gs.pl.top_genes(adata, n_genes=5))
    4
    """
    check_choice("values", values, [*WORDS, None])
    check_integer("n_genes", n_genes, 1)
    fit = read_programs(adata, key)
    found = read_projection(adata, key)
    values = values or ("score" if found.has("markers") else "weight")
    table = found.found("markers" if values == "score" else "top_genes")
    chosen = pick_programs(programs, fit.names)
    columns = _balanced_columns(len(chosen))
    width = PAGE * max(columns, 2) / MOST_COLUMNS if columns < MOST_COLUMNS - 1 else PAGE
    panels = axes_grid(axes, len(chosen), columns, width, n_genes * BAR + 0.45)
    for ax, program in zip(panels, chosen, strict=True):
        rows = table[table["program"] == program].head(n_genes)
        _gene_bars(ax, [str(gene) for gene in rows["gene"]], rows[values].to_numpy(), fit.colors[program], n_genes)
        label(ax.set_title, fit.title(program, LONGEST_TITLE), pad=3)
    for ax in panels[-columns:]:
        label(ax.set_xlabel, WORDS[values])
    return np.array(panels, dtype=object)


def _balanced_columns(n: int) -> int:
    """Panels beside each other: the fewest rows, and those as even as they can be."""
    rows = -(-n // MOST_COLUMNS)
    return -(-n // rows)


def _gene_bars(ax: Axes, genes: Sequence[str], values: np.ndarray, color: str, n_rows: int) -> None:
    ax.barh(range(len(genes)), values, color=color, height=0.75)
    ax.set_yticks(range(len(genes)), [shorten(gene) for gene in genes], fontsize=SMALL, parse_math=False)
    ax.set_ylim(n_rows - 0.4, -0.6)
    ax.tick_params(axis="x", labelsize=SMALL, length=2, width=0.6)
    ax.tick_params(axis="y", left=False, pad=2)
    ax.xaxis.set_major_locator(MaxNLocator(2))
    open_frame(ax)


def enrichment(
    adata: AnnData,
    *,
    key: str = "ssnmf",
    programs: Sequence[int | str] | None = None,
    n_terms: int | None = None,
    alpha: float = ALPHA,
    cmap: str = SEQUENTIAL,
    ax: Axes | None = None,
) -> Axes:
    """Dot plot of enriched gene sets: size is the number of shared genes, colour the significance.

    Parameters
    ----------
    adata
        Data with enriched gene sets, from `genesieve.tl.enrich`.
    key
        Name of the programs' slots.
    programs
        Programs to show, by name or number; ``None`` shows all.
    n_terms
        Top terms of each program; ``None`` shows five, or fewer where many programs would fill more than a page.
    alpha
        Largest adjusted p value shown.
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
    >>> sets = {"killing": ["GNLY", "NKG7", "GZMB", "PRF1"], "platelets": ["PF4", "PPBP", "SDPR", "GNG11"]}
    >>> table = gs.tl.enrich(adata, sets, min_size=3)
    >>> ax = gs.pl.enrichment(adata)
    """
    check_number("alpha", alpha)
    fit = read_programs(adata, key)
    chosen = pick_programs(programs, fit.names)
    if n_terms is None:
        n_terms = int(np.clip(MOST_TERMS // len(chosen), 1, FEW_TERMS))
    check_integer("n_terms", n_terms, 1)
    table = significant(read_projection(adata, key).found("enrichment"), alpha)
    table = table[table["program"].isin(chosen)]
    terms = _top_terms(table, chosen, n_terms)
    names = [shorten(fit.names[program]) for program in chosen]
    upwards = max(len(name) for name in names) > SHORT_NAME
    width, height = _dot_plot_size(terms, len(chosen))
    ax = axes_or_new(ax, width, height + (text_width(names) if upwards else 0.0))
    if not terms:
        return say_nothing_to_show(ax, f"no gene set has an adjusted p value of at most {alpha:g}")
    _dots(ax, table[table[TERM].isin(terms)], terms, chosen, cmap)
    ax.set_xticks(range(len(chosen)), names, rotation=90 if upwards else 0, parse_math=False)
    label(ax.set_xlabel, "program")
    return ax


def _top_terms(table: Any, chosen: Sequence[int], n_terms: int) -> list[str]:
    """The most significant terms of every program, program by program, each once."""
    table = table.sort_values([ADJUSTED_P, OVERLAP], ascending=[True, False], kind="stable")
    terms: dict[str, None] = {}
    for program in chosen:
        terms |= dict.fromkeys(table.loc[table["program"] == program, TERM].head(n_terms))
    return list(terms)


def _dot_plot_size(terms: Sequence[str], n_programs: int) -> tuple[float, float]:
    """Width and height in inches."""
    width = text_width([_readable(term) for term in terms]) + n_programs * CELL + KEYS
    return float(np.clip(width, COLUMN, PAGE)), max(CELL * len(terms), LOWEST) + 0.5


def _dots(ax: Axes, table: Any, terms: Sequence[str], chosen: Sequence[int], cmap: str) -> None:
    row = {term: i for i, term in enumerate(terms)}
    column = {program: i for i, program in enumerate(chosen)}
    shared = table[OVERLAP].to_numpy(dtype=float)
    significance = -np.log10(np.maximum(table[ADJUSTED_P].to_numpy(dtype=float), SMALLEST_P))
    dots = ax.scatter(
        [column[program] for program in table["program"]], [row[term] for term in table[TERM]],
        s=_dot_size(shared / shared.max()), c=significance, cmap=cmap, vmin=0, edgecolors=FRAME, linewidths=0.4,
    )  # fmt: skip
    ax.set_yticks(range(len(terms)), [_readable(term) for term in terms], fontsize=SMALL, parse_math=False)
    ax.set_xlim(-0.6, len(chosen) - 0.4)
    ax.set_ylim(len(terms) - 0.4, -0.6)
    ax.set_axisbelow(True)
    ax.grid(color=PALE, linewidth=0.5)
    ax.tick_params(length=0)
    ax.spines[:].set_linewidth(0.6)
    below = _size_key(ax, shared.max())
    color_bar(ax, dots, "-log10 adjusted p", below=below)


def _dot_size(share: Any) -> Any:
    """Area of a dot in points squared, by its share of the largest."""
    return SMALLEST_DOT + (LARGEST_DOT - SMALLEST_DOT) * share


def _size_key(ax: Axes, largest: float) -> float:
    """What the sizes of the dots mean, at the right of the axes; the height that it takes in inches."""
    counts = sorted({int(np.ceil(largest * share)) for share in (0.1, 0.5, 1.0)})
    handles = [ax.scatter([], [], s=_dot_size(count / largest), color=QUIET, linewidths=0) for count in counts]
    legend = ax.legend(
        handles, [f"{count:,}" for count in counts], title="genes", fontsize=SMALL, title_fontsize=SMALL,
        loc="upper left", bbox_to_anchor=(2 * GAP, 1.0), bbox_transform=edge(ax, "right", ax.transAxes), frameon=False,
        alignment="left", borderpad=0, borderaxespad=0, handletextpad=0.3, labelspacing=0.4,
    )  # fmt: skip
    legend.set_in_layout(True)
    return (len(counts) + 1) * SMALL * 1.9 / POINTS + 0.1


def _readable(term: str) -> str:
    """A gene set's name with spaces for underscores, cut if it is long."""
    return shorten(str(term).replace("_", " "), LONGEST_TERM)
