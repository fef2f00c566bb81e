"""The records of finished runs, and the questions that tables, goals and plots ask of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.data import GOAL_SETS
from benchmarks.quality.score import stability
from benchmarks.results import why_not

Record = dict[str, Any]


def path_of(records: Path, data: str, method: str, seed: int) -> Path:
    """Where the record of a run is."""
    return records / f"{data}--{method}--{seed}.json"


@dataclass(frozen=True)
class Results:
    """All records."""

    records: list[Record]

    @classmethod
    def read(cls, folder: Path) -> Results:
        """All records of a folder."""
        return cls([json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))])

    def runs(self, data: str, method: str) -> list[Record]:
        """Records that hold a measurement, by seed."""
        found = [record for record in self.records if (record["data"], record["method"]) == (data, method)]
        return sorted((record for record in found if not why_not(record)), key=lambda record: record["seed"])

    def why_not(self, method: str) -> str | None:
        """Why a method has a set without a measurement, if it was tried there."""
        tried = [record for record in self.records if record["method"] == method and why_not(record)]
        reasons = {str(why_not(record)): record["data"] for record in tried}
        return "; ".join(f"{data}: {reason}" for reason, data in reasons.items()) or None

    def mean(self, data: str, method: str, field: str = "nmi") -> float | None:
        """Mean over seeds on a set."""
        values = [record[field] for record in self.runs(data, method)]
        return float(np.mean(values)) if values else None

    def spread(self, data: str, method: str, field: str = "nmi") -> float | None:
        """Standard deviation over seeds on a set."""
        values = [record[field] for record in self.runs(data, method)]
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def over_sets(self, sets: tuple[str, ...], method: str, field: str = "nmi") -> float | None:
        """Mean over sets of the mean over seeds, where every set was measured: means of other sets compare nothing."""
        return mean_of([self.mean(data, method, field) for data in sets])

    def stability(self, data: str, method: str) -> float | None:
        """Agreement of the seeds with each other."""
        return stability([np.array(record["labels"]) for record in self.runs(data, method)])

    def genes(self, data: str, selector: str, k: int, field: str) -> float | None:
        """Mean over seeds of what k genes keep on a set."""
        found = [count[field] for record in self.runs(data, selector) for count in record["counts"] if count["k"] == k]
        return float(np.mean(found)) if found else None

    def genes_sets(self, k: int) -> list[str]:
        """Sets of the goals with more than k genes, where any selection was judged."""
        judged = {(record["data"], count["k"]) for record in self.records for count in record.get("counts", [])}
        return [data for data in GOAL_SETS if (data, k) in judged]

    def genes_over_sets(self, selector: str, k: int, field: str) -> float | None:
        """Mean over those sets, if the selector was judged on all of them."""
        return mean_of([self.genes(data, selector, k, field) for data in self.genes_sets(k)])


def mean_of(values: list[float | None]) -> float | None:
    """The mean, if every value is there."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
