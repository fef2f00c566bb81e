from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from genesieve.core.cells.streamed import as_source
from genesieve.interpret.cell_fit import agreement_by_group, evenly_spread, explained_by_cell, usual_fit
from genesieve.interpret.programs import flags, tiny_programs

RNG = np.random.default_rng(0)
W, H = RNG.random((30, 3)), RNG.random((20, 3))
X = H @ W.T + 0.1 * RNG.random((20, 30))


@pytest.mark.parametrize("weights", [None, RNG.random(30) + 0.1])
def test_shares_are_those_of_sums_written_out_for_dense_and_sparse(weights):
    scale = np.ones(30) if weights is None else weights
    expected = 1 - ((scale * (X - H @ W.T)) ** 2).sum(axis=1) / ((scale * X) ** 2).sum(axis=1)
    for values in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(explained_by_cell(as_source(values), W, H, weights), expected, rtol=1e-8)


def test_cells_that_are_reproduced_have_one_and_empty_ones_none():
    exact = np.vstack([H[:5] @ W.T, np.zeros(30)])
    shares = explained_by_cell(as_source(exact), W, H[:6])
    np.testing.assert_allclose(shares[:5], 1.0)
    assert shares[5] == 0


def test_hardly_a_cell_of_a_fit_is_poorly_described():
    shares = RNG.normal(0.5, 0.05, 2000)
    usual = usual_fit(shares)
    assert usual["low"] < usual["median"]
    assert (shares < usual["low"]).mean() < 0.01


def test_cells_are_spread_from_the_first_to_the_last():
    cells = evenly_spread(10_000)
    assert (cells[0], cells[-1]) == (0, 9999)
    assert len(cells) <= 2000
    np.testing.assert_array_equal(evenly_spread(7), np.arange(7))


def test_programs_to_look_at_twice_are_flagged_and_no_others():
    most_used = np.repeat([0, 1, 2], [500, 498, 2])
    programs = np.eye(30)[:, :3] + 0.01
    assert tiny_programs(most_used, 3) == [(2, 2)]
    assert flags(programs, most_used) == ["", "", "leads 2 cells only"]
    programs[:, 1] = programs[:, 0] + 0.001
    first, second, third = flags(programs, most_used)
    assert "program 1" in first and "program 0" in second  # noqa: PT018
    assert third == "leads 2 cells only"


def test_a_program_whose_cells_are_all_unsure_is_flagged():
    most_used, confidence = np.repeat([0, 1, 2], [500, 480, 20]), np.full(1000, 0.9)
    assert flags(np.eye(3), most_used, confidence) == ["", "", ""]
    confidence[981:] = 0.3  # 19 of 20
    assert flags(np.eye(3), most_used, confidence) == ["", "", "its cells use others nearly as much"]
    confidence[985:990] = 0.9  # 15 of 20 still may be a type
    assert flags(np.eye(3), most_used, confidence) == ["", "", ""]


def test_of_few_cells_only_programs_without_any_are_flagged():
    assert flags(np.eye(3), np.array([0, 0, 1])) == ["", "", "leads no cell"]


@pytest.mark.parametrize("weights", [None, RNG.random(30) + 0.1])
def test_means_of_groups_agree_where_programs_describe_them(weights):
    usages = RNG.random((60, 3))
    described, foreign = usages @ W.T + 0.5 * RNG.random((60, 30)), RNG.random((60, 30))
    group = np.repeat([0, 1, 2], [30, 25, 5])
    scale = np.ones(30) if weights is None else weights
    for cells in (described, foreign):
        found = agreement_by_group(as_source(sparse.csr_array(cells)), W, usages, group, weights)
        means = [(cells[group == g].mean(axis=0), (usages @ W.T)[group == g].mean(axis=0)) for g in (0, 1)]
        expected = [np.corrcoef(seen * scale, predicted * scale)[0, 1] for seen, predicted in means]
        np.testing.assert_allclose(found[:2], expected)
        assert np.isnan(found[2])  # too few to tell
    assert agreement_by_group(as_source(described), W, usages, group)[0] > 0.95


def test_groups_without_expression_or_without_cells_are_no_error():
    found = agreement_by_group(as_source(np.zeros((12, 30))), W, np.zeros((12, 3)), np.full(12, 1))
    assert np.isnan(found[0]) and found[1] == 0  # noqa: PT018
