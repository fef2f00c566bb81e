"""What fits agree on: medians around the programs of the lowest fit, and the share of the fits that have each."""

from __future__ import annotations

import numpy as np
import pytest

from genesieve.core.consensus import agreed, clusters, densities, distinct, similarities, unit_columns
from genesieve.core.objective import Overlap
from genesieve.core.solvers import Factors, Result

GENES, RANK = 60, 4


def fit_of(W, objective=1.0):
    return Result(Factors(None, W), np.eye(W.shape[1]), objective, 1.0, Overlap(), True, False, [])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def truth():
    W = np.full((GENES, RANK), 0.05)
    for program in range(RANK):
        W[15 * program : 15 * program + 15, program] = 1.0
    return unit_columns(W)


def noisy(W, rng, size=0.01):
    return np.abs(W + size * rng.standard_normal(W.shape))


def test_programs_that_all_fits_have_are_found_whatever_their_order_and_scale(truth, rng):
    fits = [fit_of(noisy(truth, rng)[:, rng.permutation(RANK)] * rng.uniform(0.1, 9, RANK)) for _ in range(8)]
    found = agreed(fits)
    assert np.array_equal(found.stability, np.ones(RANK))
    assert np.allclose(np.linalg.norm(found.W, axis=0), 1)
    assert np.all((truth.T @ found.W).max(axis=1) > 0.999)


def test_the_median_is_nearer_to_the_truth_than_the_fits(truth, rng):
    fits = [fit_of(noisy(truth, rng, 0.05)) for _ in range(9)]
    apart = [np.linalg.norm(unit_columns(fit.factors.W) - truth) for fit in fits]
    assert np.linalg.norm(agreed(fits).W - truth) < min(apart)


def test_stability_counts_the_fits_that_have_a_program(truth, rng):
    def without_last(W):
        return np.column_stack([W[:, :-1], rng.random(GENES)])

    fits = [fit_of(noisy(truth, rng), objective=float(number)) for number in range(6)]
    fits += [fit_of(without_last(noisy(truth, rng)), objective=9.0) for _ in range(4)]
    assert np.allclose(agreed(fits).stability, [1, 1, 1, 0.6])


def test_what_the_other_fits_have_takes_the_place_of_what_the_lowest_alone_has(truth, rng):
    odd = noisy(truth, rng)
    odd[:, 2] = rng.random(GENES)
    found = agreed([fit_of(noisy(truth, rng)) for _ in range(5)] + [fit_of(odd, objective=0.5)])
    assert truth[:, 2] @ found.W[:, 2] > 0.999
    assert np.allclose(found.stability, [1, 1, 5 / 6, 1])


def test_where_fits_have_nothing_in_common_that_of_the_lowest_stays(rng):
    fits = [fit_of(np.eye(GENES)[:, 4 * number : 4 * number + 4], objective=-float(number)) for number in range(5)]
    found = agreed(fits)
    assert np.allclose(found.W, fits[-1].factors.W)
    assert np.allclose(found.stability, 1 / 5)


def test_the_order_of_the_fits_does_not_matter(truth, rng):
    fits = [fit_of(noisy(truth, rng, 0.03), objective=float(number)) for number in range(5)]
    one, other = agreed(fits), agreed(fits[::-1])
    assert np.allclose(one.W, other.W)
    assert np.array_equal(one.stability, other.stability)


def test_a_fit_is_no_neighbour_of_its_own(truth):
    programs = np.concatenate([np.eye(4, 8), np.eye(4, 8)[:, ::-1]])  # two fits without a program in common
    dense = densities(programs @ programs.T, np.repeat([0, 1], 4))
    assert np.array_equal(dense, np.zeros(8))


def test_what_all_programs_share_does_not_make_them_alike():
    programs = unit_columns((10 + np.eye(4, 30)).T).T
    assert (programs @ programs.T).min() > 0.99
    assert np.all(similarities(programs)[~np.eye(4, dtype=bool)] < 0)


def test_seeds_stay_apart_though_they_be_equal():
    assert sorted(clusters(np.ones((4, 4)), np.array([1, 3]))[[1, 3]]) == [0, 1]


def test_a_program_that_died_in_a_fit_does_no_harm(truth, rng):
    dead = noisy(truth, rng)
    dead[:, 0] = 0.0
    found = agreed([fit_of(noisy(truth, rng)), fit_of(dead, objective=2.0), fit_of(noisy(truth, rng))])
    assert np.isfinite(found.W).all()
    assert found.stability[0] == pytest.approx(2 / 3)


def test_fits_with_the_same_programs_are_one_whatever_their_order_and_scale(truth, rng):
    first, again = fit_of(truth), fit_of(truth[:, rng.permutation(truth.shape[1])] * 3.0)
    other = fit_of(truth[rng.permutation(len(truth))])
    assert distinct([first, again, other, other]) == [first, other]
    assert distinct([other, again, first]) == [other, again]


def test_a_fit_that_lacks_a_program_of_another_is_not_the_same(truth):
    lacking = truth.copy()
    lacking[:, 0] = truth[:, 1]
    dead = truth.copy()
    dead[:, 0] = 0
    fits = [fit_of(truth), fit_of(lacking), fit_of(dead)]
    assert distinct(fits) == fits
