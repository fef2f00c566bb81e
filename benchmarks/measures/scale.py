"""Growth with the number of cells: default fits at several sizes, the first size once more at the end."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from benchmarks.data import DATA, QUICK_DATA, atlas
from benchmarks.peers.ours import fit
from benchmarks.protocol import Task
from benchmarks.score import nbytes, objective

TITLE = "growth with the number of cells"
DATA_SET = "atlas-20k"
CELLS, QUICK_CELLS = (20_000, 100_000, 400_000, 20_000), (2200, 2400)
SEED = 0
WARM_UP_CELLS = 300


def missing() -> None:
    """The data is simulated."""


def take(quick: bool, threads: int) -> dict[str, Any]:
    """Every fit's size, seconds, passes, objective and peak memory."""
    warnings.simplefilter("ignore")
    task = (QUICK_DATA if quick else DATA)[DATA_SET].task(threads)
    n_genes = QUICK_DATA[DATA_SET].load().shape[1] if quick else 15_000
    _fits(atlas.load(WARM_UP_CELLS, n_genes), task)  # nothing is compiled later
    fits = []
    for n_cells in QUICK_CELLS if quick else CELLS:
        print(f"  {n_cells:,} cells", file=sys.stderr, flush=True)
        fits += _fits(atlas.load(n_cells, n_genes), task)
    return {"fits": fits}


def _fits(X: Any, task: Task) -> list[dict[str, Any]]:
    """Plain NMF and NMF_l20 with default settings."""
    return [_record(X, task, model, n_genes) for model, n_genes in (("nmf", None), ("l20", task.n_genes))]


def _record(X: Any, task: Task, model: str, n_genes: int | None) -> dict[str, Any]:
    point = fit(X, task, run=model, seed=SEED, n_genes=n_genes)
    return {
        "model": model,
        "cells": X.shape[0],
        "seconds": point.seconds,
        "passes": point.passes,
        "iterations": point.iterations,
        "objective": objective(X, point.H, point.W),
        "peak": point.peak,
        "input": nbytes(X),
        "factors": point.H.nbytes + point.W.nbytes,
    }
