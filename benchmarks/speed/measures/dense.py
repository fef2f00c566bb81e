"""NMF_l20 on dense Pollen to convergence: exact blocks from a random start against palm from the NMF start."""

from __future__ import annotations

import statistics
import warnings
from typing import Any

from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Record
from benchmarks.speed.peers.ours import fit
from benchmarks.speed.protocol import Point, Task
from benchmarks.speed.races import RACES
from benchmarks.speed.results import time_to
from benchmarks.speed.score import objective

DATA_SET = "pollen"
ROUNDS = 5
# PALM's default tolerance is the paper's (1e-3). A finer one, of the first seed, shows where it goes if left to run.
FINE = {"tol": 1e-6, "max_iter": 1000}
PALM: dict[str, Any] = {"solver": "palm", "init": "nmf"}
OURS: dict[str, Any] = {"init": "random"}
WARM_UP_CELLS = 50


def take(quick: bool) -> Record:
    """Seconds (median), objective and iterations of each run of every seed, alternating."""
    if quick:
        raise Missing("not part of --quick")
    warnings.simplefilter("ignore")  # palm may stop at its last iteration; the table says how many there were
    X, task = RACES[DATA_SET].load(), RACES[DATA_SET].task()
    runs = {"genesieve": OURS, "palm": PALM}
    _round(X[:WARM_UP_CELLS], task, runs, seed=0)  # nothing is compiled later
    rounds = [_round(X, task, runs, seed) for seed in range(ROUNDS)]
    fine = _round(X, task, {"palm, fine": PALM | FINE}, seed=0)
    record = {name: _summary(X, [each[name] for each in rounds]) for name in runs}
    record |= {name: _summary(X, [point]) for name, point in fine.items()}
    return record | {"to palm's end": [_time_to_end(X, each["genesieve"], each["palm"]) for each in rounds]}


def _round(X: Any, task: Task, runs: dict[str, dict[str, Any]], seed: int) -> dict[str, Point]:
    return {name: fit(X, task, run=name, seed=seed, n_genes=task.n_genes, **options) for name, options in runs.items()}


def _summary(X: Any, points: list[Point]) -> Record:
    return {
        "seconds": statistics.median(point.seconds for point in points),
        "objectives": [objective(X, point.H, point.W) for point in points],
        "iterations": [point.iterations for point in points],
    }


def _time_to_end(X: Any, ours: Point, palm: Point) -> float | None:
    """Seconds until our run is no higher than palm's end."""
    return time_to(ours.history, objective(X, palm.H, palm.W))
