"""Weights under which all genes vary alike."""

from __future__ import annotations

import numpy as np
import pytest

from genesieve.core.weights import LEAST_SPREAD, even_weights


def test_all_genes_vary_alike_under_even_weights():
    X = np.random.default_rng(0).gamma(1.0, [0.5, 1.0, 3.0, 8.0], (200, 4))
    np.testing.assert_allclose((X * even_weights(X.var(axis=0))).var(axis=0), 1.0)


@pytest.mark.parametrize("unit", [1e-6, 3.0, 1e6])
def test_the_unit_of_all_genes_does_not_matter(unit):
    variance = np.array([0.0, 1e-9, 0.1, 1.0, 4.0])
    np.testing.assert_allclose(unit * even_weights(unit**2 * variance), even_weights(variance))


def test_genes_that_hardly_vary_stay_below_the_others_and_finite():
    variance = np.array([0.0, 1e-12, 1.0, 1.0])
    spread = np.sqrt(variance) * even_weights(variance)
    np.testing.assert_allclose(spread[:2], [0.0, 1e-6 / (LEAST_SPREAD * 0.50000025)])
    assert (even_weights(np.zeros(3)) == 0).all()
