"""scikit-learn's MiniBatchNMF, one run for every number of passes; its time includes the usages of all cells."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from benchmarks.peers import missing_module, package_versions
from benchmarks.protocol import Point, Task
from benchmarks.score import Meter

TITLE = "scikit-learn MiniBatchNMF"
MODEL = "nmf"
PASSES = (1, 3, 10)


def missing() -> str | None:
    return missing_module("sklearn", "scikit-learn")


def versions() -> dict[str, str]:
    return package_versions("scikit-learn")


def run(X: Any, task: Task) -> Iterator[Point]:
    """Runs of growing length from the same seed."""
    from sklearn.decomposition import MiniBatchNMF

    warnings.simplefilter("ignore")  # that it has not converged is the point
    for passes in task.looks(PASSES):
        with Meter() as meter:
            model = MiniBatchNMF(task.rank, tol=0.0, max_no_improvement=None, max_iter=passes, random_state=0)
            H = model.fit_transform(X)
        yield Point("mini-batch", meter.seconds, H, model.components_.T, passes, meter.peak, passes=passes)
