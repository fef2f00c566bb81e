"""What tables, goals and plots ask of the records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.harness import results
from benchmarks.harness.results import Record, why_not
from benchmarks.quality.data import GOAL_SETS
from benchmarks.quality.score import stability


@dataclass(frozen=True)
class Results(results.Results):
    """Records by data set, method and seed."""

    def runs(self, data: str, method: str) -> list[Record]:
        """Records that hold a measurement, by seed."""
        return sorted(self.measured(f"{data}/{method}/"), key=lambda record: record["seed"])

    def why_not(self, method: str) -> str | None:
        """Why a method has a set without a measurement, if it was tried there."""
        tried = [record for record in self.records.values() if record["method"] == method and why_not(record)]
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
        judged = {
            (record["data"], count["k"]) for record in self.records.values() for count in record.get("counts", [])
        }
        return [data for data in GOAL_SETS if (data, k) in judged]

    def genes_over_sets(self, selector: str, k: int, field: str) -> float | None:
        """Mean over those sets, if the selector was judged on all of them."""
        return mean_of([self.genes(data, selector, k, field) for data in self.genes_sets(k)])


def mean_of(values: list[float | None]) -> float | None:
    """The mean, if every value is there."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
