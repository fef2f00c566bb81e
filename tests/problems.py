"""Small problems that the tests of all solvers share, and the first law: the objective never rises."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from genesieve.core.cells.blocks import Blocks
from genesieve.core.constraints import ColumnSparse, EntrySparse, NonNegative, RowSparse
from genesieve.core.objective import Overlap
from genesieve.core.solvers import Factors, Problem

N_CELLS, N_GENES, RANK = 25, 18, 3
CONSTRAINTS = [NonNegative(), RowSparse(7), ColumnSparse(5), EntrySparse(16)]
seeds = st.integers(0, 2**32 - 1)


def make(seed: int) -> tuple[np.ndarray, Factors]:
    rng = np.random.default_rng(seed)
    X = rng.random((N_CELLS, RANK)) ** 3 @ rng.random((RANK, N_GENES)) ** 3 + 0.1 * rng.random((N_CELLS, N_GENES))
    X[rng.random(X.shape) < 0.3] = 0
    return X, Factors(rng.random((N_CELLS, RANK)), rng.random((N_GENES, RANK)))


def solve(solver, X, start, constraint=CONSTRAINTS[1], penalty=None, *, max_iter=40, tol=0.0, **options):
    problem = Problem(Blocks(X), constraint, penalty or Overlap(), max_iter=max_iter, tol=tol)
    return solver(problem, start, **options)


def best_rows(X, baseline, n_genes=7):
    """A budget of genes that have to beat a baseline of their own."""
    return RowSparse(n_genes, baseline_gains=Blocks(X, baseline=baseline).baseline_gains)


def objectives(result):
    return np.array([step.objective for step in result.history])


def assert_monotone(result, X):
    assert (np.diff(objectives(result)) <= 1e-9 * np.vdot(X, X)).all()
