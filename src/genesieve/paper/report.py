"""Tables as Markdown and CSV, figures as PNG: what an experiment leaves in the output folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from genesieve.paper.harness import Done
from genesieve.paper.printed import Score
from genesieve.pl._style import SMALL, open_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESOLUTION = 200  # dots an inch
BLANK = ""  # what the paper does not print, or what cannot be run


@dataclass(frozen=True)
class Section:
    """A figure or table of the paper, redone."""

    name: str
    title: str
    body: str  # Markdown
    figures: Mapping[str, Figure] = field(default_factory=dict)  # by file name without ending
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


def write(section: Section, folder: Path) -> Path:
    """Write the section into the folder; the path of its Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in section.figures.items():
        figure.savefig(folder / f"{name}.png", dpi=RESOLUTION, metadata={"Software": None})
        plt.close(figure)
    for name, table in section.tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g")
    pictures = "".join(f"\n![{section.title}]({name}.png)\n" for name in section.figures)
    path = folder / f"{section.name}.md"
    path.write_text(f"## {section.title}\n{pictures}\n{section.body.strip()}\n", encoding="utf-8")
    return path


def dress(ax: Axes) -> None:
    """Small ticks and an open frame, as the library's own plots have."""
    ax.tick_params(labelsize=SMALL, length=2.5, width=0.6)
    open_frame(ax)


def markdown(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; the first column is text, the others are numbers."""
    lines = [headings, ["---"] + ["---:"] * (len(headings) - 1), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def show(score: Score | None, digits: int = 4) -> str:
    """Mean ± sd, a blank for what there is none of."""
    if score is None:
        return BLANK
    if score.sd != score.sd:  # one start has no spread
        return f"{score.mean:.{digits}f}"
    return f"{score.mean:.{digits}f} ± {score.sd:.{digits}f}"


def percent(score: Score | None) -> Score | None:
    """A score in per cent."""
    return None if score is None else Score(100 * score.mean, 100 * score.sd)


def distance(ours: Score | None, printed: Score | None) -> str:
    """Difference of the means in units of the printed sd."""
    if ours is None or printed is None:
        return BLANK
    return f"{(ours.mean - printed.mean) / printed.sd:+.1f}"


def long_table(done: Iterable[Done]) -> pd.DataFrame:
    """One row a task: what was run, its scores and its seconds."""
    return pd.DataFrame(
        [
            {"way": task.work.__name__, "data": task.data, "method": task.method, "start": task.start}
            | {name: value for name, value in task.options.items() if name != "defaults"}
            | {name: value for name, value in result.items() if name != "stages"}
            | {"seconds": round(seconds, 3)}
            for task, result, seconds in done
        ]
    )
