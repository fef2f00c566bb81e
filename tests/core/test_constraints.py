from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls as lawson_hanson

from genesieve.core.constraints import (
    ColumnSparse,
    EntrySparse,
    NonNegative,
    RowSparse,
    gain_bounds,
    largest,
    row_gains,
)
from genesieve.core.nnls import nnls

matrices = arrays(np.float64, (5, 3), elements=st.integers(-3, 3).map(float))  # small integers: many ties
constraints = st.sampled_from(
    [NonNegative(), *(kind(k) for kind in (RowSparse, ColumnSparse, EntrySparse) for k in range(6)), EntrySparse(11)]
)


def supports(constraint, shape):
    """Masks of all the largest supports that the constraint allows."""
    genes, rank = shape
    if isinstance(constraint, RowSparse):
        for rows in combinations(range(genes), min(constraint.n_genes, genes)):
            yield np.isin(np.arange(genes), rows)[:, None] & np.ones(shape, bool)
    elif isinstance(constraint, EntrySparse):
        for entries in combinations(range(genes * rank), min(constraint.n_entries, genes * rank)):
            yield np.isin(np.arange(genes * rank), entries).reshape(shape)
    else:
        yield np.ones(shape, bool)


@given(constraints, matrices)
def test_projection_is_feasible_and_idempotent(constraint, W):
    projected = constraint.project(W)
    assert constraint.contains(projected)
    np.testing.assert_array_equal(constraint.project(projected), projected)


@given(st.sampled_from([NonNegative(), RowSparse(2), RowSparse(0), EntrySparse(2), RowSparse(5)]), matrices)
def test_projection_is_nearest(constraint, W):
    distance = np.linalg.norm(W - constraint.project(W))
    nearest = min(np.linalg.norm(W - np.where(mask, np.maximum(W, 0), 0)) for mask in supports(constraint, W.shape))
    assert distance <= nearest + 1e-12


@given(st.integers(0, 5), matrices)
def test_column_projection_is_the_row_projection_of_each_column(k, W):
    projected = ColumnSparse(k).project(W)
    for column, expected in zip(projected.T, W.T, strict=True):
        np.testing.assert_array_equal(column[:, None], RowSparse(k).project(expected[:, None]))


@given(constraints, matrices)
def test_contains_refuses_what_projection_would_change(constraint, W):
    assert constraint.contains(W) == bool((constraint.project(W) == W).all())


@given(arrays(np.float64, 7, elements=st.integers(0, 2).map(float)), st.integers(0, 8))
def test_ties_go_to_the_lower_index(score, count):
    expected = sorted(range(7), key=lambda i: (-score[i], i))[:count]
    assert set(np.flatnonzero(largest(score, count))) == set(expected)


