"""How the fit went: the course of the objective, and cells that no program explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from genesieve._checks import check_choice, check_integer
from genesieve._colors import OKABE_ITO
from genesieve._slots.read import read_fit, read_projection
from genesieve.pl._parts import describe, thin
from genesieve.pl._programs import read_programs
from genesieve.pl._style import COLUMN, FRAME, LOUD, QUIET, SMALL, axes_or_new, label, open_frame

if TYPE_CHECKING:
    from anndata import AnnData

HEIGHT = 2.2  # inches
MOST_POINTS = 20_000  # more points hide each other
ORDERS = {"sorted": "sorted by usage", "cells": "as in the data", "program": "ordered by program"}
FEW_POINTS = 40  # iterations of which each gets a dot


def convergence(adata: AnnData, *, key: str = "ssnmf", x: str = "passes", ax: Axes | None = None) -> Axes:
    """Objective of the fit against the work done.

    Parameters
    ----------
    adata
        Data with programs, from `genesieve.tl.ssnmf`.
    key
        Name of the programs' slots.
    x
        ``"passes"`` over the data, ``"seconds"`` or ``"iterations"``.
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
    >>> gs.pl.convergence(adata).get_ylabel()
    'objective'
    """
    check_choice("x", x, ["passes", "seconds", "iterations"])
    history = read_fit(adata, key).record["history"]
    objective = np.asarray(history["objective"])
    ax = axes_or_new(ax, COLUMN, HEIGHT)
    at = np.arange(1, len(objective) + 1) if x == "iterations" else np.asarray(history[x])
    marker = "o" if len(objective) <= FEW_POINTS else None
    ax.plot(at, objective, color=OKABE_ITO[0], linewidth=1.2, marker=marker, markersize=2.5)
    if x != "seconds":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    label(ax.set_xlabel, "passes over the data" if x == "passes" else x)
    label(ax.set_ylabel, "objective")
    ax.yaxis.get_offset_text().set_fontsize(SMALL)
    open_frame(ax)
    return ax


def outliers(
    adata: AnnData,
    *,
    key: str = "ssnmf",
    order: str = "sorted",
    max_cells: int = MOST_POINTS,
    ax: Axes | None = None,
) -> Axes:
    """Usage of every cell, with the outliers marked: cells that use no program much.

    Usage is what `genesieve.tl.outliers` judges cells by; in an orthogonal fit, the largest coefficient of each cell.

    Parameters
    ----------
    adata
        Data with outliers, from `genesieve.tl.outliers`.
    key
        Name of the programs' slots.
    order
        ``"sorted"`` by usage, ``"cells"`` as they stand in the data, ``"program"`` by program and usage.
    max_cells
        With more cells, one in two, three, ... is shown, and the axis says so; outliers are all shown.
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
    >>> cells = gs.tl.outliers(adata)
    >>> gs.pl.outliers(adata).get_ylabel()
    'usage of programs'
    """
    check_choice("order", order, list(ORDERS))
    check_integer("max_cells", max_cells, 1)
    programs = read_programs(adata, key)
    flagged, usage = _read_outliers(adata, key)
    place = _places(usage, programs.of_cell, order)
    usual, step = thin(np.flatnonzero(~flagged), np.zeros(np.count_nonzero(~flagged)), max_cells)
    ax = axes_or_new(ax, COLUMN, HEIGHT)
    name = f"outliers ({np.count_nonzero(flagged):,})"
    ax.scatter(place[usual], usage[usual], s=4, color=QUIET, linewidths=0, label="other cells", rasterized=True)
    ax.scatter(place[flagged], usage[flagged], s=12, marker="x", color=LOUD, linewidths=0.8, label=name)
    _draw_cut(ax, usage[flagged], usage[~flagged])
    label(ax.set_xlabel, describe(len(usage), "cells", step, ORDERS[order]))
    label(ax.set_ylabel, "usage of programs")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=SMALL, frameon=False, loc="best", handletextpad=0.4, borderpad=0)
    open_frame(ax)
    return ax


def _read_outliers(adata: AnnData, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Which cells are outliers, and the usage by which they were judged."""
    fit = read_projection(adata, key)
    flagged, score = fit.of_cells("outlier").to_numpy(dtype=bool), fit.of_cells("outlier_score").to_numpy()
    return flagged, fit.found("outlier_rule")["typical"] * (1.0 - score)


def _places(usage: np.ndarray, of_cell: np.ndarray, order: str) -> np.ndarray:
    """Where each cell stands on the axis."""
    keys = {"sorted": (usage,), "cells": (np.arange(len(usage)),), "program": (usage, of_cell)}
    places = np.empty(len(usage), dtype=int)
    places[np.lexsort(keys[order])] = np.arange(len(usage))
    return places


def _draw_cut(ax: Axes, low: np.ndarray, high: np.ndarray) -> None:
    """A line between outliers and other cells, halfway on the scale of logarithms, where they were cut."""
    if len(low) and len(high) and 0 < low.max() < high.min():
        ax.axhline(np.sqrt(low.max() * high.min()), color=FRAME, linewidth=0.7, linestyle="--", label="cut")
