"""nmf-torch, batch mode with its default algorithm (halsvar), on a dense copy of the data, which it needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.peers import missing_module, package_versions
from benchmarks.protocol import Point, Task
from benchmarks.score import Meter

TITLE = "nmf-torch"
MODEL = "nmf"
ITERATIONS = (10, 40)


def missing() -> str | None:
    return missing_module("nmf", "nmf-torch")


def versions() -> dict[str, str]:
    return package_versions("nmf-torch", "torch")


def run(X: Any, task: Task) -> Iterator[Point]:
    """Runs of growing length from the same seed."""
    from nmf import run_nmf

    options = {"mode": "batch", "algo": "halsvar", "tol": 0.0, "n_jobs": task.threads, "random_state": 0}
    for iterations in task.looks(ITERATIONS):
        with Meter() as meter:
            dense = X.toarray() if sparse.issparse(X) else X
            H, W, _ = run_nmf(dense, task.rank, batch_max_iter=iterations, **options)
        yield Point("batch", meter.seconds, np.asarray(H), np.asarray(W).T, iterations, meter.peak)
