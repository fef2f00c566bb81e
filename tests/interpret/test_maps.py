from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from genesieve.interpret.maps import _strengths, leading_directions, place


def groups(n_each: int = 40, n_groups: int = 4, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = 8 * rng.normal(size=(n_groups, 6))
    of_cell = np.repeat(np.arange(n_groups), n_each)
    return centres[of_cell] + rng.normal(size=(len(of_cell), 6)), of_cell


def test_neighbours_stay_neighbours():
    points, of_cell = groups()
    places = place(leading_directions(points))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (of_cell[distances.argmin(axis=1)] == of_cell).mean() > 0.95


def test_groups_that_share_no_neighbours_stay_near_each_other():
    points, of_cell = groups(n_groups=8)
    places = place(leading_directions(points))
    centres = np.array([places[of_cell == group].mean(axis=0) for group in range(8)])
    radius = np.linalg.norm(places - centres[of_cell], axis=1).mean()
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert apart.min(axis=1).mean() < 9 * radius  # measured 5.6; 14 without the pull to the centre


def test_the_same_points_have_the_same_places():
    points, _ = groups()
    np.testing.assert_array_equal(place(points), place(points.copy()))
    assert not np.array_equal(place(points), place(points, seed=1))


@pytest.mark.parametrize("n_cells", [17, 60])
def test_equal_points_and_single_dimensions_have_places_too(n_cells):
    for points in (np.ones((n_cells, 3)), np.arange(n_cells, dtype=float)[:, None]):
        places = place(points)
        assert places.shape == (n_cells, 2)
        assert np.isfinite(places).all()


def test_strengths_add_up_to_the_same_for_every_cell_and_fall_with_distance():
    distances = np.sort(np.random.default_rng(0).gamma(2.0, size=(30, 15)), axis=1)
    strengths = _strengths(distances)
    np.testing.assert_allclose(strengths.sum(axis=1), 4.0, rtol=1e-4)
    assert (np.diff(strengths, axis=1) <= 0).all()
    assert (strengths[:, 0] == 1).all()


def test_directions_are_those_of_dense_values_and_keep_distances():
    points, _ = groups()
    dense, stored = leading_directions(np.abs(points)), leading_directions(sparse.csr_array(np.abs(points)))
    np.testing.assert_allclose(np.abs(dense), np.abs(stored), atol=1e-6)
    np.testing.assert_allclose(dense.mean(axis=0), 0.0, atol=1e-8)
