"""One draw with known programs, or one real data set: its gene scores, or the genes that a selector picks."""

from __future__ import annotations

from typing import Any

from benchmarks.genes import planted, selected, terms
from benchmarks.harness.results import Record


def take(kind: str, what: str, seed: int, size: dict[str, Any], selector: str = "") -> Record:
    """What a job measures."""
    if kind == "selected":
        return selected.on_planted(what, selector, seed, size)
    if kind == "labelled":
        return selected.on_labelled(what, selector, seed)
    return terms.measure(what, seed) if kind == "real" else planted.measure(what, seed, size)
