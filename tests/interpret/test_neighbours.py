from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesieve.interpret.neighbours import QUERIES_AT_ONCE, Voters


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 15), st.sampled_from([np.float32, np.float64]))
def test_the_nearest_points_vote(seed, n_points, n, dtype):
    rng = np.random.default_rng(seed)
    points, queries = rng.normal(size=(n_points, 3)), rng.normal(size=(20, 3)).astype(dtype)
    labels, n = rng.integers(0, 4, n_points), min(n, n_points)
    votes = np.zeros((20, 4))
    Voters(points, labels).vote(queries, n, 0.5, votes)
    distances = ((queries[:, None].astype(float) - points) ** 2).sum(axis=2)
    nearest = labels[np.argsort(distances, axis=1)[:, :n]]
    np.testing.assert_array_equal(votes, 0.5 * (nearest[:, :, None] == np.arange(4)).sum(axis=1))


@pytest.mark.parametrize("n_queries", [0, 1, QUERIES_AT_ONCE, 2 * QUERIES_AT_ONCE + 3])
def test_votes_are_added_and_do_not_depend_on_who_else_is_asked_for(n_queries):
    rng = np.random.default_rng(0)
    voters, queries = Voters(rng.normal(size=(50, 2)), rng.integers(0, 3, 50)), rng.normal(size=(n_queries, 2))
    votes = np.ones((n_queries, 3))
    voters.vote(queries, 5, 1.0, votes)
    np.testing.assert_array_equal(votes.sum(axis=1), 8.0)
    for i in range(0, n_queries, 50):
        alone = np.ones((1, 3))
        voters.vote(queries[[i]], 5, 1.0, alone)
        np.testing.assert_array_equal(votes[[i]], alone)
