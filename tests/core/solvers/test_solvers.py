from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from genesieve.core import starts as init
from genesieve.core.cells.blocks import Blocks
from genesieve.core.constraints import ColumnSparse, EntrySparse, NonNegative, RowSparse
from genesieve.core.objective import Orthogonal, Overlap, RelativeOverlap, gram_of
from genesieve.core.solvers import (
    Factors,
    Run,
    bcd,
    continuation,
    line_search_step,
    mapalm,
    orthogonality_error,
    palm,
    proximal_step,
)
from genesieve.datasets import synthetic
from genesieve.paper import published

N_CELLS, N_GENES, RANK = 25, 18, 3
CONSTRAINTS = [NonNegative(), RowSparse(7), ColumnSparse(5), EntrySparse(16)]
seeds = st.integers(0, 2**32 - 1)


def make(seed: int) -> tuple[np.ndarray, Factors]:
    rng = np.random.default_rng(seed)
    X = rng.random((N_CELLS, RANK)) ** 3 @ rng.random((RANK, N_GENES)) ** 3 + 0.1 * rng.random((N_CELLS, N_GENES))
    X[rng.random(X.shape) < 0.3] = 0
    return X, Factors(rng.random((N_CELLS, RANK)), rng.random((N_GENES, RANK)))


def solve(solver, X, start, constraint=CONSTRAINTS[1], penalty=None, *, max_iter=40, tol=0.0, **options):
    run = Run(Blocks(X), constraint, penalty or Overlap(), max_iter=max_iter, tol=tol)
    return solver(run, start, **options)


def objectives(result):
    return np.array([step.objective for step in result.history])


def assert_monotone(result, X):
    assert (np.diff(objectives(result)) <= 1e-9 * np.vdot(X, X)).all()


@pytest.mark.parametrize("solver", [palm, mapalm])
@pytest.mark.parametrize("line_search", [False, True])
@given(seeds, st.sampled_from(CONSTRAINTS), st.sampled_from([0.0, 0.5, 5.0]))
def test_the_papers_solvers_never_raise_the_objective(solver, line_search, seed, constraint, rho):
    X, start = make(seed)
    result = solve(solver, X, start, constraint, Overlap(rho), line_search=line_search)
    assert_monotone(result, X)
    assert constraint.contains(result.factors.W)
    assert (result.factors.H >= 0).all()


@given(seeds, st.sampled_from(CONSTRAINTS), st.sampled_from([0.0, 0.03, 0.5, 3.0, "hard"]))
def test_bcd_never_raises_the_objective(seed, constraint, omega):
    X, start = make(seed)
    result = solve(bcd, X, start, constraint, Orthogonal() if omega == "hard" else RelativeOverlap(omega))
    assert_monotone(result, X)
    assert constraint.contains(result.factors.W)
    assert (result.factors.H >= 0).all()


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


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@given(seeds, st.sampled_from([1e-3, 7.0, 1e4]), st.sampled_from([0.0, 0.1]))
def test_scaling_X_scales_the_result_of_bcd(constraint, seed, factor, omega):
    X, start = make(seed)
    plain = solve(bcd, X, start, constraint, RelativeOverlap(omega), max_iter=10)
    start = Factors(factor * start.H, start.W)
    scaled = solve(bcd, factor * X, start, constraint, RelativeOverlap(omega), max_iter=10)
    assert scaled.objective == pytest.approx(factor**2 * plain.objective, rel=1e-6)
    np.testing.assert_allclose(
        scaled.factors.H @ scaled.factors.W.T, factor * plain.factors.H @ plain.factors.W.T, atol=1e-5 * factor
    )


def test_bcd_ends_with_the_best_usages_for_its_genes():
    X, start = make(3)
    penalty = RelativeOverlap(0.05)
    H, W = solve(bcd, X, start, penalty=penalty).factors
    again = penalty.cell_step(gram_of(W))(np.zeros_like(H), X @ W)
    np.testing.assert_allclose(again, H, atol=1e-7)


def test_a_dead_program_is_revived_without_raising_the_objective():
    X, start = make(1)
    start.W[:, 2] = 0
    for constraint in CONSTRAINTS[:3]:
        result = solve(bcd, X, start, constraint)
        assert result.factors.W.any(axis=0).all(), constraint
        assert result.factors.H.any(axis=0).all(), constraint
        assert_monotone(result, X)


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


def test_continuation_makes_usages_orthogonal():
    blocks = Blocks(synthetic(random_state=0).X)
    run = Run(blocks, RowSparse(120), Overlap(), max_iter=200, tol=1e-3)
    stages = [Overlap(0.1 * 4.0**stage) for stage in range(12)]
    result = continuation(mapalm, run, init.random(blocks, 3, np.random.default_rng(0)), stages, tol=1e-3)
    assert orthogonality_error(gram_of(result.factors.H)) <= 1e-3
    assert result.penalty in stages[1:-1]  # neither at once nor only for want of stages


@given(seeds)
def test_a_line_search_step_is_feasible_and_lowers_the_quadratic_at_least_as_the_fixed_one_may(seed):
    X, start = make(seed)
    gram, cross = gram_of(start.W), X @ start.W
    project = NonNegative().project

    def value(H):
        return 0.5 * np.vdot(H @ gram, H) - np.vdot(cross, H)

    searched = line_search_step(start.H, gram, cross, project, by_row=True)
    assert (searched >= 0).all()
    assert value(searched) <= value(start.H)
    rows = [line_search_step(start.H[[i]], gram, cross[[i]], project, by_row=True) for i in range(N_CELLS)]
    np.testing.assert_allclose(np.vstack(rows), searched)


def test_a_proximal_step_with_no_curvature_stays_finite():
    W = np.zeros((4, 2))
    assert np.isfinite(proximal_step(W, np.zeros((2, 2)), np.zeros((4, 2)), NonNegative().project)).all()


# ------------------------------------------------------------------------------------------ goals on reference data


@pytest.mark.parametrize("start_number", range(10))
def test_bcd_ends_at_or_below_palm_and_mapalm_on_the_synthetic_data(reference, start_number):
    start = published.nmf(reference.X, reference.starts[start_number])
    exact = solve(bcd, reference.X, start, RowSparse(120), max_iter=200, tol=1e-6)
    for solver in (palm, mapalm):
        theirs = solve(solver, reference.X, start, RowSparse(120), max_iter=200, tol=1e-3)
        assert exact.objective <= theirs.objective


def test_bcd_beats_palm_on_pollen(pollen):
    X, _ = pollen
    blocks = Blocks(X)
    start = init.nmf(blocks, 4, np.random.default_rng(0))
    exact = solve(bcd, X, start, RowSparse(2000), max_iter=200, tol=1e-6)
    paper = solve(palm, X, start, RowSparse(2000), max_iter=200, tol=1e-3)
    assert exact.objective <= 12.87e6
    assert paper.objective == pytest.approx(12.90e6, rel=2e-3)


@pytest.mark.parametrize("start_number", range(10))
def test_mapalm_is_twice_as_fast_as_palm_on_the_synthetic_data(reference, start_number):
    """Fig. 2B: rho = 0.5, k = 120."""
    start = reference.starts[start_number]
    slow = solve(palm, reference.X, start, RowSparse(120), Overlap(0.5), max_iter=100)
    fast = solve(mapalm, reference.X, start, RowSparse(120), Overlap(0.5), max_iter=50)
    assert_monotone(fast, reference.X)
    assert fast.objective <= slow.objective
