"""Programs of several samples beside each other."""

from __future__ import annotations

import numpy as np

from genesieve.interpret.metaprograms import SAME_PROGRAM, Found, alike, join, match_pair, meta_programs, pooled
from genesieve.interpret.names import suggest_names, told_apart

GENES, FDR = 40, 0.05


def program(number: int, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """Raises ten genes of its own."""
    profile = np.zeros(GENES)
    profile[10 * number : 10 * number + 10] = 1.0
    return profile + noise * np.random.default_rng(seed).random(GENES)


def sample(*ranks: list[np.ndarray], sure: float = 1e-6) -> Found:
    """Programs by rank; ``sure`` is the p-value of genes that they raise."""
    rows = np.array([row for rank in ranks for row in rank])
    numbers = np.repeat(np.arange(len(ranks)), [len(rank) for rank in ranks])
    return Found(rows, rows / np.linalg.norm(rows, axis=1, keepdims=True), np.where(rows > 0.5, sure, 0.8), numbers)


def test_a_group_has_one_item_of_each_owner_and_no_pair_that_is_unlike():
    rng = np.random.default_rng(0)
    points = rng.random((30, 5))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    similarity, owner = points @ points.T, np.arange(30) % 4
    groups = join(similarity, owner, 0.8)
    assert sorted(item for group in groups for item in group) == list(range(30))
    for group in groups:
        assert len(set(owner[group])) == len(group)
        inside = similarity[np.ix_(group, group)][np.triu_indices(len(group), 1)]
        assert not len(inside) or inside.mean() >= 0.8 - 1e-9
    assert join(similarity, owner, 1.1) == [[item] for item in range(30)]


def test_groups_do_not_depend_on_the_order_of_items():
    rng = np.random.default_rng(1)
    points = rng.random((12, 6))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    owner, order = np.arange(12) % 3, rng.permutation(12)
    groups = {frozenset(group) for group in join(points @ points.T, owner, 0.7)}
    moved = join(points[order] @ points[order].T, owner[order], 0.7)
    assert {frozenset(order[group].tolist()) for group in moved} == groups


def test_shared_and_private_programs_are_told_apart():
    samples = [
        sample([program(0, 0.1, s), program(1, 0.1, s + 10)], [program(1, 0.1, s + 20), program(0, 0.1, s + 30)])
        for s in range(3)
    ]
    lonely = sample([program(0), program(2)], [program(0), program(2)])
    metas = meta_programs([*samples, lonely], FDR)
    assert [len(meta.samples) for meta in metas] == [4, 3, 1]
    assert [int(meta.profile.argmax()) // 10 for meta in metas] == [0, 1, 2]
    assert metas[0].recurrence == 1.0
    assert metas[0].agreement > 0.9
    assert np.isnan(metas[2].agreement)
    np.testing.assert_array_equal(metas[1].confidence > 0.5, program(1) > 0)
    for meta in metas:
        assert np.linalg.norm(meta.weights) == np.linalg.norm(meta.profile) == 1.0 or np.isclose(
            np.linalg.norm(meta.weights), 1.0
        )


def test_programs_that_raise_a_little_of_everything_are_not_one():
    broad = [program(number) + 0.6 for number in (0, 1)]
    cosine = broad[0] @ broad[1] / np.prod(np.linalg.norm(broad, axis=1))
    assert cosine > SAME_PROGRAM  # as all genes are raised, which says nothing of what the two share
    metas = meta_programs([sample([one], [one]) for one in broad], FDR)
    assert [len(meta.samples) for meta in metas] == [1, 1]


def test_a_level_that_all_genes_share_does_not_change_how_alike_programs_are():
    rng = np.random.default_rng(0)
    profiles = rng.random((4, GENES))
    np.testing.assert_allclose(alike(profiles + rng.random((4, 1))), alike(profiles))
    np.testing.assert_allclose(np.diag(alike(profiles)), 1.0)
    assert not alike(np.vstack([profiles, np.ones(GENES)]))[-1, :-1].any()


def test_a_blend_at_a_low_rank_gives_way_to_its_parts():
    ranks = [[program(0) + program(1)], [program(0), program(1)], [program(0), program(1)], [program(0), program(1)]]
    metas = meta_programs([sample(*ranks), sample(*ranks)], FDR, min_ranks=0.0)
    assert len(metas) == 2
    assert all(not (meta.profile[:10].any() and meta.profile[10:20].any()) or meta.agreement > 0.9 for meta in metas)


def test_what_one_rank_finds_alone_is_dropped():
    noise = [program(3, 0.2, seed) for seed in range(2)]
    ranks = [[program(0)], [program(0)], [program(0)], [program(0), noise[0]]]
    metas = meta_programs([sample(*ranks), sample(*ranks)], FDR)
    assert len(metas) == 1


def test_samples_bear_each_other_out():
    unsure = sample([program(0), program(1)], [program(0), program(1)], sure=0.03)  # not one gene is raised by itself
    assert meta_programs([unsure], FDR) == []
    metas = meta_programs([unsure] * 5, FDR)
    assert [int(meta.raised.sum()) for meta in metas] == [10, 10]
    assert not any(meta.confidence.any() for meta in metas)


def test_p_values_of_samples_are_one_p_value():
    rng = np.random.default_rng(0)
    p_values = rng.random((4, 2000))
    np.testing.assert_allclose(pooled(p_values[:1]), p_values[0], rtol=1e-6)
    np.testing.assert_allclose(pooled(p_values), pooled(p_values[[2, 0, 3, 1]]))
    assert abs((pooled(p_values) <= 0.05).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 2000)  # uniform where nothing is
    assert np.isfinite(pooled(np.array([[0.0, 1.0], [1.0, 0.0]]))).all()


def test_programs_of_two_fits_are_matched_once_each():
    a = np.array([program(0), program(1), program(2)])
    b = np.array([program(2, 0.1), program(0, 0.1, 1), program(3)])
    match = match_pair(a, b)
    assert match.partner.tolist() == [1, -1, 0]
    assert match.mutual.tolist() == [True, False, True]
    turned = match_pair(b, a)
    assert turned.partner.tolist() == [2, 0, -1]


def test_names_come_from_the_set_that_scores_highest_and_none_from_chance():
    rng = np.random.default_rng(0)
    genes = [f"g{number}" for number in range(200)]
    scores = rng.normal(size=(200, 3))
    scores[:10, 0] += 5.0
    scores[10:20, 1] += 5.0
    markers = [[genes[i] for i in np.argsort(-scores[:, program])[:20]] for program in range(3)]
    sets = {"first": genes[:10], "second": genes[10:20], "other": genes[50:60]}
    found = suggest_names(scores, markers, sets, genes, fdr=0.01)
    assert [each.name for each in found] == ["first", "second", ""]
    assert found[0].auc > 0.95
    assert set(found[0].shared) <= set(sets["first"])
    assert found[0].runner_up in ("second", "other")
    assert found[0].p_adjusted < found[0].runner_up_p_adjusted


def test_a_set_without_a_marker_of_the_program_does_not_keep_another_from_naming_it():
    genes = [f"g{number}" for number in range(200)]
    scores = np.arange(200.0)[::-1, None]  # the first genes score highest
    sets = {"no marker": genes[10:40], "three markers": genes[:3]}
    found = suggest_names(scores, [genes[:10]], sets, genes, fdr=0.05)[0]
    assert (found.name, found.runner_up) == ("three markers", "no marker")
    assert found.runner_up_p_adjusted < found.p_adjusted


def test_names_that_clash_are_told_apart():
    markers = [["CD3D"], ["CD8A"], ["MS4A1"], ["CD3D"]]
    assert told_apart(["T", "T", "B", ""], markers) == ["T (CD3D)", "T (CD8A)", "B", ""]
    assert told_apart(["T", "T", "T", "T"], markers) == ["T (CD3D)", "T (CD8A)", "T (MS4A1)", "T (2)"]
    assert len(set(told_apart(["T", "T", "T (CD3D)", "B"], markers))) == 4
