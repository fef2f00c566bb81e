"""Peers in Python. They run with tolerance 0 for so many iterations, from the first seed of the task."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.meter import Meter
from benchmarks.speed.protocol import Point, Task

ITERATIONS = (10, 20, 30, 40, 60, 80, 100, 150, 200)
PASSES = (1, 3, 10)
TORCH_ITERATIONS = (10, 40)


def coordinate_descent(X: Any, task: Task, iterations: tuple[int, ...] = ITERATIONS) -> Iterator[Point]:
    """scikit-learn's NMF by coordinate descent, from its default start (nndsvda), continued from look to look.

    Continuing from its own factors gives the iterates of one long run. A look costs scikit-learn one more product for
    its reconstruction error, which is left in its time.
    """
    from sklearn.decomposition import NMF

    warnings.simplefilter("ignore")  # that it has not converged is the point
    seconds, cpu, peak, done, seed = 0.0, 0.0, 0, 0, task.seeds[0]
    start: dict[str, np.ndarray] = {}
    for look in task.looks(iterations):
        with Meter() as meter:
            init = "custom" if start else None
            model = NMF(task.rank, init=init, solver="cd", tol=0.0, max_iter=look - done, random_state=seed)
            H = model.fit_transform(X, **start)
        seconds, cpu = seconds + meter.seconds, cpu + meter.cpu
        peak, done = max(peak, meter.peak or 0), look
        start = {"W": H, "H": model.components_}
        yield Point("cd", seconds, H, model.components_.T, look, peak or None, cpu=cpu)


def mini_batch(X: Any, task: Task) -> Iterator[Point]:
    """scikit-learn's MiniBatchNMF, one run for every number of passes; its time includes the usages of all cells."""
    from sklearn.decomposition import MiniBatchNMF

    warnings.simplefilter("ignore")
    for passes in task.looks(PASSES):
        with Meter() as meter:
            model = MiniBatchNMF(task.rank, tol=0.0, max_no_improvement=None, max_iter=passes, random_state=0)
            H = model.fit_transform(X)
        yield Point("mini-batch", meter.seconds, H, model.components_.T, passes, meter.peak, passes=passes)


def nmf_torch(X: Any, task: Task) -> Iterator[Point]:
    """nmf-torch, batch mode with its default algorithm (halsvar), on a dense copy of the data, which it needs."""
    from nmf import run_nmf  # type: ignore[import-not-found]

    options = {"mode": "batch", "algo": "halsvar", "tol": 0.0, "n_jobs": task.threads, "random_state": 0}
    for iterations in task.looks(TORCH_ITERATIONS):
        with Meter() as meter:
            dense = X.toarray() if sparse.issparse(X) else X
            H, W, _ = run_nmf(dense, task.rank, batch_max_iter=iterations, **options)
        yield Point("batch", meter.seconds, np.asarray(H), np.asarray(W).T, iterations, meter.peak)
