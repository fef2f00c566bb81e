from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import genesieve as gs
from genesieve.core.cells.blocks import Blocks
from genesieve.interpret import panels

seeds = st.integers(0, 2**32 - 1)
N_GENES = 30


def draw(seed: int, n_genes: int = N_GENES) -> panels.GeneStatistics:
    rng = np.random.default_rng(seed)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    means = rng.gamma(1.0, size=(n_genes, 3))
    return panels.GeneStatistics(
        mean=means.mean(axis=1),
        loadings=rng.normal(size=(n_genes, 4)),
        noise=rng.uniform(0.2, 1.0, n_genes),
        shares=np.array([0.4, 0.3, 0.2, 0.1]),
        gaps=means[:, pairs[:, 0]] - means[:, pairs[:, 1]],
        pairs=pairs,
        within_loadings=rng.normal(size=(n_genes, 2)),
        within_noise=rng.uniform(0.2, 1.0, n_genes),
    )


def free(n_genes: int = N_GENES, **rules) -> panels.Rules:
    given = {"allowed": np.ones(n_genes, dtype=bool), "required": np.zeros(n_genes, dtype=bool)}
    return panels.Rules(**{**given, "programs": np.arange(n_genes) % 3, **rules})


def kept_variation(s: panels.GeneStatistics, genes: list[int]) -> float:
    """Share of the leading variance that a linear prediction from the genes explains, written out."""
    L = s.loadings[genes]
    left = np.eye(4) - L.T @ np.linalg.solve(L @ L.T + np.diag(s.noise[genes]), L)
    return float(s.shares @ (1 - np.diag(left)))


def confusion(s: panels.GeneStatistics, genes: list[int], bound: float) -> float:
    """The mean of the bounds on the confusion of pairs, written out."""
    L = s.within_loadings[genes]
    scatter = L @ L.T + np.diag(s.within_noise[genes])
    gaps = s.gaps[genes]
    return float(np.exp(-(gaps * np.linalg.solve(scatter, gaps)).sum(axis=0) / bound).mean())


# ------------------------------------------------------------------------------------------------ laws: the choice


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_panels_are_nested_and_keep_what_is_required(seed):
    statistics = draw(seed)
    small, large = (panels.choose_panel(statistics, free(), n).genes for n in (4, 9))
    np.testing.assert_array_equal(small, large[:4])
    assert len(set(large.tolist())) == 9
    required = np.arange(N_GENES) >= 28
    assert {28, 29} == set(panels.choose_panel(statistics, free(required=required), 4).genes[:2].tolist())


@given(seeds, st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=15, deadline=None)
def test_each_gene_adds_most_to_what_those_before_it_show(seed, variation):
    many = 150  # so that bounds on gains leave most of them out
    s, chosen, left = draw(seed, many), [], set(range(many))
    found = panels.choose_panel(s, free(many), 5, variation=variation, bound=8.0)
    for gene in found.genes.tolist():
        reached = {
            other: variation * kept_variation(s, [*chosen, other])
            - (1 - variation) * confusion(s, [*chosen, other], 8.0)
            for other in left
        }
        assert reached[gene] >= max(reached.values()) - 1e-9
        chosen.append(gene)
        left.remove(gene)
    np.testing.assert_allclose(found.variation.sum(), kept_variation(s, chosen))
    np.testing.assert_allclose(1 - found.separation.sum(), confusion(s, chosen, 8.0))


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_sums_stay_within_their_limits_and_the_panel_is_full(seed):
    values = np.random.default_rng(seed).uniform(0.1, 1.0, N_GENES)
    most = float(np.sort(values)[:10].sum() * 1.2)
    found = panels.choose_panel(draw(seed), free(limits=[panels.Limit("max_cost", values, most)]), 10).genes
    assert len(found) == 10
    assert values[found].sum() <= most * (1 + 1e-9)


@given(seeds, st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_every_program_has_the_genes_asked_for(seed, least):
    rules = free(min_per_program=least)
    found = panels.choose_panel(draw(seed), rules, 3 * least).genes
    assert (np.bincount(rules.programs[found], minlength=3) == least).all()


# ------------------------------------------------------------------------------------------------ the statistics


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(0)
    types = np.repeat(np.arange(4), 40)
    means = rng.gamma(0.5, size=(4, 60)) * 3
    return rng.poisson(means[types]).astype(np.float64), types


def test_statistics_are_the_same_dense_and_sparse_and_reproduce_the_variances(planted):
    X, types = planted
    found = []
    for matrix in (X, sparse.csr_array(X)):
        cells = Blocks(matrix)
        scores = panels.leading_scores(cells, np.random.default_rng(0), n_directions=8)
        found.append(panels.gene_statistics(cells, scores, types))
    dense, stored = found
    np.testing.assert_allclose(np.abs(dense.loadings), np.abs(stored.loadings), atol=1e-6)
    np.testing.assert_allclose(dense.gaps, stored.gaps)
    extra = dense.noise - np.maximum(X.var(axis=0) - (dense.loadings**2).sum(axis=1), 0)
    np.testing.assert_allclose(extra, extra[0], atol=1e-9)  # the same least noise for all genes
    means = np.array([X[types == kind].mean(axis=0) for kind in range(4)]).T
    np.testing.assert_allclose(dense.gaps, means[:, dense.pairs[:, 0]] - means[:, dense.pairs[:, 1]])


def test_leading_scores_are_principal_components(planted):
    X, _ = planted
    scores = panels.leading_scores(Blocks(X), np.random.default_rng(0), n_directions=3)
    expected = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[1][:3] ** 2 / len(X)
    np.testing.assert_allclose(scores.var(axis=0), expected, rtol=0.02)


def test_the_gene_model_is_the_same_dense_and_sparse():
    X = gs.datasets.synthetic(random_state=0).X
    H = np.random.default_rng(0).random((60, 3))
    for got, expected in zip(panels.gene_model(sparse.csr_array(X), H), panels.gene_model(X, H), strict=True):
        np.testing.assert_allclose(got, expected)
    W, noise = panels.gene_model(X, H)
    np.testing.assert_allclose(noise, ((X - H @ W.T) ** 2).mean(axis=0))


# ------------------------------------------------------------------------------------------------ the judgement


def test_a_judgement_is_of_cells_held_out(planted):
    X, types = planted
    scores = panels.leading_scores(Blocks(X), np.random.default_rng(0), n_directions=3)
    good = panels.judge_panel(X[:, :20], scores, types, 4, np.random.default_rng(0))
    noise = np.random.default_rng(1).normal(size=X.shape)
    bad = panels.judge_panel(noise, scores, types, 4, np.random.default_rng(0))
    assert good.accuracy[-1] > 0.9
    assert bad.accuracy[-1] < 0.45  # of four types, by chance a quarter
    assert bad.variation[-1] < 0.1 < 0.5 < good.variation[-1]
    np.testing.assert_allclose(good.confusion.sum(axis=1), 1.0)
    assert good.sizes[-1] == 20


def test_types_of_a_few_cells_are_not_judged(planted):
    X, types = planted
    rare = np.where(np.arange(len(types)) < 3, 4, types)
    found = panels.judge_panel(X[:, :20], X[:, :3] - X[:, :3].mean(axis=0), rare, 5, np.random.default_rng(0))
    assert np.isnan(found.confusion[4]).all()
    assert np.isfinite(found.accuracy).all()
