from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from genesieve.core.cells.blocks import FROM_ZERO, Blocks, Sweep
from genesieve.core.constraints import NonNegative
from genesieve.core.objective import Overlap
from genesieve.core.solvers import SOLVERS, Factors, Problem, bcd, mapalm, palm
from genesieve.core.solvers.run import State
from problems import CONSTRAINTS, N_CELLS, N_GENES, make, seeds, solve


@pytest.mark.parametrize("solver", [palm, mapalm, bcd])
@given(seed=seeds)
def test_the_objective_is_what_it_says(solver, seed):
    X, start = make(seed)
    result = solve(solver, X, start, penalty=Overlap(0.2), max_iter=5)
    H, W = result.factors
    residual = np.linalg.norm(X - H @ W.T) ** 2
    assert result.squared_residual == pytest.approx(residual, abs=1e-9 * np.vdot(X, X))
    penalty = 0.1 * sum(h.sum() ** 2 - (h**2).sum() for h in H)
    assert result.objective == pytest.approx(residual / 2 + penalty, abs=1e-9 * np.vdot(X, X))


@pytest.mark.parametrize("solver", [palm, mapalm, bcd])
@given(seed=seeds)
def test_independent_of_the_order_of_cells(solver, seed):
    X, start = make(seed)
    order = np.random.default_rng(seed).permutation(N_CELLS)
    plain = solve(solver, X, start, max_iter=10)
    moved = solve(solver, X[order], Factors(start.H[order], start.W), max_iter=10)
    np.testing.assert_allclose(moved.factors.H, plain.factors.H[order], atol=1e-6)
    np.testing.assert_allclose(moved.factors.W, plain.factors.W, atol=1e-6)


@pytest.mark.parametrize("solver", [palm, mapalm, bcd])
@pytest.mark.parametrize("storage", [sparse.csr_matrix, sparse.csc_array])
def test_independent_of_storage(solver, storage):
    X, start = make(0)
    dense, other = solve(solver, X, start), solve(solver, storage(X), start)
    assert other.objective == pytest.approx(dense.objective, rel=1e-9)
    np.testing.assert_allclose(other.factors.W, dense.factors.W, atol=1e-6)


@pytest.mark.parametrize("solver", [palm, mapalm, bcd])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_all_zero_data_is_an_ordinary_input(solver, constraint):
    _, start = make(0)
    result = solve(solver, np.zeros((N_CELLS, N_GENES)), start, constraint)
    assert np.isfinite(result.factors.H).all()
    assert np.isfinite(result.factors.W).all()
    assert result.objective == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("solver", [palm, mapalm, bcd])
def test_zero_start_gives_no_nan(solver):
    X, start = make(0)
    result = solve(solver, X, Factors(0 * start.H, 0 * start.W))
    assert np.isfinite(result.objective)


@pytest.mark.parametrize("solver", [palm, mapalm, bcd])
def test_exact_data_is_fitted_exactly(solver):
    rng = np.random.default_rng(0)
    X = np.kron(np.eye(3), np.ones((8, 6))) * rng.uniform(1, 2, (24, 1))
    start = Factors(rng.random((24, 3)), rng.random((18, 3)))
    result = solve(solver, X, start, NonNegative(), max_iter=500)
    assert result.squared_residual <= 1e-4 * np.vdot(X, X)


def test_what_is_next_to_nothing_is_not_chased():
    rng = np.random.default_rng(0)
    X = rng.random((N_CELLS, 6)) @ rng.random((6, N_GENES))  # fitted next to exactly, ever more slowly
    start = Factors(rng.random((N_CELLS, 6)), rng.random((N_GENES, 6)))
    result = solve(bcd, X, start, NonNegative(), max_iter=2000, tol=1e-4)
    assert result.converged
    assert result.objective < 1e-3 * np.vdot(X, X)
    assert result.objective > 0


def test_the_tolerance_is_a_share_of_noise():
    """What as many numbers as X has values leave of it tells nothing of noise."""
    rng = np.random.default_rng(0)
    X, least = rng.random((40, 30)), {}
    for rank in (1, 8, 30):
        problem = Problem(Blocks(X), NonNegative(), Overlap(), 10, 1e-3)
        state = State(np.zeros((30, rank)), Sweep(FROM_ZERO, np.zeros((30, rank)), np.eye(rank)), 20.0)
        least[rank] = problem.least_decrease(state)
    left = 1 - np.array([1, 8]) * (1 / 40 + 1 / 30)
    np.testing.assert_allclose([least[1], least[8]], 1e-3 * 20.0 / left)
    assert least[30] == pytest.approx(1e-3 * np.vdot(X, X))


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_that_needs_no_usages_takes_none(name):
    X, start = make(0)
    solver, without = SOLVERS[name], Factors(FROM_ZERO, start.W)
    if solver.needs_usages:
        with pytest.raises(TypeError, match="needs usages"):
            solve(solver.run, X, without)
    else:
        assert np.isfinite(solve(solver.run, X, without).objective)
