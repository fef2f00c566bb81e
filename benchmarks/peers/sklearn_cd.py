"""scikit-learn's NMF by coordinate descent, from its default start (nndsvda), continued from look to look.

Continuing from its own factors gives the iterates of one long run. A look costs scikit-learn one more product for its
reconstruction error, which is left in its time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from benchmarks.peers import missing_module, package_versions
from benchmarks.protocol import Point, Task
from benchmarks.score import Meter

TITLE = "scikit-learn NMF (cd)"
MODEL = "nmf"
ITERATIONS = (10, 20, 30, 40, 60, 80, 100, 150, 200)


def missing() -> str | None:
    return missing_module("sklearn", "scikit-learn")


def versions() -> dict[str, str]:
    return package_versions("scikit-learn")


def run(X: Any, task: Task) -> Iterator[Point]:
    """One run, looked at now and then."""
    from sklearn.decomposition import NMF

    warnings.simplefilter("ignore")  # that it has not converged is the point
    seconds, peak, done, start = 0.0, 0, 0, {}
    for iterations in task.looks(ITERATIONS):
        with Meter() as meter:
            init = "custom" if start else None
            model = NMF(task.rank, init=init, solver="cd", tol=0.0, max_iter=iterations - done, random_state=0)
            H = model.fit_transform(X, **start)
        seconds, peak, done = seconds + meter.seconds, max(peak, meter.peak or 0), iterations
        start = {"W": H, "H": model.components_}
        yield Point("cd", seconds, H, model.components_.T, iterations, peak or None)
