"""A targeted panel: how well it does with how many genes, and which types it confuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from genesieve._checks import check_choice
from genesieve._colors import OKABE_ITO
from genesieve._slots.read import read_fit
from genesieve.pl._style import COLUMN, QUIET, SEQUENTIAL, SMALL, axes_or_new, label, open_frame, shorten

if TYPE_CHECKING:
    from anndata import AnnData

HEIGHT = 2.4  # inches
CELL = 0.2  # inches a type
LEGIBLE = 12  # types up to which shares are written into the table
DARK = 0.55  # share from which text on it is white


def panel(adata: AnnData, *, key: str = "ssnmf", show: str = "curve", ax: Axes | None = None) -> Axes:
    """How well a targeted panel does: the curve over its size, or the types that it confuses.

    Parameters
    ----------
    adata
        Data with a panel, from `genesieve.tl.panel`.
    key
        Name of the programs' slots.
    show
        ``"curve"``: cells recognised and variation kept by the first genes, on cells held out; ``"confusion"``: what
        cells of each type are taken for.
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
    >>> table = gs.tl.panel(adata, 20)
    >>> gs.pl.panel(adata).get_xlabel()
    'genes of the panel'
    """
    check_choice("show", show, ["curve", "confusion"])
    return _curve(adata, key, ax) if show == "curve" else _confusion(adata, key, ax)


def _curve(adata: AnnData, key: str, ax: Axes | None) -> Axes:
    fit = read_fit(adata, key)
    table, whole = fit.found("panel_curve"), fit.found("panel_fit")
    ax = axes_or_new(ax, COLUMN, HEIGHT)
    for name, said, color in (
        ("accuracy", "cells recognised", OKABE_ITO[0]),
        ("variation", "variation kept", OKABE_ITO[1]),
    ):
        ax.plot(table["n_genes"], table[name], color=color, linewidth=1.2, marker="o", markersize=2.5, label=said)
    all_genes = float(whole["accuracy_all"])
    ax.axhline(all_genes, color=QUIET, linewidth=0.8, linestyle="--", label="cells recognised, all genes")
    label(ax.set_xlabel, "genes of the panel")
    label(ax.set_ylabel, "share, on cells held out")
    ax.set_ylim(0, 1.02)
    ax.set_xlim(left=0)
    ax.legend(fontsize=SMALL, frameon=False, loc="lower right", handletextpad=0.4, borderpad=0)
    open_frame(ax)
    return ax


def _confusion(adata: AnnData, key: str, ax: Axes | None) -> Axes:
    table = read_fit(adata, key).found("panel_confusion")
    names = [shorten(name) for name in table["type"]]
    shares = table.drop(columns="type").to_numpy(dtype=float)
    side = max(1.6, CELL * len(names))
    ax = axes_or_new(ax, side + 1.6, side + 1.2)
    ax.imshow(shares, vmin=0, vmax=1, cmap=SEQUENTIAL)
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=SMALL, parse_math=False)
    ax.set_yticks(range(len(names)), names, fontsize=SMALL, parse_math=False)
    if len(names) <= LEGIBLE:
        for row, column in np.argwhere(shares >= 0.005):
            color = "white" if shares[row, column] > DARK else "black"
            text = f"{shares[row, column]:.2f}".lstrip("0")
            ax.text(column, row, text, ha="center", va="center", fontsize=SMALL - 1.5, color=color)
    label(ax.set_xlabel, "taken for")
    label(ax.set_ylabel, "cells of")
    return ax
