"""Scores of every gene, their markers, and enrichment by them, in the slots of an AnnData."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import false_discovery_control

import genesieve as gs
from genesieve import tl
from genesieve.interpret import genesets
from genesieve.interpret.scores import cnmf_scores
from small_fits import SETS, fitted, make

pytestmark = [
    pytest.mark.filterwarnings("error"),
    # anndata sets options of pandas that the newest pandas calls out of date.
    pytest.mark.filterwarnings("ignore:.*option is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Writing zarr v2"),
]

SLOTS = ("ssnmf_scores", "ssnmf_score_p_values")


def demo(**options) -> ad.AnnData:
    adata = gs.datasets.demo()
    tl.ssnmf(adata, 6, 200, **options)
    return adata


def test_every_gene_has_a_score_selected_or_not():
    adata = demo(exclude_genes="^RP[SL]")
    assert tl.gene_scores(adata) is None
    scores, p_values = (adata.varm[slot] for slot in SLOTS)
    assert scores.shape == p_values.shape == (adata.n_vars, 6)
    assert np.isfinite(scores).all()
    assert ((p_values >= 0) & (p_values <= 1)).all()
    left_out = ~adata.var["ssnmf_given"].to_numpy()
    assert left_out.any()
    assert scores[left_out].any(axis=1).all()


def test_markers_name_the_types_that_programs_are():
    adata = demo()
    table = tl.markers(adata, 8)
    of_type = pd.crosstab(adata.obs["ssnmf"], adata.obs["cell_type"]).idxmax(axis=0)
    known = {"CD19+ B": {"CD79A", "MS4A1"}, "CD56+ NK": {"GNLY", "NKG7"}, "Dendritic": {"FCER1A", "CLEC10A"}}
    for name, genes in known.items():
        assert genes <= set(table.loc[table["program"] == int(of_type[name]), "gene"])


def test_markers_are_the_highest_scores_that_pass_the_cut():
    adata = demo()
    table = tl.markers(adata, 7)
    pd.testing.assert_frame_equal(adata.uns["ssnmf_markers"], table)
    assert list(table)[:5] == ["program", "gene", "score", "p_value", "p_adjusted"]
    assert list(table)[5:] == ["weight", "specificity", "selected"]
    p_adjusted = false_discovery_control(adata.varm["ssnmf_score_p_values"], axis=0)
    for program, rows in table.groupby("program"):
        scores = np.where(p_adjusted[:, int(program)] <= 0.05, adata.varm["ssnmf_scores"][:, int(program)], 0.0)
        np.testing.assert_allclose(rows["score"], np.sort(scores)[::-1][: len(rows)])
        assert list(rows["selected"]) == list(adata.var.loc[rows["gene"], "ssnmf_selected"])
    every, free = tl.markers(adata, None), tl.markers(adata, None, fdr=None)
    assert (every["p_adjusted"] <= 0.05).all()
    assert len(every) == ((p_adjusted <= 0.05) & (adata.varm["ssnmf_scores"] > 0)).sum()
    assert len(free) == (adata.varm["ssnmf_scores"] > 0).sum()


def test_scores_go_with_the_key_and_with_the_fit():
    adata = demo(key_added="mine")
    tl.markers(adata, 3, key="mine")
    assert {"mine_scores", "mine_score_p_values"} <= set(adata.varm)
    assert "mine_markers" in adata.uns
    tl.ssnmf(adata, 3, 50, key_added="mine")
    assert not {"mine_scores", "mine_score_p_values"} & set(adata.varm)
    assert "mine_markers" not in adata.uns


@pytest.mark.parametrize("file", ["data.h5ad", "data.zarr"])
def test_scores_survive_writing(file, tmp_path):
    adata = demo()
    tl.markers(adata, 5)
    getattr(adata, "write_zarr" if file.endswith("zarr") else "write_h5ad")(tmp_path / file)
    back = getattr(ad, "read_zarr" if file.endswith("zarr") else "read_h5ad")(tmp_path / file)
    for slot in SLOTS:
        np.testing.assert_array_equal(back.varm[slot], adata.varm[slot])
    pd.testing.assert_frame_equal(tl.markers(back, 5), adata.uns["ssnmf_markers"])


def test_copies_and_views_are_scored_and_the_given_object_stays():
    adata = demo()
    copied = tl.gene_scores(adata, copy=True)
    assert SLOTS[0] in copied.varm
    assert SLOTS[0] not in adata.varm
    view = adata[:, :]
    tl.gene_scores(view)
    np.testing.assert_allclose(view.varm[SLOTS[0]], copied.varm[SLOTS[0]])
    assert SLOTS[0] not in adata.varm


def test_a_fit_of_another_layer_is_scored_by_it():
    adata = gs.datasets.demo()
    adata.layers["logged"] = adata.X.copy()
    tl.ssnmf(adata, 4, 100, layer="logged")
    tl.gene_scores(adata)
    expected = adata.varm[SLOTS[0]]
    adata.X = adata.X[np.random.default_rng(0).permutation(adata.n_obs)]
    tl.gene_scores(adata)
    np.testing.assert_allclose(adata.varm[SLOTS[0]], expected)


@pytest.mark.parametrize("options", [{"n_components": 1}, {"orthogonality": "exact"}, {"sparsity": "columns"}], ids=str)
def test_scores_of_other_models_are_finite(options):
    adata = gs.datasets.demo()
    tl.ssnmf(adata, **{"n_components": 4, "n_genes": 30, **options})
    tl.gene_scores(adata)
    assert np.isfinite(adata.varm[SLOTS[0]]).all()


def test_very_few_selected_genes_are_scored_by_their_own_usages():
    adata = make()
    tl.ssnmf(adata, 3, 3)
    tl.gene_scores(adata)
    assert np.isfinite(adata.varm[SLOTS[0]]).all()


def test_scores_of_cnmf_have_no_p_values_and_no_cut():
    adata = demo()
    tl.gene_scores(adata)
    tl.gene_scores(adata, method="cnmf")
    X = adata.X.toarray() if sparse.issparse(adata.X) else adata.X
    np.testing.assert_allclose(adata.varm[SLOTS[0]], cnmf_scores(np.expm1(X), adata.obsm["X_ssnmf"]), atol=1e-5)
    assert SLOTS[1] not in adata.varm
    table = tl.markers(adata, 4)
    assert table["p_adjusted"].isna().all()
    assert (table.groupby("program").size() == 4).all()


def test_the_ranked_test_ranks_all_genes_by_their_scores():
    adata = fitted()
    table = tl.enrich(adata, SETS, test="ranked")
    expected = genesets.rank_enrichment(adata.varm[SLOTS[0]], SETS, list(adata.var_names))
    got = table.sort_values(["program", "term"])
    np.testing.assert_allclose(got["p_value"].to_numpy().reshape(3, 2), expected.p_value)
    np.testing.assert_allclose(got["auc"].to_numpy().reshape(3, 2), expected.auc)
    some = [*adata.var_names[:100], "elsewhere"]
    assert set(tl.enrich(adata, SETS, test="ranked", background=some)["background"]) == {100}


def test_enrichment_tests_the_markers():
    adata = fitted()
    table = tl.enrich(adata, SETS)
    markers = tl.markers(adata, 50)
    sizes = markers.groupby("program").size()
    assert table.groupby("program")["list_size"].first().to_dict() == {**dict.fromkeys(range(3), 0), **sizes}


def test_an_object_without_values_has_its_biclusters_tested():
    adata = fitted()
    expected = tl.enrich(adata, SETS, genes="biclusters")
    for slot in SLOTS:
        adata.varm.pop(slot, None)
    adata.X = None
    pd.testing.assert_frame_equal(tl.enrich(adata, SETS), expected)
    with pytest.raises(ValueError, match="must hold values"):
        tl.enrich(adata, SETS, test="ranked")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: tl.gene_scores(a, method="t"), "method must be"),
        (lambda a: tl.markers(a, 0), "n must be"),
        (lambda a: tl.markers(a, fdr=-1), "fdr must be"),
        (lambda a: tl.enrich(a, SETS, test="t"), "test must be"),
    ],
)
def test_wrong_requests_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(fitted())
