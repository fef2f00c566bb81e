"""genesieve, and the paper's solvers on its blocked products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness.meter import Meter
from benchmarks.speed.protocol import Curve, Point, Task

# The paper's algorithms run so many iterations, as the goal for them says.
PAPER_ITERATIONS = 100
# A long course of exact blocks: they have settled well before.
LONG_ITERATIONS = 60


def fit(X: Any, task: Task, *, run: str, seed: int = 0, start_seconds: float = 0.0, **options: Any) -> Point:
    """One fit and its course, with the seconds of a start made elsewhere added."""
    from genesieve import SSNMF

    course: Curve = []
    with Meter() as meter:
        model = SSNMF(
            task.rank,
            n_jobs=task.threads,
            orthogonality=0.0,  # the objective that the peers lower, too
            gene_weights=None,
            baseline="zero",
            random_state=seed,
            callback=lambda step: course.append((start_seconds + meter.elapsed(), step.objective)),
            **options,
        )
        H = model.fit_transform(X)
    told: dict[str, Any] = {"passes": model.n_passes_, "start_seconds": start_seconds, "history": course}
    return Point(run, start_seconds + meter.seconds, H, model.components_.T, model.n_iter_, meter.peak, **told)


def plain(X: Any, task: Task) -> Iterator[Point]:
    """Plain NMF: a course without end and the fit as it comes by default, of every seed."""
    iterations = min(LONG_ITERATIONS, task.max_iterations)
    for seed in task.seeds:
        yield fit(X, task, run=f"seed {seed}", seed=seed, tol=0.0, max_iter=iterations)
        yield fit(X, task, run=f"default, seed {seed}", seed=seed)


def selecting(X: Any, task: Task) -> Iterator[Point]:
    """With a gene budget: a course without end from the NMF start of palm, and the default fit of every seed."""
    yield from from_nmf_start(X, task, solver="bcd", max_iter=LONG_ITERATIONS)
    for seed in task.seeds:
        yield fit(X, task, run=f"default, seed {seed}", seed=seed, n_genes=task.n_genes)


def from_nmf_start(X: Any, task: Task, *, solver: str, max_iter: int) -> Iterator[Point]:
    """A long fit with a gene budget from the NMF start of seed 0, the same for every solver."""
    from genesieve.core.cells.blocks import Blocks
    from genesieve.core.starts import nmf

    with Meter() as meter:
        start = nmf(Blocks(X, n_jobs=task.threads), task.rank, np.random.default_rng(0))
    options: dict[str, Any] = {"n_genes": task.n_genes, "solver": solver, "init": tuple(start), "tol": 0.0}
    iterations = min(max_iter, task.max_iterations)
    yield fit(X, task, run="same start", start_seconds=meter.seconds, max_iter=iterations, **options)
