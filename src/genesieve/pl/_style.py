"""Sizes, colours and figures: what makes the plots fit a paper's column and look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INCH = 25.4  # in mm
COLUMN = 85 / INCH  # widths of one and of two columns of a journal's page, in inches
PAGE = 180 / INCH
POINTS = 72  # points in an inch

SMALL = 7  # points: tick labels, names of genes and cells
TEXT = 8  # points: axis labels, titles
LINE_HEIGHT = 1.25  # of text, relative to its size
CHARACTER_WIDTH = 0.62  # of text, relative to its size: on the wide side of the average
LONGEST_NAME = 24  # characters shown of the name of a gene, cell type or program
LONGEST_TERM = 48  # characters shown of the name of a gene set

# Perceptually uniform, and light where a weight is zero: most of them are.
SEQUENTIAL = "magma_r"
QUIET = "#8c8c8c"  # what needs no attention
LOUD = "#D55E00"  # what does
PALE = "#e2e2e2"  # grids, empty places
FRAME = "#333333"


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes given, or those of a new figure of this size in inches."""
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    elif not isinstance(ax, Axes):
        raise TypeError(f"ax must be a matplotlib Axes, got {type(ax).__name__}")
    ax.tick_params(labelsize=SMALL, length=2.5, width=0.6)
    return ax


def axes_grid(axes: Any, n: int, columns: int, width: float, row_height: float) -> list[Axes]:
    """The ``n`` axes given, or those of a new figure with panels in ``columns``; left-over panels are removed."""
    if axes is not None:
        given = [ax for ax in np.ravel(np.asarray(axes, dtype=object)) if isinstance(ax, Axes)]
        if len(given) < n:
            raise ValueError(f"axes must hold {n} axes (the programs), got {len(given)}")
        return given[:n]
    rows = -(-n // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(width, rows * row_height), layout="constrained", squeeze=False)
    for ax in grid.flat[n:]:
        figure.delaxes(ax)
    return list(grid.flat[:n])


def settle(figure: Figure) -> None:
    """Place what a figure has, as drawing it would, without drawing: that takes several times as long."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def settle_for_good(figure: Figure) -> None:
    """Place what a figure has and drop its layout: with one, saving draws everything twice."""
    settle(figure)
    with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes as they will be drawn."""
    figure = ax.figure.figure  # the whole one, where the axes are in a part of it
    settle(figure)
    box = ax.get_window_extent()
    return box.width * POINTS / figure.dpi, box.height * POINTS / figure.dpi


def text_width(names: Sequence[str]) -> float:
    """Inches that the longest of the names takes, roughly."""
    return max(map(len, names), default=0) * SMALL * CHARACTER_WIDTH / POINTS


def shorten(name: object, longest: int = LONGEST_NAME) -> str:
    """The name, cut with an ellipsis if it is longer than ``longest`` characters."""
    text = str(name)
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def label(setter: Callable[..., Any], text: str, **options: Any) -> None:
    """Set an axis label or title with the house's size; names in it are no formulas."""
    setter(text, fontsize=TEXT, parse_math=False, **options)


def open_frame(ax: Axes) -> None:
    """Leave only the left and lower edge of the frame."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_linewidth(0.6)


def say_nothing_to_show(ax: Axes, reason: str) -> Axes:
    """Write into the axes why they are empty."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, reason, transform=ax.transAxes, ha="center", va="center", fontsize=TEXT, wrap=True)
    return ax
