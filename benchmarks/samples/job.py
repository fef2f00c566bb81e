"""One draw of samples, and what is measured of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.harness.results import Record
from benchmarks.samples import between, shared
from benchmarks.samples.simulate import Design

DESIGNS = {
    "mild": Design(),
    "strong": Design(batch=0.5),
    "medium": Design(level="medium", n_cells=400),
}
RAISED = (0.15, 0.45)  # share of active cells in control and treated samples


def take(kind: str, what: str, seed: int, size: dict[str, Any]) -> Record:
    """What a job measures."""
    size = dict(size)
    budget, ranks = size.pop("budget", 600), tuple(size.pop("ranks", range(5, 12)))
    if kind == "shared":
        method, design = what.split(", ")
        return shared.measure(method, seed, replace(DESIGNS[design], **size), budget, ranks)
    permutations = size.pop("permutations", 100)
    design = replace(DESIGNS["mild"], n_samples=int(what), n_private=0, **size)
    if kind == "nothing":
        return between.nothing(seed, design, budget, permutations)
    return between.something(seed, replace(design, active=RAISED), budget)
