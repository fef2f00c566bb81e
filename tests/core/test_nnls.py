from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls as lawson_hanson

from genesieve.core.nnls import few_sweeps, nnls

problems = st.tuples(st.integers(1, 8), st.integers(0, 2**32 - 1))


def make(rank: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((rank + 4, rank)), rng.standard_normal((6, rank + 4))


@given(problems)
def test_agrees_with_lawson_hanson(problem):
    A, B = make(*problem)
    solution = nnls(A.T @ A, B @ A, np.zeros((6, A.shape[1])))
    expected = np.array([lawson_hanson(A, b)[0] for b in B])
    np.testing.assert_allclose(solution, expected, atol=1e-7 * max(1.0, expected.max()))


@given(problems)
def test_independent_of_the_start(problem):
    A, B = make(*problem)
    gram, cross = A.T @ A, B @ A
    cold = nnls(gram, cross, np.zeros_like(cross))
    warm = nnls(gram, cross, np.random.default_rng(0).random(cross.shape) * 10)
    np.testing.assert_allclose(warm, cold, atol=1e-6 * max(1.0, cold.max()))


@given(st.integers(2, 8), st.integers(0, 2**32 - 1), st.sampled_from([1e-1, 1e-2, 1e-4]))
def test_nearly_collinear_programs_are_solved_as_well(rank, seed, spread):
    rng = np.random.default_rng(seed)
    A = 1.0 + spread * rng.random((rank + 10, rank))
    B = rng.random((6, rank)) @ A.T + rng.standard_normal((6, rank + 10))
    gram, cross = A.T @ A, B @ A

    def value(x):
        return 0.5 * np.einsum("ij,jk,ik->i", x, gram, x) - np.einsum("ij,ij->i", x, cross)

    expected = np.array([lawson_hanson(A, b)[0] for b in B])
    assert (value(nnls(gram, cross, np.zeros_like(cross))) <= value(expected) + 1e-7 * np.abs(value(expected))).all()


@given(problems, st.floats(0, 5))
def test_never_raises_a_row_even_where_the_form_is_not_convex(problem, rho):
    A, B = make(*problem)
    rank = A.shape[1]
    gram, cross = A.T @ A + rho * (1 - np.eye(rank)), B @ A
    start = np.random.default_rng(1).random(cross.shape)

    def value(x):
        return 0.5 * np.einsum("ij,jk,ik->i", x, gram, x) - np.einsum("ij,ij->i", x, cross)

    end = nnls(gram, cross, start)
    assert (end >= 0).all()
    assert (value(end) <= value(start) + 1e-9 * (1 + np.abs(value(start)))).all()
    # A coordinate-wise minimum: no single coordinate can move downhill.
    slope = end @ gram - cross
    assert (slope >= -1e-5 * (1 + np.abs(cross))).all()
    assert (np.abs(slope[end > 1e-6]) <= 1e-5 * (1 + np.abs(cross).max())).all()


@given(problems, st.floats(0, 5))
def test_a_few_sweeps_lie_between_the_start_and_the_end(problem, rho):
    A, B = make(*problem)
    gram, cross = A.T @ A + rho * (1 - np.eye(A.shape[1])), B @ A
    start = np.random.default_rng(1).random(cross.shape)

    def value(x):
        return 0.5 * np.einsum("ij,jk,ik->i", x, gram, x) - np.einsum("ij,ij->i", x, cross)

    end = few_sweeps(gram, cross, start)
    assert (end >= 0).all()
    assert (value(end) <= value(start) + 1e-9 * (1 + np.abs(value(start)))).all()
    if rho == 0:
        assert (value(nnls(gram, cross, end)) <= value(end) + 1e-9 * (1 + np.abs(value(end)))).all()


@pytest.mark.parametrize("rank", [3, 12, 62, 63, 90])
def test_a_row_is_solved_as_if_it_were_alone(rank):
    """Factors are kept from row to row by their positive coordinates, as bits of one number where they fit in it."""
    rng = np.random.default_rng(rank)
    A = rng.random((2 * rank, rank))
    gram, cross = A.T @ A, rng.standard_normal((40, 2 * rank)) @ A
    cross[20:] = cross[:20]  # the second half finds what the first half left
    together = nnls(gram, cross, np.zeros_like(cross))
    alone = np.concatenate([nnls(gram, row[None], np.zeros((1, rank))) for row in cross])
    np.testing.assert_array_equal(together, alone)
    slope = together @ gram - cross
    assert (slope >= -1e-9 * np.abs(cross).max()).all()
    assert np.abs(slope[together > 0]).max() <= 1e-9 * np.abs(cross).max()


@pytest.mark.parametrize("rank", [1, 6, 30])
def test_a_row_is_swept_as_if_it_were_alone(rank):
    rng = np.random.default_rng(rank)
    A = rng.random((2 * rank, rank))
    gram, cross = A.T @ A, rng.standard_normal((150, 2 * rank)) @ A
    start = rng.random(cross.shape)
    alone = np.concatenate([few_sweeps(gram, cross[[row]], start[[row]]) for row in range(150)])
    np.testing.assert_array_equal(few_sweeps(gram, cross, start), alone)


@pytest.mark.parametrize("rank", [6, 40])
def test_from_zero_rows_are_lowered_further(rank):
    rng = np.random.default_rng(rank)
    A = rng.random((2 * rank, rank))
    gram, cross = A.T @ A, rng.random((50, 2 * rank)) @ A
    values = {
        name: (0.5 * np.einsum("ij,jk,ik->i", x, gram, x) - np.einsum("ij,ij->i", x, cross)).sum()
        for name, x in {
            "few": few_sweeps(gram, cross, np.zeros_like(cross)),
            "more": few_sweeps(gram, cross, np.zeros_like(cross), from_zero=True),
            "all": nnls(gram, cross, np.zeros_like(cross)),
        }.items()
    }
    assert values["few"] > values["more"] >= values["all"]


def test_dead_coordinates_stay_zero_and_finite():
    gram = np.diag([2.0, 0.0])
    solution = nnls(gram, np.array([[4.0, 0.0]]), np.array([[0.0, 3.0]]))
    assert solution[0] == pytest.approx([2.0, 0.0], rel=1e-12, abs=0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keeps_the_dtype_and_the_start(dtype):
    start = np.ones((3, 2), dtype=dtype)
    assert nnls(np.eye(2), np.ones((3, 2), dtype=dtype), start).dtype == dtype
    assert (start == 1).all()
