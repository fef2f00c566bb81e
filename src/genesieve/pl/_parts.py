"""Parts of heat maps: the image with its colour bar, strips of colours, names with leader lines, legends.

Everything beside the axes is placed in inches from their edge, so that it keeps its size whatever the figure's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2DBase, ScaledTranslation, Transform, blended_transform_factory
from scipy.optimize import isotonic_regression

from genesieve.pl._style import (
    CHARACTER_WIDTH,
    LINE_HEIGHT,
    LONGEST_NAME,
    POINTS,
    QUIET,
    SMALL,
    shorten,
    size_in_points,
)

HORIZONTAL = ("top", "bottom")
ALIGNMENT: dict[str, tuple[Literal["left", "center", "right"], Literal["top", "center", "bottom"]]] = {
    "top": ("center", "bottom"),
    "bottom": ("center", "top"),
    "left": ("right", "center"),
    "right": ("left", "center"),
}
STRIP = 0.09  # inches: thickness of a strip of colours
GAP = 0.03  # inches: between the axes and what stands beside
LEADER = 0.13  # inches: length of a leader line
COLOR_BAR = 0.08  # inches: thickness
COLOR_BAR_LENGTH = (0.5, 1.1)  # inches, at least and at most
BAR_GAP = 0.16  # inches: room for a strip between the axes and the colour bar
LEGEND_ROW = SMALL * 1.55 / POINTS  # inches
LEGEND_HANDLE = 0.28  # inches: the patch of a legend's entry and the space around it
MOST_IN_LEGEND = 40  # categories; beyond, colours repeat and a legend helps nobody


def thin(order: np.ndarray, group: np.ndarray, most: int) -> tuple[np.ndarray, int]:
    """Every s-th member of each group, so that about ``most`` of all remain, and s; no group vanishes.

    ``order`` has the members group by group, ``group`` the group of each of them.
    """
    step = max(1, -(-len(order) // most))
    first_of_group = np.searchsorted(group, group)
    return order[(np.arange(len(order)) - first_of_group) % step == 0], step


def describe(n: int, what: str, step: int, order: str = "ordered by program") -> str:
    """An axis label: how many there are, in which order, and whether only some are shown."""
    note = f" (1 in {step} shown)" if step > 1 else ""
    return f"{n:,} {what}, {order}{note}"


def heat_map(ax: Axes, values: np.ndarray, *, cmap: str, label: str, vmax: float | None = None) -> AxesImage:
    """An image from zero upwards, with a small colour bar at its right."""
    top = vmax if vmax is not None else float(values.max(initial=0.0))
    image = ax.imshow(values, aspect="auto", cmap=cmap, vmin=0.0, vmax=top or 1.0, interpolation="nearest")
    ax.spines[:].set_linewidth(0.6)
    color_bar(ax, image, label)
    return image


def color_bar(ax: Axes, mappable: ScalarMappable, label: str, below: float = 0.0) -> None:
    """A small colour bar at the right of the axes, ``below`` inches under their upper edge."""
    room = ax.get_window_extent().height / ax.figure.dpi - below
    length = float(np.clip(room, *COLOR_BAR_LENGTH))
    corner = ax.figure.dpi_scale_trans + ScaledTranslation(1, 1, cast(Affine2DBase, ax.transAxes))  # inches from it
    bar_ax = ax.inset_axes((BAR_GAP, -below - length, COLOR_BAR, length), transform=corner)
    bar = ax.figure.colorbar(mappable, cax=bar_ax)
    bar.locator = MaxNLocator(4)
    bar.update_ticks()
    bar.set_label(label, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL, length=2, width=0.6)
    bar.outline.set_linewidth(0.6)


def edge(ax: Axes, side: str, along: Transform) -> Transform:
    """Coordinates along a side as in ``along``, and away from it in inches, negative to the left and below."""
    corner = (1, 1) if side in ("top", "right") else (0, 0)
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(*corner, cast(Affine2DBase, ax.transAxes))
    return blended_transform_factory(*((along, inches) if side in HORIZONTAL else (inches, along)))


def beside(ax: Axes, side: str, thickness: float, pad: float, span: tuple[float, float] = (0.0, 1.0)) -> Axes:
    """New axes along a side; ``span`` is where they begin and how long they are, as shares of the side."""
    start = pad if side in ("top", "right") else -pad - thickness
    across, along = (start, thickness), span
    (x, width), (y, height) = (along, across) if side in HORIZONTAL else (across, along)
    return ax.inset_axes((x, y, width, height), transform=edge(ax, side, ax.transAxes))


def strip(ax: Axes, side: str, colors: Sequence[str] | np.ndarray, *, pad: float = GAP, name: str = "") -> Axes:
    """A strip of colours along a side of a heat map, one for each of its rows or columns."""
    rgb = np.array([to_rgb(color) for color in colors]) if not isinstance(colors, np.ndarray) else colors
    horizontal = side in HORIZONTAL
    strip_ax = beside(ax, side, STRIP, pad)
    strip_ax.imshow(rgb[None] if horizontal else rgb[:, None], aspect="auto", interpolation="nearest")
    strip_ax.spines[:].set_visible(False)
    strip_ax.set_xticks([])
    strip_ax.set_yticks([0] if horizontal and name else [], [shorten(name)] if horizontal and name else [])
    strip_ax.tick_params(length=0, labelsize=SMALL, pad=2)
    return strip_ax


def mark(
    ax: Axes, side: str, at: np.ndarray, names: Sequence[str], *, pad: float = GAP, upright: bool = False
) -> float:
    """Names beside a heat map, with leader lines to their rows or columns ``at``, moved apart where they would touch.

    Names above and below are written upwards, unless ``upright`` asks for level ones. Returns how far they reach from
    the axes, in points.
    """
    level = side not in HORIZONTAL or upright
    places = _places(ax, side, at, names, upright)
    transform = edge(ax, side, ax.transData)
    sign = 1 if side in ("top", "right") else -1
    away = sign * (pad + LEADER * np.array([0.0, 0.25, 0.75, 1.0, 1.15]))
    lines = [np.column_stack([[start, start, end, end], away[:4]]) for start, end in zip(at, places, strict=True)]
    segments = [line if side in HORIZONTAL else line[:, ::-1] for line in lines]
    leaders = LineCollection(segments, colors=QUIET, linewidths=0.5, transform=transform, clip_on=False)
    ax.add_collection(leaders, autolim=False)
    ha, va = ALIGNMENT[side]
    texts = []
    for place, name in zip(places, names, strict=True):
        x, y = (place, away[-1]) if side in HORIZONTAL else (away[-1], place)
        rotation = 0 if level else 90
        text = ax.text(x, y, name, transform=transform, ha=ha, va=va, rotation=rotation, fontsize=SMALL)
        text.set_parse_math(False)
        texts.append(text)
    return POINTS * (abs(away[-1]) + GAP) + max((_depth(text, side) for text in texts), default=0.0)


def _depth(text: Text, side: str) -> float:
    """Height of a text above or below the axes, width of one beside them, in points."""
    box = text.get_window_extent()
    return (box.height if side in HORIZONTAL else box.width) * POINTS / cast(Axes, text.axes).figure.dpi


def _places(ax: Axes, side: str, at: np.ndarray, names: Sequence[str], upright: bool) -> np.ndarray:
    """Where along the side the names go."""
    horizontal = side in HORIZONTAL
    low, high = sorted(ax.get_xlim() if horizontal else ax.get_ylim())
    width = CHARACTER_WIDTH * (max(map(len, names), default=0) + 1)
    room = SMALL * (width if horizontal and upright else LINE_HEIGHT)
    gap = room / size_in_points(ax)[0 if horizontal else 1] * (high - low)
    return spread_out(np.asarray(at, dtype=float), gap, low, high)


def how_many_fit(ax: Axes, horizontal: bool) -> int:
    """Names that fit along the axes, one line of text each."""
    return int(size_in_points(ax)[0 if horizontal else 1] // (SMALL * LINE_HEIGHT))


def spread_out(at: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """The places nearest to ``at`` in the same order, ``gap`` apart and within the bounds if they fit."""
    if not len(at):
        return at
    rank = np.argsort(np.argsort(at, kind="stable"), kind="stable")
    if gap * len(at) > high - low:  # more than fit: even spacing is the best there is
        return (low + (high - low) * (np.arange(len(at)) + 0.5) / len(at))[rank]
    steps = gap * (np.arange(len(at)) + 0.5)
    free = isotonic_regression(np.sort(at) - steps).x  # apart by at least the gap once the steps are added
    return (np.clip(free, low, high - gap * len(at)) + steps)[rank]


def legend_rows(names: Sequence[str], width: float) -> tuple[int, int]:
    """Rows and columns of a legend of this width in inches."""
    longest = max((len(shorten(name)) for name in names), default=0)
    entry = LEGEND_HANDLE + longest * SMALL * CHARACTER_WIDTH / POINTS
    rows = max(1, -(-len(names) // max(1, int(width // entry))))
    return rows, max(1, -(-len(names) // rows))  # rows of about one length


def legend_below(ax: Axes, names: Sequence[str], colors: Sequence[str], *, title: str, below: float) -> float:
    """A legend ``below`` inches under the axes; returns the height that it takes."""
    width = ax.get_window_extent().width / ax.figure.dpi
    rows, columns = legend_rows(names, width)
    by_column = [i for column in range(columns) for i in range(column, len(names), columns)]  # so that rows are read
    handles = [Patch(facecolor=colors[i]) for i in by_column]
    legend = Legend(
        ax,
        handles,
        [str(i) for i in range(len(names))],  # true names come after: matplotlib drops those that begin with "_"
        ncols=columns, fontsize=SMALL, title=shorten(title, 2 * LONGEST_NAME), title_fontsize=SMALL, frameon=False,
        loc="upper left", bbox_to_anchor=(0.0, -below), bbox_transform=edge(ax, "bottom", ax.transAxes),
        alignment="left", borderpad=0, borderaxespad=0, handlelength=0.9, handleheight=0.9, handletextpad=0.4,
        columnspacing=1.0, labelspacing=0.3,
    )  # fmt: skip
    for text, i in zip(legend.get_texts(), by_column, strict=True):
        text.set_text(shorten(names[i]))
        text.set_parse_math(False)
    legend.get_title().set_parse_math(False)
    ax.add_artist(legend)  # ax.legend would replace the one before
    legend.set_clip_on(False)  # it counts in the layout
    return (rows + 1) * LEGEND_ROW + 0.04
