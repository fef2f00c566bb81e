"""Programs of several studies beside each other, as a picture."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from genesieve._checks import listing
from genesieve.pl._parts import color_bar
from genesieve.pl._style import (
    COLUMN,
    FRAME,
    PAGE,
    PALE,
    QUIET,
    SEQUENTIAL,
    SMALL,
    axes_or_new,
    label,
    shorten,
    text_width,
)

COLUMNS = ("study_a", "program_a", "study_b", "program_b", "matched", "cosine", "group")
ROW = 0.22  # inches: a group of programs
DARK = 0.45  # cosines from which on a name is written in white


def match_programs(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Which programs of several studies are one: a column a study, a row a program that they share.

    The colour is the mean cosine with the programs of the other studies in the row; a program that no other study has
    is grey, in a row of its own below.

    Parameters
    ----------
    table
        What `genesieve.tl.match_programs` returns.
    ax
        Axes to draw into; ``None`` makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> one, two = adata[::2].copy(), adata[1::2].copy()
    >>> for half in (one, two):
    ...     gs.tl.ssnmf(half, 5, 150)
    >>> ax = gs.pl.match_programs(gs.tl.match_programs(one, two, names=["even", "odd"]))
    """
    missing = [name for name in COLUMNS if name not in getattr(table, "columns", ())]
    if missing:
        raise ValueError(f"table must be that of gs.tl.match_programs, got one without {listing(missing)}")
    placed = _places(table)
    studies = list(dict.fromkeys([*table["study_a"], *table["study_b"]]))
    names, titles = [shorten(name) for name in placed["program"]], [shorten(name) for name in studies]
    wide = max(text_width([*names, *titles]) + 0.2, 0.5)
    ax = axes_or_new(ax, float(np.clip(wide * len(studies) + 1.0, COLUMN, PAGE)), ROW * (placed["row"].max() + 1) + 0.5)
    for name, study, row, cosine in zip(names, placed["study"], placed["row"], placed["cosine"], strict=True):
        _box(ax, studies.index(study), row, name, cosine)
    ax.set_xlim(-0.5, len(studies) - 0.5)
    ax.set_ylim(placed["row"].max() + 0.5, -0.5)
    ax.set_xticks(range(len(studies)), titles, parse_math=False)
    ax.set_yticks([])
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    label(ax.set_ylabel, "matched programs")
    color_bar(ax, ScalarMappable(Normalize(0, 1), mpl.colormaps[SEQUENTIAL]), "cosine")
    return ax


def _box(ax: Axes, column: int, row: int, name: str, cosine: float) -> None:
    """A program: its name on the colour of its cosine, grey without a partner."""
    alone = np.isnan(cosine)
    color = PALE if alone else mpl.colormaps[SEQUENTIAL](float(cosine))
    ax.add_patch(mpl.patches.Rectangle((column - 0.47, row - 0.43), 0.94, 0.86, facecolor=color, linewidth=0))
    ink = QUIET if alone else "white" if cosine >= DARK else FRAME
    ax.text(column, row, name, ha="center", va="center", fontsize=SMALL, color=ink, parse_math=False)


def _places(table: pd.DataFrame) -> pd.DataFrame:
    """Every program once: study, program, row, and its mean cosine with its partners (NaN without one)."""
    pairs = table[table["matched"].astype(bool)]
    sides = [
        part[[f"study_{side}", f"program_{side}", "cosine", "group"]].set_axis(
            ["study", "program", "cosine", "group"], axis=1
        )
        for part, side in ((pairs, "a"), (pairs, "b"))
    ]
    every = [
        table.loc[table[f"program_{side}"] != "", [f"study_{side}", f"program_{side}"]].set_axis(
            ["study", "program"], axis=1
        )
        for side in "ab"
    ]
    found = pd.concat(sides).sort_values("cosine", ascending=False, kind="stable")
    of_program = found.groupby(["study", "program"], sort=False).agg(
        cosine=("cosine", "mean"), group=("group", "first")
    )
    placed = pd.concat(every).drop_duplicates().merge(of_program.reset_index(), on=["study", "program"], how="left")
    best = placed.groupby("group")["cosine"].mean().sort_values(ascending=False, kind="stable")
    row = placed["group"].map({group: number for number, group in enumerate(best.index)})
    alone = row.isna()
    row[alone] = len(best) + np.arange(alone.sum())
    return placed.assign(row=row.astype(int))
