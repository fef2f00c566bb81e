from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesieve.core.objective import (
    Orthogonal,
    Overlap,
    RelativeOverlap,
    gradient,
    gram_of,
    half_squared_residual,
    pack_penalty,
    unpack_penalty,
)

seeds = st.integers(0, 2**32 - 1)
penalties = st.sampled_from([Overlap(), Overlap(0.7), Overlap(2.0, 0.1), RelativeOverlap(0.05), RelativeOverlap(2.0)])


def make(seed):
    rng = np.random.default_rng(seed)
    return rng.random((9, 7)), rng.random((9, 3)) + 0.1, rng.random((7, 3)) + 0.1


def by_definition(penalty, X, H, W):
    fit = 0.5 * np.linalg.norm(X - H @ W.T) ** 2
    if isinstance(penalty, Overlap):
        overlap = sum(h.sum() ** 2 - (h**2).sum() for h in H)  # Eq. 10
        return fit + penalty.rho / 2 * overlap + penalty.ridge / 2 * (H**2).sum()
    norms = np.linalg.norm(W, axis=0)
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    return fit + penalty.omega / 2 * sum(norms[a] * norms[b] * H[:, a] @ H[:, b] for a, b in pairs)


def in_gram_form(penalty, X, H, W):
    gram = gram_of(H)
    return half_squared_residual(np.vdot(X, X), W, X.T @ H, gram) + penalty.value(gram, gram_of(W))


@given(penalties, seeds)
def test_gram_form_is_the_objective(penalty, seed):
    X, H, W = make(seed)
    assert in_gram_form(penalty, X, H, W) == pytest.approx(by_definition(penalty, X, H, W), rel=1e-10)


def finite_differences(function, at, step=1e-6):
    slope = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        shift = np.zeros_like(at)
        shift[index] = step
        slope[index] = (function(at + shift) - function(at - shift)) / (2 * step)
    return slope


@given(penalties, seeds)
def test_gradients_against_finite_differences(penalty, seed):
    X, H, W = make(seed)
    in_H = gradient(H, penalty.cell_quadratic(gram_of(W)), X @ W)
    np.testing.assert_allclose(in_H, finite_differences(lambda H: by_definition(penalty, X, H, W), H), atol=1e-6)
    # The majoriser is tight at W, so its gradient is that of the objective.
    in_W = gradient(W, penalty.gene_quadratic(gram_of(H), gram_of(W)), X.T @ H)
    np.testing.assert_allclose(in_W, finite_differences(lambda W: by_definition(penalty, X, H, W), W), atol=1e-6)


@given(penalties, seeds, seeds)
def test_the_quadratic_in_genes_lies_above_the_objective(penalty, seed, other):
    X, H, W = make(seed)
    quadratic, cross = penalty.gene_quadratic(gram_of(H), gram_of(W)), X.T @ H
    V = np.random.default_rng(other).random(W.shape) * 2

    def model(W):
        return 0.5 * np.vdot(W @ quadratic, W) - np.vdot(cross, W)

    rise = by_definition(penalty, X, H, V) - by_definition(penalty, X, H, W)
    assert rise <= model(V) - model(W) + 1e-9


@given(st.floats(0, 3), seeds)
def test_the_relative_penalty_does_not_see_the_gauge(omega, seed):
    X, H, W = make(seed)
    scale = np.array([1e-2, 1.0, 1e2])
    moved = in_gram_form(RelativeOverlap(omega), X, H / scale, W * scale)
    assert moved == pytest.approx(in_gram_form(RelativeOverlap(omega), X, H, W), rel=1e-9)


@given(st.floats(0, 3), seeds, st.floats(0.1, 100))
def test_the_relative_penalty_scales_with_the_data(omega, seed, factor):
    X, H, W = make(seed)
    scaled = in_gram_form(RelativeOverlap(omega), factor * X, factor * H, W)
    assert scaled == pytest.approx(factor**2 * in_gram_form(RelativeOverlap(omega), X, H, W), rel=1e-9)


@given(seeds)
def test_hard_assignment_is_the_best_of_all_single_programs(seed):
    X, H, W = make(seed)
    assigned = Orthogonal().cell_step(gram_of(W))(H, X @ W)
    assert (np.count_nonzero(assigned, axis=1) <= 1).all()
    for x, h in zip(X, assigned, strict=True):
        alone = [np.linalg.norm(x - (x @ w) / (w @ w) * w) for w in W.T]
        assert np.linalg.norm(x - W @ h) == pytest.approx(min(alone), rel=1e-9)


@pytest.mark.parametrize("penalty", [Overlap(0.5), RelativeOverlap(0.5), Orthogonal()])
def test_an_empty_program_gives_no_nan(penalty):
    X, H, W = make(0)
    H[:, 1], W[:, 1] = 0, 0
    gram, gene_gram = gram_of(H), gram_of(W)
    assert np.isfinite(penalty.value(gram, gene_gram))
    assert np.isfinite(penalty.gene_quadratic(gram, gene_gram)).all()
    assert np.isfinite(penalty.cell_step(gene_gram)(H, X @ W)).all()


def test_exactly_orthogonal_programs_have_no_gradient_step():
    with pytest.raises(TypeError, match="use solver 'bcd'"):
        Orthogonal().cell_quadratic(np.eye(2))


@pytest.mark.parametrize("penalty", [Overlap(0.3, 0.1), RelativeOverlap(0.2), Orthogonal()])
def test_penalties_survive_packing(penalty):
    assert unpack_penalty(pack_penalty(penalty)) == penalty


def test_usages_do_not_depend_on_the_order_of_programs():
    """Also where the cells' problem is not convex and has minima to choose from."""
    rng = np.random.default_rng(5)
    W = rng.gamma(0.5, 1.0, (12, 2)) @ rng.gamma(0.5, 1.0, (2, 6)) + 0.05 * rng.random((12, 6))
    X = rng.gamma(0.5, 1.0, (60, 12))
    penalty, order = RelativeOverlap(0.3), np.array([4, 2, 0, 5, 1, 3])
    quadratic = penalty.cell_quadratic(W.T @ W)
    assert np.linalg.eigvalsh(quadratic)[0] < 0
    H = penalty.cell_step(W.T @ W)(np.zeros((60, 6)), X @ W)
    moved = penalty.cell_step(W[:, order].T @ W[:, order])(np.zeros((60, 6)), X @ W[:, order])
    np.testing.assert_allclose(moved, H[:, order], atol=1e-9)


def test_where_minima_are_many_the_start_does_not_choose_however_far_apart_sizes_are():
    """Eigenvalues of small programs drown in the rounding of large ones unless each is in its own units."""
    rng = np.random.default_rng(1888)
    W = rng.gamma(0.5, 1.0, (12, 2)) @ rng.gamma(0.5, 1.0, (2, 4)) + 0.05 * rng.random((12, 4))
    W *= 2.0 ** np.array([0, -30, 0, -30])
    X, step = rng.gamma(0.5, 1.0, (60, 12)), RelativeOverlap(0.3).cell_step(W.T @ W)
    elsewhere = rng.random((60, 4)) / np.linalg.norm(W, axis=0)
    np.testing.assert_array_equal(step(elsewhere, X @ W), step(np.zeros((60, 4)), X @ W))
