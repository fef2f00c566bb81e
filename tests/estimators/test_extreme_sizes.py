"""Values of any size: the fit that their shape has, or one clear line."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

import genesieve as gs
from genesieve.core.cells import blocks

RNG = np.random.default_rng(0)
X = RNG.gamma(1.0, 1.0, (60, 3)) @ RNG.gamma(0.5, 1.0, (3, 20)) * RNG.binomial(1, 0.7, (60, 20))


def fit(X, **options) -> gs.SSNMF:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = gs.SSNMF(3, n_genes=8, random_state=0, **options)
        model.usages = model.fit_transform(X)
    return model


@pytest.fixture
def single(monkeypatch):
    """Work in the precision of X, as on many cells."""
    monkeypatch.setattr(blocks, "DOUBLE_CELLS", 10)


@pytest.mark.usefixtures("single")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("power", [-37, -30, -16, -14, 14, 16, 25, 37])
@pytest.mark.parametrize("orthogonality", ["auto", "exact"])
def test_a_fit_in_single_precision_does_not_depend_on_the_size_of_values(power, orthogonality, storage):
    usual = fit(X.astype(np.float32), orthogonality=orthogonality)
    model = fit(storage((X * 10.0**power).astype(np.float32)), orthogonality=orthogonality)
    assert model.explained_ == pytest.approx(usual.explained_, abs=1e-4)
    np.testing.assert_array_equal(model.get_support(), usual.get_support())
    largest = usual.usages.max()
    np.testing.assert_allclose(model.usages.astype(float) / 10.0**power, usual.usages, atol=1e-2 * largest)
    again = model.transform(storage((X * 10.0**power).astype(np.float32)))
    np.testing.assert_allclose(again / 10.0**power, model.usages / 10.0**power, atol=1e-3 * largest)


@pytest.mark.parametrize("power", [-58, -40, 40, 58])
def test_a_fit_in_double_precision_does_not_depend_on_the_size_of_values(power):
    usual, model = fit(X), fit(X * 10.0**power)
    assert model.explained_ == pytest.approx(usual.explained_, abs=1e-6)
    np.testing.assert_allclose(model.usages / 10.0**power, usual.usages, atol=1e-4 * usual.usages.max())


@pytest.mark.parametrize("power", [-300, -80, 80, 300])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_values_whose_squares_are_no_numbers_are_told(power, storage):
    with pytest.raises(ValueError, match=r"X must have a largest value from 1e-60 to 1e\+60, got") as caught:
        fit(storage(X * 10.0**power))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("power", "dtype"), [(20, np.float32), (200, np.float64)])
def test_values_outside_memory_are_told_as_well(power, dtype):
    with pytest.raises(ValueError, match="X must have values up to"):
        fit(da.from_array((X * 10.0**power).astype(dtype), chunks=(30, -1)))


@pytest.mark.parametrize("orthogonality", [0.0, "auto"])
@pytest.mark.parametrize(("power", "dtype"), [(-20, np.float32), (-80, np.float64), (-300, np.float64)])
def test_values_outside_memory_that_are_too_small_are_told_as_well(power, dtype, orthogonality):
    with pytest.raises(ValueError, match=r"X must have a largest value of at least 1e-.* in float"):
        fit(da.from_array((X * 10.0**power).astype(dtype), chunks=(30, -1)), orthogonality=orthogonality)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_all_zero_is_no_extreme(storage):
    with pytest.warns(UserWarning, match="programs are empty"):
        assert not fit(storage(np.zeros((9, 12), dtype=np.float32))).usages.any()


@pytest.mark.parametrize("power", [-300, -80, 80, 300])
def test_sparse_kmeans_tells_values_whose_squares_are_no_numbers(power):
    with pytest.raises(ValueError, match="X must have a largest value from"):
        gs.SparseKMeans(3, n_init=1).fit((X - X.mean()) * 10.0**power)


@pytest.mark.parametrize("power", [-30, 30])
def test_sparse_kmeans_in_single_precision_does_not_depend_on_the_size_of_values(power):
    usual = gs.SparseKMeans(3, n_genes=8, n_init=1, random_state=0).fit(X.astype(np.float32))
    model = gs.SparseKMeans(3, n_genes=8, n_init=1, random_state=0).fit((X * 10.0**power).astype(np.float32))
    np.testing.assert_array_equal(model.labels_, usual.labels_)
    np.testing.assert_array_equal(model.predict((X * 10.0**power).astype(np.float32)), usual.labels_)


def test_factors_in_no_gauge_that_leave_single_precision_are_in_double():
    """A program may end as small as weights get, and its usages as large."""
    X32 = (1e12 * X).astype(np.float32)
    model = fit(X32, gauge=None, orthogonality=0.0)
    H, W = model.transform(X32).astype(float), model.components_.T.astype(float)
    scale = np.array([1.0, 1e-34, 1.0])
    H, W = blocks.as_type(X32.dtype, H / scale, W * scale)
    assert H.dtype == W.dtype == np.float64
    assert np.isfinite(H).all()
    model.components_ = W.T
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        again = model.transform(X32)
    np.testing.assert_allclose(again @ W.T, H @ W.T, rtol=1e-5, atol=1e-5 * X32.max())
    assert blocks.as_type(X32.dtype, H * scale)[0].dtype == np.float32
