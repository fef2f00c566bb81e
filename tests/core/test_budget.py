"""How many genes the steps of a fit look at."""

from __future__ import annotations

import pytest

from genesieve.core import budget

SIZES = [1, 2, 50, 124, 125, 126, 250, 499, 500, 2000]


@pytest.mark.parametrize("n_all", [1, 500, 1000, 8000, 30_000])
@pytest.mark.parametrize("n_genes", SIZES)
def test_programs_are_found_with_no_fewer_genes_than_asked_for_and_with_few_of_all_only_if_so_many_are_asked_for(
    n_genes, n_all
):
    found_with = budget.wider(n_genes, n_all)
    assert found_with == n_genes or found_with >= budget.LEAST_WIDENING * n_genes
    assert found_with <= max(n_genes, min(budget.WIDER_BUDGET, budget.WIDEST_SHARE * n_all))


@pytest.mark.parametrize("n_genes", [budget.SMALL_BUDGET, 1000, 2000, 4000])
def test_a_budget_that_is_not_small_stays(n_genes):
    assert budget.wider(n_genes, 30_000) == n_genes


def test_small_budgets_of_the_same_genes_are_found_with_the_same_number():
    assert len({budget.wider(n_genes, 8000) for n_genes in (1, 50, 200, budget.SMALL_BUDGET - 1)}) == 1


@pytest.mark.parametrize("rank", [1, 3, 20, 200])
@pytest.mark.parametrize("n_genes", SIZES)
def test_the_sure_genes_are_a_part_of_the_budget(n_genes, rank):
    assert 1 <= budget.core(n_genes, rank) <= n_genes
    assert budget.core(n_genes, rank) <= budget.core(2 * n_genes, rank)
