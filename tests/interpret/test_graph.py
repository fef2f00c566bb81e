from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesieve.interpret import graph
from genesieve.interpret.graph import Cells, Reference, graph_clusters, keep_some, n_directions
from genesieve.interpret.groups import directions
from genesieve.metrics import nmi


def types(n_types: int = 4, size: int = 40, *, seed: int = 0) -> tuple[Cells, np.ndarray]:
    """Cells of some types, each with a program and a direction of its own."""
    rng, known = np.random.default_rng(seed), np.repeat(np.arange(n_types), size)
    H = np.eye(n_types)[known] + 0.2 * rng.random((len(known), n_types))
    scores = rng.normal(0, 0.1, (len(known), n_directions(n_types)))
    scores[np.arange(len(known)), known] += 1
    return Cells(directions(H), scores), known


# ------------------------------------------------------------------------------------------------ laws


@given(st.integers(0, 30), st.integers(1, 6), st.booleans())
@settings(max_examples=25, deadline=None)
def test_any_cells_have_clusters_and_a_confidence(seed, n_clusters, scored):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(n_clusters, 40))
    H = directions(rng.random((n, 3)) * (rng.random((n, 3)) < 0.7))
    found = graph_clusters(Cells(H, rng.standard_normal((n, 12)) if scored else None), n_clusters, seed=seed)
    assert found.labels.shape == found.confidence.shape == (n,)
    assert set(found.labels) == set(range(found.labels.max() + 1))
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()


def test_cells_of_many_follow_those_of_the_graph(monkeypatch):
    cells, known = types(size=60)
    monkeypatch.setattr(graph, "GRAPH_CELLS", (80, 80))
    found = graph_clusters(cells, 4)
    assert nmi(known, found.labels) == pytest.approx(1.0)
    chosen = graph.choose_cells(len(cells), 0)
    assert len(chosen) == 80
    assert (np.diff(chosen) > 0).all()


@pytest.mark.parametrize(("n_cells", "size"), [(2999, 2999), (14_000, 3000), (20_000, 4000), (10**6, 10_000)])
def test_a_graph_is_of_a_fifth_of_many_cells_within_bounds(n_cells, size):
    assert len(graph.choose_cells(n_cells, 0)) == size


def test_a_reference_has_cells_of_every_cluster_and_few_of_the_largest(monkeypatch):
    cells, known = types(3, 200)
    labels = np.where(np.arange(len(known)) < 590, 0, 1 + np.arange(len(known)) % 2)
    monkeypatch.setattr(graph, "KEPT_CELLS", 90)
    kept = keep_some(cells, labels)
    assert np.bincount(kept.labels).tolist() == [30, 5, 5]
    assert kept.n_clusters == 3


def test_equal_cells_do_not_all_have_the_same_neighbours():
    H = np.repeat(np.eye(2), 300, axis=0)
    shared = graph._shared_neighbours(H)
    assert shared.nnz < 0.5 * 300**2
    np.testing.assert_array_equal(graph_clusters(Cells(H), 2).labels, np.repeat([0, 1], 300))


# ------------------------------------------------------------------------------------------------ examples


def test_new_cells_follow_what_scores_show_where_usages_are_alike():
    rng = np.random.default_rng(0)
    (cells, known), (others, of_others) = types(), types(seed=1)
    of_chance, of_chance_too = (directions(rng.random(cells.usages.shape)) for _ in range(2))
    reference = Reference(Cells(of_chance, cells.scores), known, 4)
    found = reference.follow(Cells(of_chance_too, others.scores))
    np.testing.assert_array_equal(found.labels, of_others)
    assert (reference.follow(Cells(others.usages, cells.scores[::-1])).labels != of_others).mean() > 0.5


def test_cells_between_two_clusters_are_unsure():
    cells, known = types(2)
    between = Cells(
        directions(np.ones((1, 2))), (cells.scores[:40].mean(axis=0) + cells.scores[40:].mean(axis=0))[None] / 2
    )
    reference = Reference(cells, known, 2)
    assert reference.follow(between).confidence[0] < 0.6 < reference.follow(cells).confidence.mean()
