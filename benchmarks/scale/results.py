"""What tables, goals and plots ask of the records."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness.results import Record, Results

LEAST_SIZES = 4  # that a line goes through


def measured(results: Results, group: str, **wanted: Any) -> list[Record]:
    """Records of a group that hold a measurement and have these values, by their number of cells."""
    return sorted(results.measured(f"{group}/", **wanted), key=lambda record: record["cells"])


def median(records: list[Record], *fields: str) -> float:
    """The median over records of the sum of some fields; not a number where none has them."""
    known = [record for record in records if all(record[field] is not None for field in fields)]
    return statistics.median([sum(record[field] for field in fields) for record in known] or [float("nan")])


def total(record: Record) -> float:
    """Seconds of a whole job."""
    return record["open"] + record["prepare"] + record["fit"]


@dataclass(frozen=True)
class Line:
    """A least-squares line."""

    intercept: float
    slope: float
    cells: tuple[int, ...]  # of the sizes that it goes through

    def __call__(self, cells: float) -> float:
        return self.intercept + self.slope * cells

    def __str__(self) -> str:
        return f"the line through {len(self.cells)} sizes up to {max(self.cells):,} cells"


def line_through(records: list[Record], value: Any, target: int) -> Line | None:
    """The line through the sizes below a target, or where they are too few through all; ``None`` if those are, too."""
    below = [record for record in records if record["cells"] < target]
    chosen = below if len(below) >= LEAST_SIZES else records
    if len(chosen) < LEAST_SIZES:
        return None
    cells = [record["cells"] for record in chosen]
    slope, intercept = np.polyfit(cells, [value(record) for record in chosen], 1)
    return Line(float(intercept), float(slope), tuple(cells))


def resident_growth(record: Record) -> tuple[int, int, int, int]:
    """The first and the last of the passes that are compared, and the memory after each."""
    steps = record["steps"]
    second = next(step for step in steps if step["passes"] >= 2)
    return second["passes"], steps[-1]["passes"], second["resident"], steps[-1]["resident"]
