"""One pass over X against its two SciPy products, on the same blocks and threads, alternating."""

from __future__ import annotations

import statistics
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.harness.meter import available_threads
from benchmarks.harness.results import Record
from benchmarks.speed.races import races

DATA_SET = "atlas-20k"
ROUNDS, QUICK_ROUNDS = 15, 2
# A pass in the middle of a fit: from the H of one iteration, at the W of the next.
ITERATION = 3


def take(quick: bool) -> Record:
    """Median seconds of a pass and of its products, and of the ratio of neighbours."""
    from genesieve.core.cells.blocks import Blocks
    from genesieve.core.cells.sources import InMemory
    from genesieve.core.objective import Overlap, gram_of

    race, threads = races(quick)[DATA_SET], available_threads()
    X = race.load()
    source = InMemory(X, n_jobs=threads)
    blocks = Blocks(source)
    (H, _), (next_H, W) = (_factors(X, race.rank, threads, count) for count in (ITERATION, ITERATION + 1))
    step = Overlap().cell_step(gram_of(W))

    def products() -> None:
        work = source.each(lambda block, H_b: (block @ W, block.T @ H_b), next_H)
        deque(work, maxlen=0)

    works = {"pass": lambda: blocks.sweep(W, H, step), "products": products}
    _time_all(works)  # nothing is compiled or paged in later
    rounds = [_time_all(works) for _ in range(QUICK_ROUNDS if quick else ROUNDS)]
    medians = {name: statistics.median(each[name] for each in rounds) for name in works}
    ratio = statistics.median(each["pass"] / each["products"] for each in rounds)
    return {**medians, "ratio": ratio, "values": int(X.nnz), "rank": race.rank, "dtype": str(X.dtype)}


def _factors(X: Any, rank: int, threads: int, max_iter: int) -> tuple[np.ndarray, np.ndarray]:
    """H and W, as the solver holds them, after some iterations."""
    from genesieve import SSNMF

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is the point
        model = SSNMF(rank, max_iter=max_iter, tol=0.0, gauge=None, n_jobs=threads, random_state=0)
        H = model.fit_transform(X)
    return H, np.ascontiguousarray(model.components_.T)


def _time_all(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    seconds = {}
    for name, work in works.items():
        began = time.perf_counter()
        work()
        seconds[name] = time.perf_counter() - began
    return seconds