def quadratic_value(gram, cross, W):
    return 0.5 * np.vdot(W @ gram, W) - np.vdot(cross, W)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_row_choice_is_optimal_against_exhaustive_search(seed, k):
    rng = np.random.default_rng(seed)
    H, X = rng.random((8, 3)), rng.random((8, 6))
    gram, cross = H.T @ H, X.T @ H
    W = RowSparse(k).best(gram, cross, np.zeros((6, 3)))
    rows = np.array([lawson_hanson(H, x)[0] for x in X.T])
    best = min(quadratic_value(gram, cross, np.where(mask, rows, 0)) for mask in supports(RowSparse(k), rows.shape))
    assert RowSparse(k).contains(W)
    assert quadratic_value(gram, cross, W) == pytest.approx(best, rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_row_choice_beyond_a_baseline_is_optimal_against_exhaustive_search(seed, k):
    """What is lowered is the squared residual, of genes outside the budget that of their baseline."""
    rng = np.random.default_rng(seed)
    H, X, outside = rng.random((8, 3)), rng.random((8, 6)), rng.random((8, 2))
    left = np.array([np.linalg.lstsq(outside, x)[1][0] for x in X.T])  # by some other prediction
    constraint = RowSparse(k, baseline_gains=(X**2).sum(axis=0) - left)
    W = constraint.best(H.T @ H, X.T @ H, np.zeros((6, 3)))
    inside = np.array([lawson_hanson(H, x)[1] ** 2 for x in X.T])
    best = min(inside[list(chosen)].sum() + np.delete(left, chosen).sum() for chosen in combinations(range(6), k))
    residual = ((X - H @ W.T) ** 2).sum() - constraint.gain_outside(W)
    assert np.count_nonzero(W.any(axis=1)) == k
    assert residual == pytest.approx(best, rel=1e-9)


def test_a_gene_that_no_cell_shows_comes_after_those_that_lose_by_their_place():
    H, X = np.eye(4)[:, :2], np.zeros((4, 3))
    X[:, 1:] = 1.0  # as well predicted by a constant as can be
    constraint = RowSparse(1, baseline_gains=np.array([0.0, 4.0, 4.0]))
    W = constraint.best(H.T @ H, X.T @ H, np.zeros((3, 2)))
    assert list(W.any(axis=1)) == [False, True, False]
    assert constraint.is_spent(W)
    assert not constraint.is_spent(np.zeros((3, 2)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.booleans())
def test_no_gene_that_could_gain_more_is_passed_over(seed, k, required):
    """Genes that point away from the programs gain less than their bound says."""
    rng = np.random.default_rng(seed)
    H, X = rng.random((8, 4)), rng.standard_normal((8, 60))
    mask = rng.random(60) < 0.1 if required else None
    constraint = RowSparse(max(k, 0 if mask is None else int(mask.sum())), mask)
    gram, cross = H.T @ H, X.T @ H
    rows = nnls(gram, cross, np.zeros_like(cross))
    gains = row_gains(gram, cross, rows)
    assert (gain_bounds(gram, cross) >= gains).all()
    kept = largest(gains if mask is None else np.where(mask, np.inf, gains), constraint.n_genes)
    np.testing.assert_allclose(constraint.best(gram, cross, np.zeros_like(cross)), rows * kept[:, None], atol=1e-12)


def test_a_program_that_is_a_copy_of_another_gives_no_bound():
    H = np.random.default_rng(0).random((8, 2))[:, [0, 1, 1]]
    gram, cross = H.T @ H, np.random.default_rng(1).random((5, 3))
    assert (gain_bounds(gram, cross) == np.inf).all() or (gain_bounds(gram, cross) > 1e6).all()
    assert RowSparse(2).contains(RowSparse(2).best(gram, cross, np.zeros((5, 3))))


@given(matrices, st.integers(2, 4))
def test_required_rows_have_their_place(W, k):
    constraint = RowSparse(k, np.array([False, False, False, True, True]))
    projected = constraint.project(W)
    np.testing.assert_array_equal(projected[3:], np.maximum(W[3:], 0))
    np.testing.assert_array_equal(projected[:3], RowSparse(k - 2).project(W[:3]))
    assert constraint.contains(projected)
    assert constraint.contains(W) == bool((projected == W).all())


@given(constraints, st.integers(0, 2**32 - 1))
def test_best_is_feasible_and_never_above_a_feasible_start(constraint, seed):
    rng = np.random.default_rng(seed)
    H, X = rng.random((8, 3)), rng.random((8, 5))
    gram, cross = H.T @ H, X.T @ H
    start = constraint.project(rng.random((5, 3)))
    W = constraint.best(gram, cross, start)
    assert constraint.contains(W)
    assert quadratic_value(gram, cross, W) <= quadratic_value(gram, cross, start) + 1e-12


def test_entry_choice_does_not_depend_on_the_scale_shared_with_H():
    rng = np.random.default_rng(0)
    H, X, scale = rng.random((30, 3)), rng.random((30, 20)), np.array([1e-3, 1.0, 1e3])
    start = EntrySparse(15).project(rng.random((20, 3)))
    plain = EntrySparse(15).best(H.T @ H, X.T @ H, start)
    scaled_H = H * scale
    scaled = EntrySparse(15).best(scaled_H.T @ scaled_H, X.T @ scaled_H, start / scale)
    np.testing.assert_allclose(scaled * scale, plain, rtol=1e-6)


@pytest.mark.parametrize("constraint", [ColumnSparse(3), EntrySparse(6)])
def test_a_program_that_no_cell_uses_has_no_claim_to_the_budget_whatever_the_size_of_values(constraint):
    """Its weights are in no units, so that beside those of other programs the size of values would decide."""
    rng = np.random.default_rng(0)
    H, X, start = rng.random((8, 3)) * [1, 0, 1], rng.random((8, 5)), constraint.project(rng.random((5, 3)))
    plain = constraint.best(H.T @ H, X.T @ H, start)
    larger, smaller = (constraint.best(size * H.T @ H, size * X.T @ H, start) for size in (2.0**40, 2.0**-40))
    assert plain[:, [0, 2]].any(axis=0).all()
    assert not plain[:, 1].any()
    np.testing.assert_array_equal(larger, plain)
    np.testing.assert_array_equal(smaller, plain)
