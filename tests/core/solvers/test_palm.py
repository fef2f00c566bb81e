from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesieve.core.cells.blocks import FROM_ZERO
from genesieve.core.constraints import NonNegative, RowSparse
from genesieve.core.objective import Overlap, gram_of
from genesieve.core.solvers import Factors, line_search_step, mapalm, palm, proximal_step
from problems import CONSTRAINTS, N_CELLS, assert_monotone, make, seeds, solve


@pytest.mark.parametrize("solver", [palm, mapalm])
@pytest.mark.parametrize("line_search", [False, True])
@given(seeds, st.sampled_from(CONSTRAINTS), st.sampled_from([0.0, 0.5, 5.0]))
def test_the_papers_solvers_never_raise_the_objective(solver, line_search, seed, constraint, rho):
    X, start = make(seed)
    result = solve(solver, X, start, constraint, Overlap(rho), line_search=line_search)
    assert_monotone(result, X)
    assert constraint.contains(result.factors.W)
    assert (result.factors.H >= 0).all()


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


@pytest.mark.parametrize("start_number", range(10))
def test_mapalm_is_twice_as_fast_as_palm_on_the_synthetic_data(reference, start_number):
    """Fig. 2B: rho = 0.5, k = 120."""
    start = reference.starts[start_number]
    slow = solve(palm, reference.X, start, RowSparse(120), Overlap(0.5), max_iter=100)
    fast = solve(mapalm, reference.X, start, RowSparse(120), Overlap(0.5), max_iter=50)
    assert_monotone(fast, reference.X)
    assert fast.objective <= slow.objective


@pytest.mark.parametrize("solver", [palm, mapalm])
def test_a_start_without_usages_is_refused_at_the_door(solver):
    X, start = make(0)
    with pytest.raises(TypeError, match="needs usages to set out from, got a start without; use solver 'bcd'"):
        solve(solver, X, Factors(FROM_ZERO, start.W))
