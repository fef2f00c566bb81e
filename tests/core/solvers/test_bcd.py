from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesieve.core import starts
from genesieve.core.cells.blocks import FROM_ZERO, Blocks
from genesieve.core.constraints import RowSparse
from genesieve.core.objective import Orthogonal, Overlap, RelativeOverlap, gram_of
from genesieve.core.solvers import Factors, Journal, Problem, bcd, mapalm, palm
from genesieve.core.solvers.bcd import _revive, _with_best_usages
from genesieve.paper import published
from problems import CONSTRAINTS, assert_monotone, best_rows, make, seeds, solve


@given(seeds, st.sampled_from(CONSTRAINTS), st.sampled_from([0.0, 0.03, 0.5, 3.0, "hard"]))
def test_bcd_never_raises_the_objective(seed, constraint, omega):
    X, start = make(seed)
    result = solve(bcd, X, start, constraint, Orthogonal() if omega == "hard" else RelativeOverlap(omega))
    assert_monotone(result, X)
    assert constraint.contains(result.factors.W)
    assert (result.factors.H >= 0).all()


@given(seeds, st.sampled_from([CONSTRAINTS[0], "mean"]), st.sampled_from([0.0, 0.03]))
def test_steps_that_are_not_exact_never_raise_the_objective_either(seed, constraint, omega):
    X, start = make(seed)
    constraint = best_rows(X, "mean") if constraint == "mean" else constraint
    start = start if constraint.is_spent(start.W) else Factors(start.H, constraint.project(start.W))
    problem = Problem(Blocks(X), constraint, RelativeOverlap(omega), max_iter=40, tol=0.0, exact=False)
    result = bcd(problem, start)
    assert_monotone(result, X)
    assert constraint.contains(result.factors.W)


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


@given(seeds, st.sampled_from([0.0, 0.03, 0.5, 3.0, "hard"]), st.sampled_from([1, 7, 18]))
def test_bcd_never_raises_the_objective_beyond_the_mean_and_spends_the_budget(seed, omega, n_genes):
    X, start = make(seed)
    penalty = Orthogonal() if omega == "hard" else RelativeOverlap(omega)
    result = solve(bcd, X, start, best_rows(X, "mean", n_genes), penalty)
    assert_monotone(result, X)
    assert np.count_nonzero(result.factors.W.any(axis=1)) == min(n_genes, np.count_nonzero(X.any(axis=0)))


@given(seeds, st.sampled_from([1e-3, 7.0, 1e4]), st.sampled_from([0.0, 0.1]))
def test_scaling_X_scales_the_objective_beyond_the_mean(seed, factor, omega):
    X, start = make(seed)
    plain = solve(bcd, X, start, best_rows(X, "mean"), RelativeOverlap(omega), max_iter=10)
    start = Factors(factor * start.H, start.W)
    scaled = solve(bcd, factor * X, start, best_rows(factor * X, "mean"), RelativeOverlap(omega), max_iter=10)
    assert scaled.objective == pytest.approx(factor**2 * plain.objective, rel=1e-6)
    np.testing.assert_array_equal(scaled.factors.W.any(axis=1), plain.factors.W.any(axis=1))


@given(seeds)
def test_the_objective_is_the_residual_with_genes_outside_the_budget_at_their_baseline(seed):
    X, start = make(seed)
    result = solve(bcd, X, start, best_rows(X, "mean"))
    H, W = result.factors
    prediction, size = H @ W.T, X.sum(axis=1)
    for gene in np.flatnonzero(~W.any(axis=1)):
        prediction[:, gene] = np.polyval(np.polyfit(size, X[:, gene], 1), size)
    assert result.objective == pytest.approx(0.5 * ((X - prediction) ** 2).sum(), rel=1e-7)


def test_bcd_ends_with_the_best_usages_for_its_genes():
    X, start = make(3)
    penalty = RelativeOverlap(0.05)
    H, W = solve(bcd, X, start, penalty=penalty).factors
    again = penalty.cell_step(gram_of(W))(np.zeros_like(H), X @ W)
    np.testing.assert_allclose(again, H, atol=1e-7)


def test_a_dead_program_is_revived_without_raising_the_objective():
    X, start = make(1)
    start.W[:, 2] = 0
    for constraint in [*CONSTRAINTS[:3], best_rows(X, "mean")]:
        result = solve(bcd, X, start, constraint)
        assert result.factors.W.any(axis=0).all(), constraint
        assert result.factors.H.any(axis=0).all(), constraint
        assert_monotone(result, X)


def test_a_program_is_not_reseeded_by_the_size_of_entries_next_to_nothing():
    """Beside one of 1e-150 it was as small: its usages were 1e150, their squares infinite."""
    X, start = make(1)
    problem = Problem(Blocks(X), CONSTRAINTS[1], Overlap(), max_iter=1, tol=0.0)
    start = Factors(start.H, CONSTRAINTS[1].project(start.W))
    state = _with_best_usages(problem, Journal(), start.W, start.H)
    W = state.W.copy()
    W[:, 2], W[W.any(axis=1).argmax(), 0] = 0, 1e-150
    revived = _revive(problem, state, W)
    assert revived[:, 2].max() > 1e-12 * W.max()
    assert CONSTRAINTS[1].contains(revived)
    np.testing.assert_array_equal(revived[:, :2] > 1e-12, W[:, :2] > 1e-12)


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
    start = starts.nmf(blocks, 4, np.random.default_rng(0))
    exact = solve(bcd, X, start, RowSparse(2000), max_iter=200, tol=1e-6)
    paper = solve(palm, X, start, RowSparse(2000), max_iter=200, tol=1e-3)
    assert exact.objective <= 12.87e6
    assert paper.objective == pytest.approx(12.90e6, rel=2e-3)


def test_bcd_takes_a_start_without_usages_for_one_from_zero():
    X, start = make(0)
    without, zero = (solve(bcd, X, Factors(H, start.W)) for H in (FROM_ZERO, np.zeros_like(start.H)))
    np.testing.assert_array_equal(without.factors.W, zero.factors.W)
