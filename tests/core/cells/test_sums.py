from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from genesieve.core.cells import sources, sums, transform
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.low_rank import project
from genesieve.core.cells.sums import gains_of_mean, gene_sums

seeds = st.integers(0, 2**32 - 1)
WEIGHTS = np.linspace(0.5, 2.0, 9)


def draw(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(2.0, 1.0, (30, 1)) * rng.random(9)).astype(float)


def left_by_a_line(X: np.ndarray) -> np.ndarray:
    """Squared residual of every gene after a least-squares line over the sizes of the cells."""
    line = np.column_stack([np.ones(len(X)), X.sum(axis=1)])
    return ((X - line @ np.linalg.pinv(line) @ X) ** 2).sum(axis=0)


@given(seeds)
def test_gains_are_what_a_line_over_the_sizes_explains(seed):
    X = draw(seed)
    gains = gains_of_mean(gene_sums(X), len(X))
    np.testing.assert_allclose((X**2).sum(axis=0) - gains, left_by_a_line(X), atol=1e-8 * (X**2).sum() + 1e-12)


@given(seeds, st.sampled_from([1e-3, 1.0, 1e4]))
def test_cells_of_one_size_leave_the_mean_alone(seed, size):
    X = np.random.default_rng(seed).random((20, 6)) + 0.1
    X *= size / X.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(gains_of_mean(gene_sums(X), 20), 20 * X.mean(axis=0) ** 2)


@given(seeds)
def test_the_order_of_cells_and_how_they_are_stored_change_nothing(seed):
    X = draw(seed)
    gains = Blocks(X, gene_weights=WEIGHTS, baseline="mean").baseline_gains
    order = np.random.default_rng(seed).permutation(len(X))
    for same in (X[order], sparse.csr_array(X), sparse.csc_matrix(X), X.astype(np.float32)):
        np.testing.assert_allclose(Blocks(same, gene_weights=WEIGHTS, baseline="mean").baseline_gains, gains, rtol=1e-9)


def test_blocks_add_up(monkeypatch):
    X = draw(0)
    whole = Blocks(X, baseline="mean").baseline_gains
    monkeypatch.setattr(sources, "BLOCK_VALUES", 40)
    monkeypatch.setattr(sources, "SMALL_BLOCK_VALUES", 20)
    np.testing.assert_allclose(Blocks(X, baseline="mean").baseline_gains, whole, rtol=1e-12)


@pytest.mark.parametrize("baseline", ["zero", "mean"])
def test_weights_directions_and_samples_keep_the_baseline(baseline):
    X = draw(1)
    blocks = Blocks(X).weighted(WEIGHTS, baseline=baseline)
    expected = np.zeros(9) if baseline == "zero" else ((X**2).sum(axis=0) - left_by_a_line(X)) * WEIGHTS**2
    np.testing.assert_allclose(blocks.baseline_gains, expected, rtol=1e-9)
    np.testing.assert_array_equal(project(blocks, np.eye(9)[:, :3]).baseline_gains, blocks.baseline_gains)
    part, genes = blocks.part(np.arange(20), 4)
    left = (X[:20] ** 2).sum(axis=0) * WEIGHTS**2 if baseline == "zero" else left_by_a_line(X[:20]) * WEIGHTS**2
    assert set(genes) == set(np.argsort(-left)[:4])
    assert part.baseline_gains.any() == (baseline == "mean")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_few_values_and_of_many_are_the_same_to_the_last_digit(dtype, monkeypatch):
    X = sparse.csr_array(np.log1p(draw(0)).astype(dtype))
    few = gene_sums(X)
    for module in (sums, transform):
        monkeypatch.setattr(module, "FEW_VALUES", 0)
    for ours, theirs in zip(gene_sums(X), few, strict=True):
        np.testing.assert_array_equal(ours, theirs)
