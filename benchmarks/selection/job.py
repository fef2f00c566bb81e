"""One draw with known programs, or one labelled data set."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.results import Record
from benchmarks.selection import planted, real


def take(kind: str, what: str, seed: int, shape: list[int], size: dict[str, Any]) -> Record:
    """What a job measures."""
    if kind == "real":
        return real.measure(what, seed)
    about = (what, shape[0], shape[1], seed, size)
    return planted.ours(*about) if kind == "planted" else planted.of_peer(kind, *about)
