"""genesieve with a gene budget (NMF_l20): a long course from the NMF start of palm, and the fits as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.peers import package_versions
from benchmarks.peers.ours import LONG_ITERATIONS, fit, from_nmf_start
from benchmarks.protocol import Point, Task

TITLE = "genesieve l20"
MODEL = "l20"


def missing() -> None:
    """It is what is measured."""


def versions() -> dict[str, str]:
    return package_versions("genesieve", "numpy", "scipy", "numba")


def run(X: Any, task: Task) -> Iterator[Point]:
    """A course without end from the shared start, and the default fit of every seed."""
    yield from from_nmf_start(X, task, solver="bcd", max_iter=LONG_ITERATIONS)
    for seed in task.seeds:
        yield fit(X, task, run=f"default, seed {seed}", seed=seed, n_genes=task.n_genes)
