"""Several samples as pictures: usage of every sample between groups, programs by sample, evidence for names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from genesieve._checks import check_integer, check_number
from genesieve._colors import TOL_MUTED, distinct_colors
from genesieve._slots.read import Projection, read_projection
from genesieve.pl._parts import GAP, edge
from genesieve.pl._programs import pick_programs, read_programs
from genesieve.pl._style import (
    COLUMN,
    FRAME,
    LOUD,
    PAGE,
    PALE,
    QUIET,
    SMALL,
    TEXT,
    axes_or_new,
    label,
    open_frame,
    shorten,
    text_width,
)
from genesieve.tl._tables import ALPHA

if TYPE_CHECKING:
    from anndata import AnnData

POINT = 14.0  # points squared: a sample
ROW = 0.19  # inches: a program beside others
WIDTH_OF_GROUPS = 0.7  # of the place of a program
SPREAD = 0.25  # of the place of a group, that its samples are spread over
SHORT_NAME = 3  # characters: longer names are written upwards
LEADING = 5  # genes named beside a program
SMALLEST_P = 1e-300


def compare(
    adata: AnnData,
    *,
    key: str = "ssnmf",
    programs: Sequence[int | str] | None = None,
    category: str | None = None,
    alpha: float = ALPHA,
    ax: Axes | None = None,
) -> Axes:
    """Usage of every program between groups, every sample a point; a star marks an adjusted p-value of at most alpha.

    Parameters
    ----------
    adata
        Data with a comparison, from `genesieve.tl.compare`.
    key
        Name of the programs' slots.
    programs
        Programs to show, by name or number; ``None`` shows all.
    category
        Of a comparison ``within`` the categories of a column, the one to show; ``None`` shows the first.
    alpha
        Largest adjusted p-value that gets a star.
    ax
        Axes to draw into; ``None`` makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> adata.obs["donor"] = [f"donor {number % 6}" for number in range(adata.n_obs)]
    >>> adata.obs["arm"] = ["treated" if number % 6 < 3 else "control" for number in range(adata.n_obs)]
    >>> gs.tl.ssnmf(adata, 4, 100)
    >>> table = gs.tl.compare(adata, "arm", "donor")
    >>> ax = gs.pl.compare(adata)
    """
    check_number("alpha", alpha)
    fit, found = read_programs(adata, key), read_projection(adata, key)
    table, points = (_of_category(found.found(name), category) for name in ("compare", "compare_samples"))
    chosen = pick_programs(programs, fit.names)
    groups = [str(table["reference"].iloc[0]), *dict.fromkeys(table["group"].astype(str))]
    colors = distinct_colors(len(groups), TOL_MUTED)
    names = [shorten(fit.names[program]) for program in chosen]
    upwards = max(map(len, names)) > SHORT_NAME
    width = float(np.clip(len(chosen) * len(groups) * 0.2 + 1.2, COLUMN, PAGE))
    ax = axes_or_new(ax, width, 2.2 + (text_width(names) if upwards else 0.0))
    for place, program in enumerate(chosen):
        _program_points(ax, place, points[points["program"] == program], groups, colors)
        rows = table[table["program"] == program]
        _stars(ax, place, rows, points[points["program"] == program], groups, alpha)
    ax.set_xticks(range(len(chosen)), names, rotation=90 if upwards else 0, parse_math=False)
    ax.set_xlim(-0.6, len(chosen) - 0.4)
    ax.set_ylim(bottom=0)
    label(ax.set_xlabel, "program")
    label(ax.set_ylabel, "mean usage of a sample")
    open_frame(ax)
    _legend(ax, [shorten(group) for group in groups], colors)
    return ax


def _of_category(table: pd.DataFrame, category: str | None) -> pd.DataFrame:
    """The rows of one category, where a comparison was within several."""
    first = str(table.columns[0])
    if first == "program":
        return table
    names = list(dict.fromkeys(table[first].astype(str)))
    wanted = names[0] if category is None else str(category)
    if wanted not in names:
        raise ValueError(f"category must be one of {first}: {names!r}, got {category!r}")
    return table[table[first].astype(str) == wanted]


def _places(place: int, n_groups: int) -> np.ndarray:
    """Where the groups of a program stand."""
    return np.asarray(place + (np.arange(n_groups) - (n_groups - 1) / 2) * WIDTH_OF_GROUPS / n_groups)


def _program_points(ax: Axes, place: int, points: pd.DataFrame, groups: Sequence[str], colors: Sequence[str]) -> None:
    """The samples of every group, and their mean as a line."""
    for x, group, color in zip(_places(place, len(groups)), groups, colors, strict=True):
        values = points.loc[points["group"].astype(str) == group, "usage"].to_numpy(dtype=float)
        # Samples side by side in a fixed order, so that a picture repeats.
        aside = (np.arange(len(values)) % 3 - 1) * SPREAD * WIDTH_OF_GROUPS / len(groups) if len(values) > 2 else 0.0
        ax.scatter(x + aside, values, s=POINT, color=color, linewidths=0.4, edgecolors="white", zorder=3, clip_on=False)
        half = 0.45 * WIDTH_OF_GROUPS / len(groups)
        ax.plot([x - half, x + half], [values.mean()] * 2, color=FRAME, linewidth=1.0, zorder=2)


def _stars(ax: Axes, place: int, rows: pd.DataFrame, points: pd.DataFrame, groups: Sequence[str], alpha: float) -> None:
    """A star above every group that differs from the reference."""
    different = rows.loc[rows["p_adjusted"] <= alpha, "group"].astype(str)
    for group in different:
        x = _places(place, len(groups))[groups.index(group)]
        top = points.loc[points["group"].astype(str) == group, "usage"].max()
        ax.annotate("*", (x, top), (0, 1), textcoords="offset points", ha="center", fontsize=TEXT + 2, color=FRAME)


def _legend(ax: Axes, names: Sequence[str], colors: Sequence[str]) -> None:
    handles = [Line2D([], [], linestyle="", marker="o", markersize=4, color=color) for color in colors]
    legend = ax.legend(
        handles, names, fontsize=SMALL, loc="upper left", bbox_to_anchor=(2 * GAP, 1.0),
        bbox_transform=edge(ax, "right", ax.transAxes), frameon=False, borderpad=0, borderaxespad=0, handletextpad=0.2,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def metaprograms(
    adata: AnnData, *, key: str = "ssnmf_metaprograms", n_genes: int = LEADING, ax: Axes | None = None
) -> Axes:
    """Which samples have which program, shared ones above; beside each its coverage and leading genes.

    Parameters
    ----------
    adata
        Data with programs across samples, from `genesieve.tl.metaprograms`.
    key
        Name of the programs' slots.
    n_genes
        Genes to name of each program.
    ax
        Axes to draw into; ``None`` makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> adata.obs["donor"] = [f"donor {number % 3}" for number in range(adata.n_obs)]
    >>> table = gs.tl.metaprograms(adata, "donor", (4, 5), 200)
    >>> ax = gs.pl.metaprograms(adata)
    """
    check_integer("n_genes", n_genes, 0)
    found = read_projection(adata, key)
    table = found.found("coverage")
    having = [str(samples).split(";") for samples in table["samples"]]
    samples = sorted({name for names in having for name in names})
    genes = [", ".join(str(names).split(";")[:n_genes]) for names in table["genes"]]
    told = [f"{share:.0%}  {names}" for share, names in zip(table["coverage"], genes, strict=True)]
    titles = [*found.names, *(f"private {number + 1}" for number in range(len(table) - found.rank))]
    names = [shorten(name) for name in samples]
    width = text_width(titles) + ROW * len(samples) + text_width(told) + 0.4
    ax = axes_or_new(ax, float(np.clip(width, COLUMN, PAGE)), ROW * len(table) + text_width(names) + 0.4)
    colors = [*read_programs(adata, key).colors, *[QUIET] * (len(table) - found.rank)]
    for row, names_of in enumerate(having):
        ax.scatter(range(len(samples)), [row] * len(samples), s=POINT, color=PALE, linewidths=0)
        there = [samples.index(name) for name in names_of]
        ax.scatter(there, [row] * len(there), s=2.5 * POINT, color=colors[row], linewidths=0)
        ax.text(
            2 * GAP, row, told[row], transform=edge(ax, "right", ax.transData), va="center", fontsize=SMALL,
            color=FRAME if row < found.rank else QUIET, parse_math=False,
        )  # fmt: skip
    ax.axhline(found.rank - 0.5, color=QUIET, linewidth=0.6, linestyle=":")
    ax.set_yticks(range(len(table)), [shorten(title) for title in titles], parse_math=False)
    ax.set_xticks(range(len(samples)), names, rotation=90, parse_math=False)
    ax.set_xlim(-0.6, len(samples) - 0.4)
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    label(ax.set_ylabel, "program")
    return ax


def annotation(adata: AnnData, *, key: str = "ssnmf", ax: Axes | None = None) -> Axes:
    """Evidence for the names of programs: the best marker set of each, and the runner-up.

    Parameters
    ----------
    adata
        Data with names, from `genesieve.tl.annotate`.
    key
        Name of the programs' slots.
    ax
        Axes to draw into; ``None`` makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 100)
    >>> table = gs.tl.annotate(adata, {"B": ["CD79A", "CD79B", "MS4A1"], "NK": ["GNLY", "NKG7", "GZMB", "PRF1"]})
    >>> ax = gs.pl.annotation(adata)
    """
    found = read_projection(adata, key)
    table = found.found("annotation")
    titles = _titles(found, table)
    longest = [f"{term} / {other}" for term, other in zip(table["term"], table["runner_up"], strict=True)]
    width = float(np.clip(text_width(titles) + text_width(longest) + 2.2, COLUMN, PAGE))
    ax = axes_or_new(ax, width, ROW * len(table) + 0.6)
    best, second = (
        -np.log10(np.maximum(table[name].to_numpy(dtype=float), SMALLEST_P))
        for name in ("p_adjusted", "runner_up_p_adjusted")
    )
    rows = np.arange(len(table))
    named = (table["name"].astype(str) != "").to_numpy()
    ax.hlines(rows, second, best, color=PALE, linewidth=2.0, zorder=1)
    ax.scatter(second, rows, s=POINT, color=QUIET, linewidths=0, zorder=2, label="runner-up")
    ax.scatter(best, rows, s=2 * POINT, color=np.where(named, LOUD, PALE), linewidths=0, zorder=3, label="best set")
    for row, text in enumerate(longest):
        ax.text(
            2 * GAP, row, shorten(text, 60), transform=edge(ax, "right", ax.transData), va="center", fontsize=SMALL,
            parse_math=False, color=FRAME if named[row] else QUIET,
        )  # fmt: skip
    ax.set_yticks(rows, titles, parse_math=False)
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.set_xlim(left=0)
    label(ax.set_xlabel, "-log10 adjusted p; grey: the runner-up")
    label(ax.set_ylabel, "program")
    ax.tick_params(axis="y", length=0)
    open_frame(ax)
    return ax


def _titles(found: Projection, table: pd.DataFrame) -> list[str]:
    """Programs by number and name."""
    pairs = zip(table["program"], table["name"].astype(str), strict=True)
    return [shorten(f"{program}  {name}" if name else str(program), 28) for program, name in pairs]
