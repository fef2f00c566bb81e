"""Cells along the lower edge of a heat map: their order, the strips of colours above them, legends below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

from genesieve._checks import check_integer
from genesieve._colors import TOL_MUTED
from genesieve._slots.read import read_column
from genesieve.pl._parts import GAP, LEGEND_ROW, MOST_IN_LEGEND, STRIP, describe, legend_below, legend_rows, strip, thin
from genesieve.pl._programs import Programs, column_colors
from genesieve.pl._style import PAGE, label

if TYPE_CHECKING:
    from anndata import AnnData

# More columns than this are finer than print can show across a page.
MOST_CELLS = 2000
# The share of the width that every program has, so that small ones can be seen; all of them together at most half.
LEAST_WIDTH, LEAST_IN_ALL = 0.015, 0.5
AXIS_LABEL = 0.26  # inches: the axis label under a heat map
NUMBERS = "cividis"  # colours of a numeric annotation
MISSING = "#ffffff"  # cells without annotation


@dataclass(frozen=True)
class Cells:
    """The cells of a heat map, in the order of its columns."""

    index: np.ndarray
    program: np.ndarray
    total: int
    step: int
    wider: bool = False  # whether cells of small programs take several columns each

    @property
    def order(self) -> str:
        """Of the columns, for their axis."""
        return "ordered by program" + (", those of small ones drawn wider" if self.wider else "")


@dataclass(frozen=True)
class Annotation:
    """A column of ``obs`` as colours, with what its legend says."""

    title: str
    rgb: np.ndarray  # (cells, 3)
    names: list[str]
    colors: list[str]

    @property
    def height(self) -> float:
        """Inches that its strip and legend take in a figure as wide as a page."""
        rows = legend_rows(self.names, PAGE - 1.5)[0] + 1 if self.names else 0
        return STRIP + GAP + rows * LEGEND_ROW


def order_cells(programs: Programs, max_cells: int, only: Sequence[int] | None = None) -> Cells:
    """Cells by the program they use most, heaviest users first, thinned to about ``max_cells``.

    Those of a program with hardly any cells take several columns each, or no one would see them.
    """
    check_integer("max_cells", max_cells, 1)
    order = np.lexsort((-programs.usages.max(axis=1), programs.of_cell))
    if only is not None:
        order = order[np.isin(programs.of_cell[order], only)]
    shown, step = thin(order, programs.of_cell[order], max_cells)
    widths = _widths(programs.of_cell[shown])
    shown = np.repeat(shown, widths)
    return Cells(shown, programs.of_cell[shown], len(order), step, bool((widths > 1).any()))


def _widths(program: np.ndarray) -> np.ndarray:
    """Columns of every cell."""
    _, of, counts = np.unique(program, return_inverse=True, return_counts=True)
    least = int(min(LEAST_WIDTH, LEAST_IN_ALL / max(len(counts), 1)) * len(program))
    return np.asarray(np.maximum(-(-least // counts), 1)[of])


def read_annotations(adata: AnnData, color: str | Sequence[str] | None) -> list[Annotation]:
    """The columns of ``obs`` named by ``color``."""
    columns = [] if color is None else [color] if isinstance(color, str) else list(color)
    rule = "color must name columns"
    return [_annotation(adata, column, read_column(adata, column, rule)) for column in columns]


def _annotation(adata: AnnData, column: str, values: Any) -> Annotation:
    if values.dtype.kind in "fiu":
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        known = np.isfinite(numbers)
        low, high = (numbers[known].min(), numbers[known].max()) if known.any() else (0.0, 0.0)
        colormap = mpl.colormaps[NUMBERS]
        rgb = np.tile(to_rgb(MISSING), (len(numbers), 1))
        rgb[known] = colormap((numbers[known] - low) / ((high - low) or 1.0))[:, :3]
        ends = [_number(value) for value in (low, (low + high) / 2, high)]
        return Annotation(column, rgb, ends, [to_hex(colormap(share)) for share in (0.0, 0.5, 1.0)])
    categories = values.astype("category").cat
    names = [str(name) for name in categories.categories]
    colors = column_colors(adata, column, len(names), TOL_MUTED)[: len(names)]
    rgb = np.array([to_rgb(color) for color in [*colors, MISSING]])[np.asarray(categories.codes)]
    if len(names) > MOST_IN_LEGEND:
        return Annotation(f"{column} ({len(names)} groups)", rgb, [], [])
    return Annotation(column, rgb, names, colors)


def _number(value: float) -> str:
    """A number for a legend: three digits, and no exponent for large ones."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def annotate_cells(ax: Axes, programs: Programs, cells: Cells, annotations: Sequence[Annotation]) -> float:
    """Label the axis of cells, draw the strips above and legends below; the height of the strips."""
    ax.set_xticks([])
    label(ax.set_xlabel, describe(cells.total, "cells", cells.step, cells.order))
    strip(ax, "top", [programs.colors[program] for program in cells.program], name="program")
    top, below = GAP + STRIP, AXIS_LABEL
    for annotation in annotations:
        strip(ax, "top", annotation.rgb[cells.index], pad=top + GAP, name=annotation.title)
        top += GAP + STRIP
        if annotation.names:
            below += legend_below(ax, annotation.names, annotation.colors, title=annotation.title, below=below)
    return top
