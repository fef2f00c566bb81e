from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from genesieve.core.cells import low_rank
from genesieve.core.cells.blocks import FROM_ZERO, Blocks
from genesieve.core.cells.low_rank import (
    LowRank,
    explained,
    leading_scores,
    low_rank_approximation,
    products,
    project,
    subspace,
)
from genesieve.core.objective import Overlap, gram_of

RNG = np.random.default_rng(0)
CELLS, GENES, RANK = 150, 120, 4
PROGRAMS = RNG.random((RANK, GENES)) ** 4
X = sparse.csr_array(RNG.poisson(3 * RNG.random((CELLS, RANK)) ** 4 @ PROGRAMS).astype(float))
W = RNG.random((GENES, RANK))
STEP = Overlap().cell_step(gram_of(W))
WEIGHTS = RNG.random(GENES) + 0.5


def on_leading_directions(width, weights=None):
    """X on its leading directions, and as the matrix that this stands for."""
    blocks = Blocks(X, gene_weights=weights)
    dense = X.toarray() * (1.0 if weights is None else weights)
    directions = np.linalg.svd(dense, full_matrices=False)[2][:width].T
    return project(blocks, directions), dense @ directions @ directions.T


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("width", [10, GENES])
def test_every_verb_is_that_of_the_matrix_it_stands_for(width, weights):
    approximation, matrix = on_leading_directions(width, weights)
    expected = Blocks(matrix).sweep(W, FROM_ZERO, STEP)
    for ours, theirs in zip(approximation.sweep(W, FROM_ZERO, STEP), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
    np.testing.assert_allclose(approximation.usages(W, STEP), expected.H, atol=1e-8)
    assert approximation.squared_norm == pytest.approx(Blocks(X, gene_weights=weights).squared_norm)  # of X itself


def test_on_all_directions_x_is_as_it_is():
    approximation, _ = on_leading_directions(GENES)
    for ours, theirs in zip(approximation.sweep(W, FROM_ZERO, STEP), Blocks(X).sweep(W, FROM_ZERO, STEP), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
    np.testing.assert_allclose(approximation.worst_cell(W, W, STEP), Blocks(X).worst_cell(W, W, STEP), atol=1e-8)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_leading_scores_are_those_of_a_singular_value_decomposition_of_the_genes_alone(weights):
    genes = np.arange(GENES) % 3 > 0
    scores = leading_scores(Blocks(X, gene_weights=weights), genes, 4, np.random.default_rng(0))
    dense = (X.toarray() * (1.0 if weights is None else weights))[:, genes]
    left, scale, _ = np.linalg.svd(dense, full_matrices=False)
    np.testing.assert_allclose(np.abs(scores), np.abs(left * scale)[:, :4], atol=1e-2 * scale[0])
    np.testing.assert_allclose(np.linalg.norm(scores, axis=0), scale[:4], rtol=1e-3)


def test_a_part_is_that_of_the_matrix_it_stands_for():
    approximation, matrix = on_leading_directions(10)
    cells = np.arange(3, 90, 7)
    part, genes = approximation.part(cells, 30, None)
    expected, expected_genes = Blocks(matrix).part(cells, 30, None)
    np.testing.assert_array_equal(genes, expected_genes)
    assert part.shape == (len(cells), 30)
    ours, theirs = (each.sweep(W[genes], FROM_ZERO, STEP).cross for each in (part, expected))
    np.testing.assert_allclose(ours, theirs)
    required = np.zeros(GENES, dtype=bool)
    required[np.flatnonzero(~np.isin(np.arange(GENES), genes))[:2]] = True
    assert np.isin(np.flatnonzero(required), approximation.part(cells, 30, required)[1]).all()


def test_subspace_iteration_finds_the_leading_directions():
    basis = np.linalg.qr(RNG.standard_normal((GENES, RANK + 5)))[0]
    for _ in range(50):
        basis = subspace(Blocks(X), basis)
    np.testing.assert_allclose(basis.T @ basis, np.eye(RANK + 5), atol=1e-10)
    leading = np.linalg.svd(X.toarray(), full_matrices=False)[2][:RANK].T
    np.testing.assert_allclose(np.linalg.norm(basis.T @ leading, axis=0), 1.0, atol=1e-3)


def test_thorough_directions_hold_the_leading_ones_whatever_the_seed_and_more_of_x_than_rough_ones():
    leading = np.linalg.svd(X.toarray(), full_matrices=False)[2][:RANK].T
    for seed in range(3):
        rough, thorough = (
            low_rank_approximation(Blocks(X), RANK, np.random.default_rng(seed), thorough=thorough).directions
            for thorough in (False, True)
        )
        np.testing.assert_allclose(np.linalg.norm(thorough.T @ leading, axis=0), 1.0, atol=1e-6)
        assert np.linalg.norm(X @ thorough) > np.linalg.norm(X @ rough)


def test_thorough_directions_near_others_are_of_all_cells_and_draw_none():
    cells = Blocks(RNG.random((2200, 200)))  # more than a sample has
    near = np.linalg.qr(RNG.standard_normal((200, 4 + low_rank.EXTRA_DIRECTIONS)))[0]
    one, other = (
        low_rank_approximation(cells, 4, np.random.default_rng(seed), near=near, thorough=True) for seed in (1, 2)
    )
    np.testing.assert_allclose(one.directions, other.directions, atol=1e-12)
    np.testing.assert_allclose(one.directions, subspace(cells, near), atol=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("width", [None, 30])
def test_what_leading_directions_explain_of_genes_is_that_of_a_singular_value_decomposition(width, weights):
    cells = Blocks(X, gene_weights=weights) if width is None else on_leading_directions(width, weights)[0]
    _, scale, right = np.linalg.svd(X.toarray() * (1.0 if weights is None else weights))
    expected = ((right[:RANK].T * scale[:RANK]) ** 2).sum(axis=1)
    np.testing.assert_allclose(explained(cells, RANK, np.random.default_rng(0)), expected, atol=1e-3 * expected.max())


def test_more_directions_explain_no_less_and_no_more_than_there_is():
    cells, _ = on_leading_directions(GENES)
    gains = [explained(cells, rank, np.random.default_rng(0)) for rank in (1, 4, GENES)]
    assert np.all(np.diff(gains, axis=0) >= -1e-6)
    np.testing.assert_allclose(gains[-1], (X.toarray() ** 2).sum(axis=0), atol=1e-8)


def test_data_is_approximated_once_and_only_where_that_saves_something():
    blocks = Blocks(X)
    approximation = low_rank_approximation(blocks, RANK, np.random.default_rng(0))
    assert isinstance(approximation, LowRank)
    assert approximation.directions.shape == (GENES, RANK + low_rank.EXTRA_DIRECTIONS)
    assert low_rank_approximation(approximation, RANK, np.random.default_rng(0)) is approximation
    few = Blocks(X[:, : low_rank.LEAST_SAVING * (RANK + low_rank.EXTRA_DIRECTIONS)])
    assert low_rank_approximation(few, RANK, np.random.default_rng(0)) is few


def test_products_alone_make_a_pass_of_multiplications():
    sweep = Blocks(X).sweep(W, FROM_ZERO, products)
    np.testing.assert_allclose(sweep.H, X @ W)
    np.testing.assert_allclose(sweep.cross, X.T @ (X @ W))


def test_sums_are_the_same_on_one_thread_and_on_many():
    scores = np.repeat(RNG.random((3 * low_rank.CELLS_A_BLOCK // 2, 5)), 2, axis=0)
    about = {"squared_norm": 1.0, "baseline_gains": np.zeros(GENES)}
    directions = np.linalg.qr(RNG.random((GENES, 5)))[0]
    many = LowRank(scores, directions, threads=2, **about)
    for cells in (many.on_one_thread(), LowRank(scores, directions, threads=1, **about)):
        assert cells.threads == 1
        for ours, theirs in zip(cells.sweep(W, FROM_ZERO, STEP), many.sweep(W, FROM_ZERO, STEP), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert many.threads == 2
