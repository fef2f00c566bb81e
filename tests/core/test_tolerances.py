from __future__ import annotations

import pytest

from genesieve.core.tolerances import settle_tolerance


@pytest.mark.parametrize("keeps_budget", [True, False])
def test_few_programs_settle_finer_than_they_end(keeps_budget):
    assert settle_tolerance(2e-5, 8, keeps_budget=keeps_budget) < 1e-5


@pytest.mark.parametrize("keeps_budget", [True, False])
@pytest.mark.parametrize("rank", [2, 16, 17, 32, 64, 1000])
@pytest.mark.parametrize("tol", [0.0, 1e-9, 2e-5, 1e-2])
def test_a_fit_settles_no_coarser_than_it_ends_and_no_finer_at_a_higher_rank(rank, tol, keeps_budget):
    lowest, settles_to, higher = (
        settle_tolerance(tol, each, keeps_budget=keeps_budget) for each in (2, rank, 2 * rank)
    )
    assert 0.0 <= lowest <= settles_to <= higher <= tol
