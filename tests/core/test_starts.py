from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.decomposition._nmf import _initialize_nmf

from genesieve.core import starts
from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import Blocks
from genesieve.core.objective import Overlap, gram_of

RNG = np.random.default_rng(0)
X = RNG.random((60, 5)) ** 2 @ RNG.random((5, 40)) ** 2 + 0.05 * RNG.random((60, 40))


@pytest.mark.parametrize("make", [starts.random, starts.nndsvd, starts.nmf])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_starts_are_non_negative_finite_of_the_right_shape_and_repeatable(make, storage, dtype):
    blocks = Blocks(storage(X.astype(dtype)))
    first, second = (make(blocks, 4, np.random.default_rng(1)) for _ in range(2))
    assert first.H.shape == (60, 4)
    assert first.W.shape == (40, 4)
    for factor, again in zip(first, second, strict=True):
        assert factor.dtype == blocks.dtype
        assert np.isfinite(factor).all()
        assert (factor >= 0).all()
        np.testing.assert_array_equal(factor, again)


def test_a_random_start_is_as_large_as_the_data():
    H, W = starts.random(Blocks(X), 4, np.random.default_rng(0))
    assert np.linalg.norm(H @ W.T) == pytest.approx(np.linalg.norm(X))


def test_nndsvd_agrees_with_scikit_learn():
    H, W = starts.nndsvd(Blocks(X), 4, np.random.default_rng(0))
    H_sklearn, W_sklearn = _initialize_nmf(X, 4, init="nndsvd", random_state=0)
    np.testing.assert_allclose(H @ W.T, H_sklearn @ W_sklearn, atol=1e-4)


def test_an_nmf_start_fits_better_than_the_others():
    def error(start):
        return np.linalg.norm(X - start.H @ start.W.T)

    blocks, rng = Blocks(X), np.random.default_rng(0)
    nmf = error(starts.nmf(blocks, 5, rng))
    assert nmf < min(error(starts.random(blocks, 5, rng)), error(starts.nndsvd(blocks, 5, rng)))


def test_an_nmf_start_shares_scale_equally():
    start = starts.nmf(Blocks(X), 4, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(start.H, axis=0), np.linalg.norm(start.W, axis=0))


def test_many_cells_start_from_a_sample(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_CELLS", 30)
    monkeypatch.setattr(sampling, "SAMPLE_GENES", 35)
    blocks = Blocks(X)
    full = starts.nmf(blocks, 4, np.random.default_rng(0))
    assert np.linalg.norm(X - full.H @ full.W.T) < 0.3 * np.linalg.norm(X)
    np.testing.assert_allclose(np.diag(gram_of(full.H)), np.diag(gram_of(full.W)))


@pytest.mark.parametrize("make", [starts.random, starts.nndsvd, starts.nmf])
def test_all_zero_data_gives_a_finite_start(make):
    start = make(Blocks(np.zeros((10, 6))), 3, np.random.default_rng(0))
    assert all(np.isfinite(factor).all() for factor in start)


@pytest.mark.parametrize("required", [None, np.arange(40) < 4])
def test_the_best_rows_are_so_many_with_the_required_ones_and_no_gene_outside_gains_more(required):
    blocks = Blocks(X, baseline="mean")
    W = starts.nmf(blocks, 4, np.random.default_rng(0)).W
    chosen = starts.best_rows(blocks, W, 12, required).any(axis=1)
    assert chosen.sum() == 12
    H = blocks.usages(W, Overlap().cell_step(gram_of(W)))
    gains = np.array([gene @ gene - nnls(H, gene)[1] ** 2 for gene in X.T]) - blocks.baseline_gains
    free = chosen if required is None else chosen & ~required
    assert required is None or chosen[required].all()
    assert gains[free].min() >= gains[~chosen].max() - 1e-6 * np.vdot(X, X)
