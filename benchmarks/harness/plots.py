"""One style for all pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

# Okabe and Ito's colours, which most colour-blind readers tell apart; markers differ as well.
BLUE, VERMILION, GREEN, ORANGE, PURPLE, BLACK = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#000000"
LOOKS = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (ORANGE, "D"), (PURPLE, "v"))  # ours first
DPI = 120


@contextmanager
def picture(path: Path, *shape: int, size: tuple[float, float], **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes, saved in the end."""
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", **options)
    yield figure, axes
    for each in figure.axes:
        each.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def legend(axes: Axes, **options: Any) -> None:
    axes.legend(frameon=False, **options)


def draw_all(folder: Path, draws: Mapping[str, Callable[[Path], bool]]) -> list[str]:
    """Draw what there is to draw; the names of the pictures."""
    return [name for name, draw in draws.items() if draw(folder / name)]
