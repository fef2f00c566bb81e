"""Gene scores: laws, oracles, and what they promise on data with a known truth."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from genesieve.core.nnls import nnls
from genesieve.core.objective import gram_of
from genesieve.interpret import scores

seeds = st.integers(0, 2**32 - 1)


def draw(
    seed: int = 0, *, n_cells: int = 400, n_genes: int = 600, rank: int = 4, raised: float = 0.05
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logged counts of one depth, usages, and which genes each program raises."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n_genes, rank)) < raised
    spectra = rng.gamma(0.6, size=(n_genes, 1)) * np.where(truth, np.exp(rng.uniform(1.0, 2.5, truth.shape)), 1.0)
    usages = rng.dirichlet(np.full(rank, 0.2), n_cells)
    means = usages @ (spectra / spectra.sum(axis=0)).T * rng.lognormal(7.0, 0.5, (n_cells, 1))
    counts = rng.poisson(rng.gamma(5.0, means / 5.0)).astype(np.float64)
    logged = np.log1p(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) * 1000)
    return logged, usages * rng.lognormal(0.0, 0.3, (n_cells, 1)), truth


# ------------------------------------------------------------------------------------------------ laws


@given(seeds)
@example(220)  # a gene has two programs at its median
def test_scores_do_not_depend_on_the_order_of_cells_genes_or_programs(seed):
    X, H, _ = draw(seed, n_cells=60, n_genes=40)
    rng = np.random.default_rng(seed)
    cells, genes, programs = (rng.permutation(n) for n in (60, 40, 4))
    expected = scores.score_genes(X, H)
    found = scores.score_genes(X[cells][:, genes], H[cells][:, programs])
    np.testing.assert_allclose(found.score, expected.score[genes][:, programs], atol=1e-8)
    np.testing.assert_allclose(found.p_value, expected.p_value[genes][:, programs], atol=1e-8)


@given(seeds, st.floats(0.01, 100))
def test_scores_do_not_depend_on_the_size_of_usages(seed, factor):
    X, H, _ = draw(seed, n_cells=60, n_genes=40)
    sizes = np.random.default_rng(seed).uniform(0.1, 10, (60, 1))
    np.testing.assert_allclose(scores.score_genes(X, H).score, scores.score_genes(X, H * sizes).score, atol=1e-8)
    np.testing.assert_allclose(scores.score_genes(X, H).error, scores.score_genes(X, H * factor).error, atol=1e-8)


def test_dense_and_sparse_values_have_the_same_scores():
    X, H, _ = draw()
    expected, found = scores.score_genes(X, H), scores.score_genes(sparse.csr_array(X), H)
    np.testing.assert_allclose(found.score, expected.score, atol=1e-9)
    np.testing.assert_allclose(found.p_adjusted, expected.p_adjusted, atol=1e-9)


def test_the_typical_program_scores_zero():
    X, H, _ = draw()
    np.testing.assert_allclose(np.median(scores.score_genes(X, H).score, axis=1), 0.0, atol=1e-9)


def test_genes_that_say_nothing_score_nothing():
    X, H, _ = draw()
    X[:, :3] = 0.0
    X[:, 3] = 2.0
    found = scores.score_genes(X, H)
    np.testing.assert_allclose(found.score[:3], 0.0)
    np.testing.assert_allclose(found.p_value[:3], 1.0)
    assert np.isfinite(found.score).all()


def test_a_program_that_no_cell_uses_has_no_genes():
    X, H, _ = draw()
    H[:, 2] = 0.0
    found = scores.score_genes(X, H)
    assert not found.score[:, 2].any()
    assert (found.p_value[:, 2] == 1.0).all()


def test_a_single_program_is_scored_beside_its_absence():
    X, H, truth = draw(rank=2)
    found = scores.score_genes(X, H[:, :1] / H.sum(axis=1, keepdims=True))
    assert found.score.shape == (X.shape[1], 1)
    ours, others = truth[:, 0] & ~truth[:, 1], truth[:, 1] & ~truth[:, 0]
    assert np.median(found.score[ours, 0]) > 0 > np.median(found.score[others, 0])


def test_values_that_are_all_zero_have_no_scores():
    found = scores.score_genes(np.zeros((5, 3)), np.ones((5, 2)))
    assert not found.score.any()
    assert (found.p_adjusted == 1.0).all()


# ------------------------------------------------------------------------------------------------ the promise


def held_out(X: np.ndarray, W: np.ndarray, selected: np.ndarray) -> tuple[np.ndarray, scores.HeldOut]:
    """Usages from all selected genes, and with each part of them left out."""

    def usages(genes: np.ndarray) -> np.ndarray:
        return nnls(gram_of(W[genes]), X[:, genes] @ W[genes], np.zeros((len(X), W.shape[1])))

    part = scores.parts_of(selected)
    without = [usages(selected & (part != number)) for number in range(scores.PARTS)]
    return usages(selected), scores.HeldOut(without, part)


def test_the_cut_keeps_its_promise_with_usages_from_the_same_genes():
    rates = []
    for seed in range(3):
        X, H, truth = draw(seed, n_genes=1500)
        W = nnls(gram_of(H), X.T @ H, np.zeros(truth.shape))
        estimated, without = held_out(X, W, np.arange(1500) % 2 == 0)
        found = scores.score_genes(X, estimated, held_out=without)
        chosen = found.p_adjusted < 0.1
        rates.append((chosen & ~truth).sum() / max(chosen.sum(), 1))
        assert (chosen & truth).sum() > 0.6 * truth.sum()
    assert np.mean(rates) <= 0.15


def test_a_gene_of_pure_noise_is_not_raised_by_the_usages_it_made():
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(500, 60))  # no programs at all
    W = rng.gamma(1.0, size=(60, 4))
    estimated, without = held_out(X, W, np.ones(60, dtype=bool))
    dipped = scores.score_genes(X, estimated).p_adjusted < 0.05
    honest = scores.score_genes(X, estimated, held_out=without).p_adjusted < 0.05
    assert dipped.sum() > 20  # what the remedy is for
    assert honest.sum() <= 3


@pytest.mark.parametrize("rank", [3, 6, 13])
def test_p_values_of_usages_dealt_out_to_other_cells_are_uniform_or_larger(rank):
    shares = []
    for seed in range(4):
        X, _, _ = draw(seed, n_cells=600, raised=0.0)
        usages = np.random.default_rng(seed).dirichlet(np.full(rank, 0.1), 600)
        p_value = scores.score_genes(X, usages).p_value
        shares.append([(p_value < level).mean() for level in (0.1, 0.01)])
    tenth, hundredth = np.mean(shares, axis=0)
    assert 0.05 < tenth < 0.12
    assert 0.001 < hundredth < 0.015


@given(seeds)
def test_programs_that_share_cells_only_make_p_values_larger(seed):
    rng = np.random.default_rng(seed)
    score, error, half_step = rng.normal(0, 3, (20, 5)), rng.uniform(0.1, 1, (20, 5)), rng.uniform(0, 0.1, (20, 1))
    raised, freedom = scores.Raised(score, error, half_step), np.full((20, 5), 30.0)
    overlap = rng.random((5, 5)) * (1 - np.eye(5))
    apart, beside = (scores._p_values(raised, shared, freedom) for shared in (np.zeros((5, 5)), overlap))
    assert (beside >= apart).all()
    first = score.argmax(axis=1)  # as far as others are sure to be raised, and no farther
    alone = np.where(np.arange(5) == first[:, None], score, -1.0)
    some = scores._p_values(raised._replace(score=alone), overlap, freedom)[np.arange(20), first]
    np.testing.assert_array_equal(some, apart[np.arange(20), first])


def test_genes_of_a_type_do_not_pass_for_the_activity_of_its_cells():
    rng = np.random.default_rng(0)
    types = np.eye(6)[rng.integers(6, size=4000)]
    activity = (types[:, 0] > 0) * (rng.random(4000) < 0.5) * 0.5
    usages = np.column_stack([types * (1 - activity)[:, None], activity])
    raised = np.arange(300)[:, None] // 40 == np.arange(7)
    X = np.log1p(rng.poisson(usages @ (1.0 + 4.0 * raised).T))  # above what the logarithms of both programs mix to
    which = np.zeros(300, dtype=int)
    found = scores.regress(scores.as_source(X), usages[:, None], which)
    values, freedom = scores._raised(found, which), found.freedom[which]
    naive, ours = (
        scores._p_values(values, shared, freedom)[:, 6] < 0.01 for shared in (0 * found.overlap, found.overlap)
    )
    assert naive[raised[:, 0]].mean() > 0.3
    assert ours[raised[:, 0]].mean() < 0.05
    assert ours[raised[:, 6]].all()


def test_parts_share_the_selected_genes_out():
    selected = np.arange(20) % 2 == 0
    part = scores.parts_of(selected)
    assert ((part >= 0) == selected).all()
    assert np.bincount(part[selected]).min() >= 3
    assert (scores.parts_of(np.arange(20) < 2) == -1).all()


# ------------------------------------------------------------------------------------------------ cNMF's definition


def test_cnmf_scores_are_least_squares_of_z_scores():
    X, H, _ = draw()
    X = X[:, X.any(axis=0)]
    tpm = np.expm1(X)
    expected = np.linalg.lstsq(H, (tpm - tpm.mean(axis=0)) / tpm.std(axis=0), rcond=None)[0].T
    np.testing.assert_allclose(scores.cnmf_scores(tpm, H), expected, atol=1e-8)
    np.testing.assert_allclose(scores.cnmf_scores(sparse.csr_array(tpm * 1000), H), expected, atol=1e-8)
    np.testing.assert_allclose(scores.cnmf_scores(sparse.csr_array(X), H, log_base=np.e), expected, atol=1e-8)
    np.testing.assert_allclose(scores.cnmf_scores(X / np.log(2), H, log_base=2.0), expected, atol=1e-8)


CNMF = """
import sys
import numpy as np
from scipy import sparse
from cnmf.cnmf import efficient_ols_all_cols
given = np.load(sys.argv[1])
np.save(sys.argv[2], efficient_ols_all_cols(given["H"], sparse.csr_matrix(given["tpm"]), normalize_y=True).T)
"""


def test_cnmf_scores_are_those_of_cnmf(tmp_path):
    X, H, _ = draw()
    X[:, 0] = 0.0
    tpm = np.expm1(X)
    np.savez(tmp_path / "given.npz", H=H, tpm=tpm)
    command = [os.environ.get("GENESIEVE_CNMF_PYTHON", sys.executable), "-c", CNMF, "given.npz", "scores.npy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if "No module named 'cnmf'" in done.stderr:
        pytest.skip("cnmf is not installed")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(scores.cnmf_scores(tpm, H), np.load(tmp_path / "scores.npy"), atol=1e-6)
