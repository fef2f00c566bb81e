"""One draw of samples, or one way of labelling the stimulated and control cells."""

from __future__ import annotations

from typing import Any

from benchmarks.batches import interferon, kang, planted
from benchmarks.harness.results import Record


def take(kind: str, what: str, effect: float, seed: int, size: dict[str, Any]) -> Record:
    """What a job measures."""
    if kind == "planted":
        return planted.measure(what, effect, seed, size)
    return {"kang": kang.measure, "interferon": interferon.measure}[kind](what, seed)
