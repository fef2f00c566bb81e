"""Monotone accelerated PALM, the paper's Alg. 2 and 3, on genesieve's blocked products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.peers import package_versions
from benchmarks.peers.ours import PAPER_ITERATIONS, from_nmf_start
from benchmarks.protocol import Point, Task

TITLE = "maPALM l20"
MODEL = "l20"


def missing() -> None:
    """It comes with genesieve."""


def versions() -> dict[str, str]:
    return package_versions("genesieve")


def run(X: Any, task: Task) -> Iterator[Point]:
    """One course from the shared NMF start."""
    yield from from_nmf_start(X, task, solver="mapalm", max_iter=PAPER_ITERATIONS)
