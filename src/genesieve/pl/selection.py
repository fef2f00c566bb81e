"""How many programs and genes, and why: the evidence of `genesieve.tl.select`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from genesieve._checks import check_choice
from genesieve._colors import OKABE_ITO
from genesieve._slots.read import read_path, read_selection
from genesieve.pl._style import COLUMN, LOUD, QUIET, SMALL, axes_or_new, label, open_frame
from genesieve.selection.replication import REPLICATES

if TYPE_CHECKING:
    from anndata import AnnData

HEIGHT = 2.4  # inches
ROOM_BELOW = 0.6  # of the smallest value on a logarithmic scale: room for words below the line
MOST_ERROR_BARS = 200  # of genes
VIEWS = ("programs", "replication", "held_out", "genes")


def selection(adata: AnnData, *, view: str = "programs", key: str = "ssnmf", ax: Axes | None = None) -> Axes:
    """How many programs and genes the data suggest, and why.

    Parameters
    ----------
    adata
        Data with a suggestion, from `genesieve.tl.select`.
    view
        ``"programs"``: the size of every direction of the cells, where noise ends, and the suggested number.
        ``"replication"``: how far two halves of the cells agree on each program, and from where on they do.
        ``"held_out"``: the error on genes and cells held out, by number of programs. ``"genes"``: what the other
        genes predict of every gene, sorted, and where genes stop to earn a place.
    key
        Name of the slot, before ``_select``.
    ax
        Axes to draw into; ``None`` makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.programs("easy", n_cells=300, n_genes=600, n_types=4, n_activities=0)
    >>> gs.tl.select(adata)
    >>> gs.pl.selection(adata).get_xlabel()
    'number of programs'
    """
    check_choice("view", view, VIEWS)
    found = read_selection(adata, key)
    ax = axes_or_new(ax, COLUMN, HEIGHT)
    if not len(found["table"]):
        label(ax.set_title, "no gene varies")
        return ax
    if view == "genes":
        _draw_genes(ax, found["genes"], int(found["suggested"]["n_genes"]))
    else:
        _draw_ranks(ax, found["table"], int(found["suggested"]["n_components"]), view)
        label(ax.set_title, _title(found, view))
    open_frame(ax)
    return ax


def path(adata: AnnData, *, key: str = "ssnmf", ax: Axes | None = None) -> Axes:
    """Fit, labels and genes against the budget of genes.

    Parameters
    ----------
    adata
        Data with a path, from `genesieve.tl.path`.
    key
        Name of the slot, before ``_path``.
    ax
        Axes to draw into; ``None`` makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.path(adata, 4, [50, 100, 200])
    >>> gs.pl.path(adata).get_xlabel()
    'gene budget'
    """
    table = read_path(adata, key)
    ax = axes_or_new(ax, COLUMN, HEIGHT)
    lines = {"explained": "share explained", "labels_kept": "labels kept (NMI)", "genes_kept": "genes kept"}
    for color, (column, words) in zip(OKABE_ITO, lines.items(), strict=False):
        ax.plot(table["n_genes"], table[column], color=color, marker="o", markersize=3, linewidth=1.0, label=words)
    ax.set_xscale("log")
    ax.set_xticks(table["n_genes"], [f"{budget:,}" for budget in table["n_genes"]], fontsize=SMALL, rotation=45)
    ax.minorticks_off()
    ax.set_ylim(0, 1.03)
    label(ax.set_xlabel, "gene budget")
    label(ax.set_ylabel, "share")
    ax.legend(fontsize=SMALL, frameon=False, loc="best")
    open_frame(ax)
    return ax


def _draw_ranks(ax: Axes, table: pd.DataFrame, suggested: int, view: str) -> None:
    ranks = table["n_components"].to_numpy()
    if view == "held_out":
        line: dict[str, Any] = {
            "color": OKABE_ITO[0],
            "linewidth": 1.0,
            "marker": "o",
            "markersize": 3,
            "elinewidth": 0.8,
        }
        ax.errorbar(ranks, table["held_out_error"], yerr=table["standard_error"], **line)
        label(ax.set_ylabel, "error on what was held out")
    elif view == "programs":
        _draw_line(ax, ranks, table["size"].to_numpy(), 1.0, "noise ends here")
        ax.set_yscale("log")
        ax.set_ylim(bottom=ROOM_BELOW * min([1.0, *table["size"].dropna()]))
        _plain_numbers(ax.yaxis, (1.0, 2.0, 5.0))
        label(ax.set_ylabel, "size over the end of noise")
    else:
        _draw_line(ax, ranks, table["agreement"].to_numpy(), REPLICATES, "found in both halves")
        ax.set_ylim(float(table["agreement"].dropna().to_numpy().min(initial=0.0)) - 0.03, 1.03)
        label(ax.set_ylabel, "agreement of two halves")
    ax.axvline(suggested, color=OKABE_ITO[1], linewidth=1.0, zorder=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    label(ax.set_xlabel, "programs, the best first" if view == "replication" else "number of programs")


def _title(found: dict[str, Any], view: str) -> str:
    """What is drawn in numbers, where it is not the number that is suggested."""
    suggested, table = int(found["suggested"]["n_components"]), found["table"]
    drawn = {"programs": (table["stands_out"], "stand out")}
    if table["agreement"].notna().any():
        drawn["replication"] = (table["agreement"] >= REPLICATES, "found again")
    those, words = drawn.get(view, (np.ones(suggested), ""))
    if int(those.sum()) == suggested:
        return f"{suggested} programs suggested"
    return f"{int(those.sum())} {words}, {suggested} suggested"


def _plain_numbers(axis: Axis, steps: tuple[float, ...]) -> None:
    """Ticks of a logarithmic axis as numbers, not as powers of ten."""
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw_line(ax: Axes, ranks: np.ndarray, values: np.ndarray, bound: float, words: str) -> None:
    """Points, those at the bound and above coloured; there are none for ranks that were not looked at."""
    ranks, values = ranks[np.isfinite(values)], values[np.isfinite(values)]
    ax.axhline(bound, color=QUIET, linewidth=0.8, linestyle="--")
    place: dict[str, Any] = {
        "xytext": (0, -3),  # values fall: below the line, at its beginning, there are no points
        "textcoords": "offset points",
        "ha": "left",
        "va": "top",
        "fontsize": SMALL,
        "color": LOUD,
        "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.8},  # the line of what is suggested may run there
    }
    ax.annotate(words, (min(ranks, default=1), bound), **place)
    above = values >= bound
    for mask, color in ((above, OKABE_ITO[0]), (~above, QUIET)):
        ax.plot(ranks[mask], values[mask], "o", color=color, markersize=4)


def _draw_genes(ax: Axes, genes: pd.DataFrame, suggested: int) -> None:
    gains, errors = genes["gain"].to_numpy(), genes["standard_error"].to_numpy()
    order = np.argsort(-gains)
    earns = genes["earns"].to_numpy(dtype=bool)[order]
    at = np.arange(1, len(order) + 1)
    some = np.unique(np.geomspace(1, len(at), MOST_ERROR_BARS).astype(int)) - 1  # all of them would be a blot
    low, high = (gains - errors)[order][some], (gains + errors)[order][some]
    ax.vlines(at[some], low, high, color=np.where(earns[some], OKABE_ITO[0], QUIET), linewidth=0.5, alpha=0.5)
    for mask, color in ((earns, OKABE_ITO[0]), (~earns, QUIET)):
        ax.plot(at[mask], gains[order][mask], ".", color=color, markersize=2)
    ax.axvline(suggested, color=OKABE_ITO[1], linewidth=1.0, zorder=0)
    ax.set_xscale("log")
    _plain_numbers(ax.xaxis, (1.0,))
    label(ax.set_xlabel, "genes, the best predicted first")
    label(ax.set_ylabel, "share predicted by the others")
    label(ax.set_title, f"{suggested:,} genes suggested")
