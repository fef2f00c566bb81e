from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from genesieve.interpret.graph import n_directions
from genesieve.interpret.groups import directions, margin
from genesieve.interpret.labels import RULES, label_cells, nearest
from genesieve.metrics import nmi

USAGES = arrays.arrays(np.float64, (12, 3), elements=st.just(0.0) | st.floats(1e-3, 100))


def groups(n_groups: int = 4, size: int = 30, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Usages of cells in groups, each with a direction of its own, and of any length."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_groups), size)
    H = np.eye(n_groups)[labels] + 0.2 * rng.random((len(labels), n_groups))
    return H * rng.uniform(1, 10, size=(len(labels), 1)), labels


# ------------------------------------------------------------------------------------------------ laws


@given(USAGES)
def test_the_margin_is_a_share_and_has_no_scale(H):
    confidence = margin(H)
    assert ((confidence >= 0) & (confidence <= 1)).all()
    np.testing.assert_allclose(margin(4.0 * H), confidence)
    np.testing.assert_array_equal(label_cells(H, "argmax").labels, H.argmax(axis=1))


@given(USAGES)
def test_directions_have_unit_length_or_none(H):
    lengths = np.linalg.norm(directions(H), axis=1)
    np.testing.assert_allclose(lengths, H.any(axis=1))


@pytest.mark.parametrize("rule", RULES)
def test_groups_are_found_whatever_the_size_of_usages_and_the_order_of_cells(rule):
    H, known = groups()
    order = np.random.default_rng(1).permutation(len(H))
    for usages, truth in ((H, known), (7.0 * H, known), (H[order], known[order])):
        found = label_cells(usages, rule)
        assert nmi(truth, found.labels) == pytest.approx(1.0)
        assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
        assert found.confidence.mean() > 0.5


@pytest.mark.parametrize("rule", ["kmeans", "leiden"])
def test_the_number_of_clusters_is_the_one_asked_for(rule):
    H, _ = groups(6)
    for n_clusters in (1, 2, 5, 6):
        assert len(np.unique(label_cells(H, rule, n_clusters=n_clusters).labels)) == n_clusters
    assert len(np.unique(label_cells(H, rule).labels)) == 6


@pytest.mark.parametrize("rule", ["kmeans", "leiden"])
def test_the_same_seed_gives_the_same_clusters(rule):
    H = np.random.default_rng(0).random((150, 5))
    first, second = (label_cells(H, rule, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.confidence, second.confidence)


@pytest.mark.parametrize("rule", ["kmeans", "leiden"])
def test_cells_of_a_fit_are_nearest_to_their_own_centre(rule):
    H, _ = groups()
    found = label_cells(H, rule)
    np.testing.assert_array_equal(nearest(H, found.centers).labels, found.labels)


def test_the_unit_of_scores_does_not_matter():
    rng = np.random.default_rng(0)
    H, scores = rng.random((200, 4)), rng.standard_normal((200, n_directions(4)))
    first, second = (label_cells(H, "leiden", scores=unit * scores) for unit in (1.0, 1024.0))
    np.testing.assert_array_equal(first.labels, second.labels)


# ------------------------------------------------------------------------------------------------ examples


def test_what_usages_show_dimly_and_scores_clearly_is_found():
    H, programs = groups(2, 120)
    known = programs + np.tile(np.repeat([0, 1], 60), 2) * programs  # those of the second program are of two types
    H[known == 2, 0] += 0.15 * H[known == 2, 1]
    scores = np.random.default_rng(1).normal(0, 0.1, (len(H), n_directions(H.shape[1])))
    scores[np.arange(len(H)), known] += 1
    assert nmi(known, label_cells(H, "leiden", n_clusters=3, scores=scores).labels) == pytest.approx(1.0)
    assert nmi(known, label_cells(H, "leiden", n_clusters=3).labels) < 0.9


def test_ties_do_not_cost_clusters():
    H = np.zeros((40, 3))
    H[:17] = np.eye(3)[np.arange(17) % 3]  # the others use nothing
    assert len(np.unique(label_cells(H, "leiden").labels)) == 3


def test_a_small_group_is_set_apart_before_a_large_one_is_cut():
    H, _ = groups(3, 200)
    small, _ = groups(3, 20, seed=1)
    H = np.concatenate([H[:400], small[40:]])  # two groups of 200, one of 20
    known = np.repeat([0, 1, 2], [200, 200, 20])
    assert nmi(known, label_cells(H, "leiden", n_clusters=3).labels) == pytest.approx(1.0)


def test_a_higher_resolution_gives_more_clusters_the_largest_first():
    H = np.random.default_rng(0).random((300, 4))
    few, many = (label_cells(H, "leiden", resolution=resolution).labels for resolution in (0.5, 4.0))
    assert few.max() < many.max()
    sizes = np.bincount(many)
    assert (np.diff(sizes) <= 0).all()


def test_cells_between_two_groups_are_unsure():
    H, _ = groups(2)
    H = np.concatenate([H, [[1.0, 1.0], [1.0, 0.05]]])
    for rule in ("argmax", "kmeans"):
        confidence = label_cells(H, rule).confidence
        assert confidence[-2] < 0.2 < 0.8 < confidence[-1]


@pytest.mark.parametrize("rule", RULES)
def test_few_cells_and_one_program(rule):
    assert label_cells(np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 0.0]]), rule).labels.shape == (3,)
    one = label_cells(np.ones((5, 1)), rule)
    assert set(one.labels) == {0}
    assert (one.confidence == 1).all()
