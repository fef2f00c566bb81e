"""The ranked test of gene sets: SciPy's for every ranking and set, at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from genesieve.interpret.genesets import rank_enrichment

seeds = st.integers(0, 2**32 - 1)


def draw(seed: int, *, ties: bool) -> tuple[np.ndarray, dict[str, list[str]], list[str]]:
    rng = np.random.default_rng(seed)
    genes = [f"g{i}" for i in range(50)]
    scores = rng.integers(4, size=(50, 3)).astype(float) if ties else rng.normal(size=(50, 3))
    sets = {f"set {i}": [*rng.choice(genes, rng.integers(5, 20), replace=False), "elsewhere"] for i in range(6)}
    return scores, sets, genes


@given(seeds, st.booleans())
def test_p_values_are_those_of_scipy(seed, ties):
    scores, sets, genes = draw(seed, ties=ties)
    found = rank_enrichment(scores, sets, genes)
    assert found.sets == list(sets)
    for number, name in enumerate(sets):
        inside = np.isin(genes, sets[name])
        for program in range(3):
            column = scores[:, program]
            test = stats.mannwhitneyu(column[inside], column[~inside], alternative="greater", method="asymptotic")
            np.testing.assert_allclose(found.p_value[program, number], test.pvalue, rtol=1e-9)
            pairs = inside.sum() * (~inside).sum()
            np.testing.assert_allclose(found.auc[program, number], test.statistic / pairs)


@pytest.mark.filterwarnings("error")
def test_scores_that_are_all_equal_are_rich_in_nothing():
    found = rank_enrichment(np.zeros((10, 1)), {"a": list("abcde")}, list("abcdefghij"))
    np.testing.assert_array_equal(found.p_value, 1.0)
    np.testing.assert_array_equal(found.auc, 0.5)


def test_the_test_does_not_depend_on_the_scale_of_the_scores():
    scores, sets, genes = draw(1, ties=False)
    p_values = [rank_enrichment(s, sets, genes).p_value for s in (scores, np.exp(scores))]
    np.testing.assert_array_equal(*p_values)
