"""Growth with the number of cells: default fits at several sizes, the first size once more at the end."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from benchmarks.harness import atlas
from benchmarks.harness.results import Record
from benchmarks.speed.peers.ours import fit
from benchmarks.speed.protocol import Task
from benchmarks.speed.races import races
from benchmarks.speed.score import nbytes, scored

DATA_SET = "atlas-20k"
CELLS, QUICK_CELLS = (20_000, 100_000, 400_000, 20_000), (2200, 2400)
GENES, QUICK_GENES = 15_000, 300
SEED = 0
WARM_UP_CELLS = 300


def take(quick: bool) -> Record:
    """Every fit's size, seconds, passes, objective and peak memory."""
    warnings.simplefilter("ignore")
    task = races(quick)[DATA_SET].task()
    n_genes = QUICK_GENES if quick else GENES
    _fits(atlas.load(WARM_UP_CELLS, n_genes), task)  # nothing is compiled later
    fits = []
    for n_cells in QUICK_CELLS if quick else CELLS:
        print(f"  {n_cells:,} cells", file=sys.stderr, flush=True)
        fits += _fits(atlas.load(n_cells, n_genes), task)
    return {"fits": fits}


def _fits(X: Any, task: Task) -> list[Record]:
    """Plain NMF and NMF_l20 with default settings."""
    about = {"cells": X.shape[0], "input": nbytes(X)}
    budgets = {"nmf": None, "l20": task.n_genes}
    fits = {model: scored(X, fit(X, task, run=model, seed=SEED, n_genes=n)) for model, n in budgets.items()}
    return [{"model": model, **about, **found} for model, found in fits.items()]
