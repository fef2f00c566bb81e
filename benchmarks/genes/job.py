"""One draw with known programs, or one real data set."""

from __future__ import annotations

from typing import Any

from benchmarks.genes import planted, terms
from benchmarks.harness.results import Record


def take(kind: str, what: str, seed: int, size: dict[str, Any]) -> Record:
    """What a job measures."""
    return terms.measure(what, seed) if kind == "real" else planted.measure(what, seed, size)
