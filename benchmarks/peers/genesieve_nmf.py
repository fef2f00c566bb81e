"""genesieve, plain NMF: long courses from several seeds, and the same fits as they come by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.peers import package_versions
from benchmarks.peers.ours import LONG_ITERATIONS, fit
from benchmarks.protocol import Point, Task

TITLE = "genesieve"
MODEL = "nmf"


def missing() -> None:
    """It is what is measured."""


def versions() -> dict[str, str]:
    return package_versions("genesieve", "numpy", "scipy", "numba")


def run(X: Any, task: Task) -> Iterator[Point]:
    """A course without end and the default fit, of every seed."""
    iterations = min(LONG_ITERATIONS, task.max_iterations)
    for seed in task.seeds:
        yield fit(X, task, run=f"seed {seed}", seed=seed, tol=0.0, max_iter=iterations)
        yield fit(X, task, run=f"default, seed {seed}", seed=seed)
