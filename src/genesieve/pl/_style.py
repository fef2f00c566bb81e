"""Sizes, colours and figures: what makes the plots fit a paper's column and look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

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

# Okabe and Ito's colours, safe for all kinds of colour blindness, neighbours unlike; grey stands in for black.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
# Paul Tol's muted colours, safe too, for known annotations: a cell type should not look like one of the programs.
TOL_MUTED = ("#CC6677", "#332288", "#DDCC77", "#117733", "#88CCEE", "#882255", "#44AA99", "#999933", "#AA4499")
# His vibrant ones, for clusters that are no programs.
TOL_VIBRANT = ("#EE7733", "#0077BB", "#33BBEE", "#EE3377", "#CC3311", "#009988")
# Each goes on to 40 colours. Every further one is the colour that is farthest from all before it to the eye, lightness
# counting most, as seen with three kinds of cones and as seen without the red or the green ones.
FURTHER = {
    OKABE_ITO: (
        "#0000FF #443311 #661155 #112299 #BBDD99 #7766FF #22EEEE #CC4444 #DD9955 #774455 #6699FF #884400"
        " #AA1188 #1155BB #3322CC #EECC66 #88DDBB #007733 #FF4477 #551177 #BB4488 #224433 #44BBCC #6644FF"
        " #11DDFF #2277DD #CCAA77 #889933 #7788CC #88BB99 #88CC33 #880033"
    ),
    TOL_MUTED: (
        "#0000FF #6677FF #CCDD00 #11EEBB #443300 #66AAFF #3311BB #9933BB #0055FF #AABB88 #AA77CC #552266"
        " #88BB00 #AA3300 #DD1144 #995577 #FF88CC #EE8866 #772233 #447755 #FFCC55 #444499 #BB6600 #AA77AA"
        " #BBDD99 #774477 #6688EE #FF6699 #4455DD #FF9955 #5522AA"
    ),
    TOL_VIBRANT: (
        "#0000FF #770022 #112299 #CCDD99 #FFCC00 #6666FF #00EEDD #443366 #FFCC66 #5599FF #DD8866 #994433"
        " #BB0099 #3322CC #883355 #BB99BB #77CCAA #880000 #FF9922 #0066CC #EEAA66 #00DDEE #557755 #442277"
        " #5544FF #8888BB #445588 #997744 #661144 #1144BB #447700 #AABB88 #4499DD #FFBBCC"
    ),
}


def distinct_colors(n: int, hues: Sequence[str] = OKABE_ITO) -> list[str]:
    """Colours for ``n`` categories that colour-blind readers tell apart; after 40 they repeat."""
    further = FURTHER.get(tuple(hues))
    colors = [to_hex(color) for color in (*hues, *(further.split() if further else ()))]
    return [colors[i % len(colors)] for i in range(n)]


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


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes as they will be drawn."""
    figure = ax.figure.figure  # the whole one, where the axes are in a part of it
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()  # lets the layout settle
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
