"""Products of cells with factors: those of SciPy, in the higher of both precisions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from genesieve.core.cells import products

RNG = np.random.default_rng(0)
X = sparse.csr_array(sparse.random(40, 30, density=0.2, format="csr", dtype=np.float32, random_state=RNG))
H, W = RNG.random((40, 5)), RNG.random((30, 5))


@pytest.fixture(params=[0, products.LEAST_WORK], ids=["compiled", "SciPy's"])
def _work(request, monkeypatch):
    monkeypatch.setattr(products, "LEAST_WORK", request.param)


@pytest.mark.usefixtures("_work")
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_products_are_those_in_double_precision(indices):
    stored = sparse.csr_array((X.data, X.indices.astype(indices), X.indptr.astype(indices)), shape=X.shape)
    exact = X.toarray().astype(np.float64)
    np.testing.assert_allclose(products.times(stored, W), exact @ W, rtol=1e-14)
    np.testing.assert_allclose(products.transposed_times(stored, H), exact.T @ H, rtol=1e-14)


@pytest.mark.usefixtures("_work")
@pytest.mark.parametrize("used", [0, 1, 15, 16])
@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_genes_that_are_not_in_use_change_nothing(dtype, values, used):
    few = RNG.random((30, products.DROPPING_RANK)).astype(dtype)
    few[RNG.permutation(30)[used:]] = 0
    found = products.times(X.astype(values), few)
    assert found.dtype == np.result_type(values, dtype)
    np.testing.assert_allclose(found, X.astype(np.float64) @ few, rtol=1e-14 if found.dtype == np.float64 else 1e-5)


@pytest.mark.usefixtures("_work")
@pytest.mark.parametrize("rank", [1, 7, 8, products.SINGLE_RANK - 1, products.SINGLE_RANK, products.SINGLE_RANK + 3])
@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_cells_are_the_same_at_any_rank(dtype, values, rank):
    usages = RNG.random((40, rank)).astype(dtype)
    found = products.transposed_times(X.astype(values), usages)
    assert found.dtype == np.result_type(values, dtype)
    exact = X.toarray().astype(np.float64).T @ usages
    np.testing.assert_allclose(found, exact, rtol=1e-13 if found.dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_held_both_ways_have_products_in_their_precision(dtype):
    both = products.two_ways(X.astype(dtype))
    exact, rounding = X.toarray().astype(np.float64), 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(products.times(both, W), exact @ W, rtol=rounding)
    np.testing.assert_allclose(products.transposed_times(both, H), exact.T @ H, rtol=rounding)
    assert products.times(both, W).dtype == products.transposed_times(both, H).dtype == np.float64
    np.testing.assert_array_equal(both.power(2).toarray(), (X.astype(dtype) ** 2).toarray())  # an array like any other


@pytest.mark.usefixtures("_work")
def test_factors_need_not_be_contiguous():
    np.testing.assert_allclose(products.times(X, W[:, ::2]), X.toarray() @ W[:, ::2], rtol=1e-6)


@pytest.mark.usefixtures("_work")
@pytest.mark.parametrize("store", [lambda X: X, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_the_precision_of_a_product_is_the_higher_one(store):
    for dtype in (np.float32, np.float64):
        assert products.times(store(X), W.astype(dtype)).dtype == dtype
        assert products.transposed_times(store(X), H.astype(dtype)).dtype == dtype
