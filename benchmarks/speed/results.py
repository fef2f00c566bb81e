"""What tables, goals and plots ask of the record of a race."""

from __future__ import annotations

from benchmarks.harness.results import Record
from benchmarks.speed.protocol import Curve


def runs(record: Record) -> list[str]:
    """Names of a peer's runs, in order."""
    return list(dict.fromkeys(point["run"] for point in record["points"]))


def points(record: Record, run: str) -> list[Record]:
    """The points of one run."""
    return [point for point in record["points"] if point["run"] == run]


def curve(record: Record, run: str) -> Curve:
    """Seconds and objective along one run: what the peer told, and what was scored."""
    told = [(seconds, objective) for point in points(record, run) for seconds, objective in point["history"]]
    return sorted(told + [(point["seconds"], point["objective"]) for point in points(record, run)])


def time_to(course: Curve, target: float) -> float | None:
    """Seconds until the objective is no higher than the target; ``None`` if it never is."""
    return next((seconds for seconds, objective in course if objective <= target), None)


def best(record: Record, run: str) -> float:
    """The lowest objective of a run."""
    return min(objective for _, objective in curve(record, run))


def default_runs(record: Record) -> list[Record]:
    """The end points of our fits with default settings."""
    return [point for point in record["points"] if point["run"].startswith("default")]
