"""How far the biclusters share their genes: a Venn diagram for two or three, an UpSet plot for more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator

from genesieve._checks import check_choice, check_integer
from genesieve._slots.read import read_projection
from genesieve.pl._parts import beside
from genesieve.pl._programs import Programs, pick_programs, read_programs
from genesieve.pl._style import (
    COLUMN,
    FRAME,
    PAGE,
    PALE,
    POINTS,
    SMALL,
    TEXT,
    axes_or_new,
    label,
    open_frame,
    say_nothing_to_show,
    shorten,
    size_in_points,
    text_width,
)

if TYPE_CHECKING:
    from anndata import AnnData

Sets = dict[int, set[str]]

VENN_SIZES = (2, 3)  # sets that circles can show
MOST_INTERSECTIONS = 30
OPACITY = 0.45  # of the circles
# Circles of radius 1 on a ring around the origin; the ring is this wide for two and for three.
RING = {2: 0.55, 3: 0.62}
# Angle of the first circle: two stand side by side, of three one stands on top.
FIRST_ANGLE = {2: np.pi, 3: np.pi / 2}
# Distance from the origin to the middle of a region, by the number of circles and of those that hold the region.
REGION = {(2, 1): 1.0, (2, 2): 0.0, (3, 1): 1.1, (3, 2): 0.77, (3, 3): 0.0}
VENN_LIMITS = {2: (-1.05, 1.55), 3: (-1.85, 2.05)}  # vertical, with room for the names
SHORT_NAME = 14  # characters: a name this long stays over its circle
ROW = 0.17  # inches: a set's row in the UpSet plot
BARS = 1.3  # inches: height of the bars above it
SIZES = 0.7  # inches: width of the bars at its left
DOT = 16  # points squared


def overlap(
    adata: AnnData,
    *,
    key: str = "ssnmf",
    programs: Sequence[int | str] | None = None,
    kind: str | None = None,
    max_intersections: int = MOST_INTERSECTIONS,
    ax: Axes | None = None,
) -> Axes:
    """Genes that the biclusters of the programs share.

    Parameters
    ----------
    adata
        Data with biclusters, from `genesieve.tl.biclusters`.
    key
        Name of the programs' slots.
    programs
        Programs to compare, by name or number; ``None`` compares all.
    kind
        ``"venn"``, for two or three programs; ``"upset"``, for any number, a bar for the genes that are in exactly the
        biclusters marked below it; ``None`` chooses by the number of programs.
    max_intersections
        The UpSet plot shows so many of the largest intersections, and says how many there are.
    ax
        Axes to draw into; ``None`` makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The circles, or the bars of the UpSet plot.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 50)
    >>> genes = gs.tl.biclusters(adata)
    >>> ax = gs.pl.overlap(adata, programs=[0, 1])
    """
    check_choice("kind", kind, ["venn", "upset", None])
    check_integer("max_intersections", max_intersections, 1)
    fit = read_programs(adata, key)
    chosen = pick_programs(programs, fit.names)
    if kind == "venn" and len(chosen) not in VENN_SIZES:
        raise ValueError(f"kind='venn' must have 2 or 3 programs, got {len(chosen)}; choose some with programs=")
    table = read_projection(adata, key).found("biclusters")
    genes = table["gene"].astype(str).groupby(table["program"]).agg(set)
    sets: Sets = {program: genes.get(program, set()) for program in chosen}
    if kind == "venn" or (kind is None and len(sets) in VENN_SIZES):
        return _venn(axes_or_new(ax, COLUMN, COLUMN * np.ptp(VENN_LIMITS[len(sets)]) / 3.5), fit, sets)
    return _upset(ax, fit, sets, max_intersections)


def exclusive_sizes(sets: Sets) -> Counter[tuple[int, ...]]:
    """How many genes are in exactly these sets, for every combination that has any."""
    members: dict[str, list[int]] = {}
    for name, genes in sets.items():
        for gene in genes:
            members.setdefault(gene, []).append(name)
    return Counter(tuple(names) for names in members.values())


# ------------------------------------------------------------------------------------------------ Venn


def _venn(ax: Axes, fit: Programs, sets: Sets) -> Axes:
    """Circles of the same size with the number of genes in every region."""
    sizes = exclusive_sizes(sets)
    angles = FIRST_ANGLE[len(sets)] - 2 * np.pi * np.arange(len(sets)) / len(sets)
    centres = dict(zip(sets, RING[len(sets)] * np.column_stack([np.cos(angles), np.sin(angles)]), strict=True))
    for program, centre in centres.items():
        ax.add_patch(Circle(tuple(centre), 1.0, color=fit.colors[program], alpha=OPACITY, linewidth=0))
        ax.add_patch(Circle(tuple(centre), 1.0, fill=False, edgecolor=FRAME, linewidth=0.6))
        _name_circle(ax, f"{fit.title(program)}\n{len(sets[program]):,} genes", centre)
    for region in _regions(list(sets)):
        x, y = _middle(region, centres)
        ax.text(x, y, f"{sizes[region]:,}", ha="center", va="center", fontsize=TEXT)
    ax.set(xlim=(-1.75, 1.75), ylim=VENN_LIMITS[len(sets)])
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _name_circle(ax: Axes, name: str, centre: np.ndarray) -> None:
    """A name outside its circle; long ones run outwards from the middle so that they do not meet."""
    x, y = np.round(centre, 6)
    above = y >= 0
    long_name = x != 0 and max(map(len, name.splitlines())) > SHORT_NAME
    place = x * 1.2 if not long_name else np.copysign(0.1, x)
    ha: Literal["left", "center", "right"] = "center" if not long_name else "left" if x > 0 else "right"
    va: Literal["top", "bottom"] = "bottom" if above else "top"
    ax.text(place, y + (1.06 if above else -1.06), name, ha=ha, va=va, fontsize=TEXT, parse_math=False)


def _regions(names: Sequence[int]) -> list[tuple[int, ...]]:
    return [region for size in range(1, len(names) + 1) for region in combinations(names, size)]


def _middle(region: tuple[int, ...], centres: dict[int, np.ndarray]) -> np.ndarray:
    """Where the number of a region goes."""
    direction = np.sum([centres[name] for name in region], axis=0)
    distance = REGION[len(centres), len(region)]
    return direction * distance / np.linalg.norm(direction) if distance else np.zeros(2)


# ------------------------------------------------------------------------------------------------ UpSet


def _upset(ax: Axes | None, fit: Programs, sets: Sets, most: int) -> Axes:
    """Bars of the exclusive intersections, above a matrix of the sets that they are in."""
    sizes = exclusive_sizes(sets)
    ranked = sorted(sizes.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
    width = np.clip(len(ranked[:most]) * ROW + SIZES + 1.5, COLUMN, PAGE)
    ax = axes_or_new(ax, float(width), BARS + ROW * len(sets) + 0.4)
    if not ranked:
        return say_nothing_to_show(ax, "the biclusters have no genes")
    regions = [region for region, _ in ranked[:most]]
    counts = [count for _, count in ranked[:most]]
    bars = ax.bar(range(len(counts)), counts, color=FRAME, width=0.65)
    ax.set_xticks([])
    ax.set_xlim(-0.6, len(counts) - 0.4)
    ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    label(ax.set_ylabel, "genes in exactly\nthese biclusters")
    open_frame(ax)
    matrix = _membership(ax, fit, sets, regions)
    _set_sizes(matrix, fit, sets)
    if len(ranked) > most:
        label(matrix.set_xlabel, f"{most} largest of {len(ranked)} intersections")
    if text_width([str(counts[0])]) * POINTS * len(counts) < size_in_points(ax)[0]:
        ax.bar_label(bars, fontsize=SMALL - 1, padding=1)
    return ax


def _membership(ax: Axes, fit: Programs, sets: Sets, regions: Sequence[tuple[int, ...]]) -> Axes:
    """The matrix of dots: which sets each intersection is in."""
    matrix = beside(ax, "bottom", ROW * len(sets), 0.06)
    row = {program: i for i, program in enumerate(sets)}
    columns, rows = np.meshgrid(np.arange(len(regions)), np.arange(len(sets)))
    matrix.scatter(columns, rows, s=DOT, color=PALE, linewidths=0)
    for column, region in enumerate(regions):
        at = [row[program] for program in region]
        matrix.plot([column, column], [min(at), max(at)], color=FRAME, linewidth=1.0, zorder=2)
        matrix.scatter([column] * len(at), at, s=DOT, color=FRAME, zorder=3, linewidths=0)
    matrix.set_xlim(ax.get_xlim())
    matrix.set_ylim(len(sets) - 0.5, -0.5)
    matrix.set_xticks([])
    matrix.set_yticks(range(len(sets)), [shorten(fit.names[p]) for p in sets], fontsize=SMALL, parse_math=False)
    matrix.tick_params(length=0)
    matrix.spines[:].set_visible(False)
    label(matrix.set_ylabel, "program")
    return matrix


def _set_sizes(matrix: Axes, fit: Programs, sets: Sets) -> None:
    """Bars at the right of the matrix: the size of every set."""
    bars_ax = beside(matrix, "right", SIZES, 0.05)
    sizes = [len(genes) for genes in sets.values()]
    bars = bars_ax.barh(range(len(sets)), sizes, color=[fit.colors[program] for program in sets], height=0.65)
    bars_ax.bar_label(bars, fontsize=SMALL - 1, padding=2)
    bars_ax.set_ylim(matrix.get_ylim())
    bars_ax.set_axis_off()
    bars_ax.set_title("genes", fontsize=SMALL, pad=2, loc="left")
