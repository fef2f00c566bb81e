"""The records of finished jobs, and the questions that tables and plots ask of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.protocol import Curve


@dataclass(frozen=True)
class Results:
    """Records by job name."""

    records: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> Results:
        """All records of a folder."""
        found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        return cls({record["job"]: record for record in found})

    def get(self, job: str) -> dict[str, Any] | None:
        """A record that holds a measurement."""
        record = self.records.get(job)
        return None if record is None or why_not(record) else record

    def why_not(self, *jobs: str) -> str | None:
        """Why one of the jobs holds no measurement, if so."""
        reasons = {job: why_not(self.records[job]) if job in self.records else "not run" for job in jobs}
        told = [f"{job}: {reason}" for job, reason in reasons.items() if reason]
        return "; ".join(told) or None


def why_not(record: dict[str, Any]) -> str | None:
    """Why a record holds no measurement, if so."""
    if record.get("failed"):
        return f"failed ({record['failed']})"
    return record.get("skipped")


def runs(record: dict[str, Any]) -> list[str]:
    """Names of a peer's runs, in order."""
    return list(dict.fromkeys(point["run"] for point in record["points"]))


def points(record: dict[str, Any], run: str) -> list[dict[str, Any]]:
    """The points of one run."""
    return [point for point in record["points"] if point["run"] == run]


def curve(record: dict[str, Any], run: str) -> Curve:
    """Seconds and objective along one run: what the peer told, and what was scored."""
    told = [tuple(pair) for point in points(record, run) for pair in point["history"]]
    return sorted(told + [(point["seconds"], point["objective"]) for point in points(record, run)])


def time_to(course: Curve, target: float) -> float | None:
    """Seconds until the objective is no higher than the target; ``None`` if it never is."""
    return next((seconds for seconds, objective in course if objective <= target), None)


def best(record: dict[str, Any], run: str) -> float:
    """The lowest objective of a run."""
    return min(objective for _, objective in curve(record, run))


def default_runs(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The end points of our fits with default settings."""
    return [point for point in record["points"] if point["run"].startswith("default")]
