"""Values of samples between groups, against scipy and by their laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from genesieve.interpret.compare import Design, compare_values, n_arrangements


def two_groups(n: int = 9) -> tuple[np.ndarray, Design]:
    group = (np.arange(n) % 2).astype(float)
    return group, Design(np.ones((n, 1)), group[:, None], np.zeros(n, dtype=int))


def pairs(n: int = 6) -> tuple[np.ndarray, np.ndarray, Design]:
    donor, group = np.repeat(np.arange(n), 2), np.tile([0.0, 1.0], n)
    fixed = np.column_stack([np.ones(2 * n), *((donor == k).astype(float) for k in range(1, n))])
    return donor, group, Design(fixed, group[:, None], donor)


def values(n: int, columns: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))


def compared(Y, design, **options):
    return compare_values(Y, design, rng=np.random.default_rng(0), **options)


def test_two_groups_are_students_test():
    Y, (group, design) = values(9), two_groups()
    found, expected = compared(Y, design, test="linear"), stats.ttest_ind(Y[group == 1], Y[group == 0])
    np.testing.assert_allclose(found.p_value, expected.pvalue)
    np.testing.assert_allclose(found.statistic, expected.statistic)
    interval = expected.confidence_interval(0.95)
    np.testing.assert_allclose([found.low, found.high], [interval.low, interval.high])


def test_pairs_are_the_paired_test():
    (donor, group, design) = pairs()
    Y = values(12) + 5.0 * donor[:, None]
    expected = stats.ttest_rel(Y[group == 1], Y[group == 0])
    np.testing.assert_allclose(compared(Y, design, test="linear").p_value, expected.pvalue)


def test_several_groups_are_the_analysis_of_variance():
    group = np.arange(15) % 3
    design = Design(np.ones((15, 1)), np.column_stack([group == 1, group == 2]).astype(float), np.zeros(15, dtype=int))
    Y = values(15)
    expected = stats.f_oneway(*(Y[group == name] for name in range(3)))
    np.testing.assert_allclose(compared(Y, design, test="linear").p_value, expected.pvalue)


def test_an_exact_permutation_is_scipys():
    Y, (group, design) = values(9), two_groups()
    found = compared(Y, design, test="permutation")

    def statistic(a, b, axis):
        return np.abs(stats.ttest_ind(a, b, axis=axis).statistic)

    expected = stats.permutation_test(
        (Y[group == 1], Y[group == 0]), statistic, n_resamples=np.inf, alternative="greater", axis=0
    )
    assert found.test == "exact permutation"
    np.testing.assert_allclose(found.p_value, expected.pvalue)


def test_pairs_are_exchanged_within_donors_only():
    donor, group, design = pairs()
    assert n_arrangements(design) == 2**6
    Y = values(12, 1) + 100.0 * donor[:, None]
    differences = (Y[group == 1] - Y[group == 0]).ravel()
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
    expected = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9)
    np.testing.assert_allclose(compared(Y, design, test="permutation").p_value, expected)


@pytest.mark.parametrize("test", ["linear", "permutation"])
def test_p_values_do_not_see_the_scale_or_the_covariates_own_effect(test):
    rng = np.random.default_rng(1)
    number = rng.normal(size=12)
    group = (np.arange(12) % 2).astype(float)
    fixed = np.column_stack([np.ones(12), number])
    design = Design(fixed, group[:, None], np.zeros(12, dtype=int), exchangeable=False)
    Y = values(12)
    once = compared(Y, design, test=test, n_permutations=199)
    again = compared(3.0 * Y + 7.0 + 4.0 * number[:, None], design, test=test, n_permutations=199)
    np.testing.assert_allclose(once.p_value, again.p_value)
    np.testing.assert_allclose(again.effect, 3.0 * once.effect)


def test_permutations_are_taken_where_they_can_call_a_value_different():
    few, many = two_groups(6)[1], two_groups(12)[1]
    assert n_arrangements(few) == 20
    assert compared(values(6), few).test == "linear"
    assert compared(values(12), many).test == "exact permutation"
    assert compared(values(12), many, n_permutations=499).test == "permutation"


@pytest.mark.parametrize("test", ["linear", "permutation"])
def test_values_without_a_difference_are_called_different_at_the_nominal_rate(test):
    Y, design = values(8, 1500, seed=3), two_groups(8)[1]
    p_values = compared(Y, design, test=test).p_value
    assert np.mean(p_values <= 0.1) == pytest.approx(0.1, abs=0.025)


def test_values_that_do_not_vary_are_no_evidence():
    found = compared(np.full((8, 1), 0.3), two_groups(8)[1])
    assert found.p_value == pytest.approx(1.0)
    assert found.effect == pytest.approx(0.0)
    perfect = compared(two_groups(8)[0][:, None], two_groups(8)[1], test="linear")
    assert perfect.p_value == pytest.approx(0.0)


def test_a_covariate_that_is_the_group_is_confounded():
    group = (np.arange(8) % 2).astype(float)
    assert Design(np.column_stack([np.ones(8), group]), group[:, None], np.zeros(8, dtype=int)).confounded
    assert not two_groups(8)[1].confounded
