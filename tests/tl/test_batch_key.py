"""Batches by a column of an AnnData: slots, projection, files, and the command line."""

import anndata
import numpy as np
import pytest
from typer.testing import CliRunner

import genesieve as gs
from genesieve._slots.read import read_fit
from genesieve.cli import app


@pytest.fixture(scope="module")
def counts():
    sizes = {"n_cells": 300, "n_genes": 300, "n_types": 3, "n_activities": 0, "n_batches": 2}
    return gs.datasets.programs("easy", **sizes, batch_effect=0.4)


@pytest.fixture(scope="module")
def fitted(counts):
    adata = gs.pp.prepare(counts, copy=True)
    gs.tl.ssnmf(adata, 3, 50, batch_key="batch")
    return adata


def test_slots(fitted):
    assert list(fitted.uns["ssnmf"]["batches"]) == ["batch 1", "batch 2"]
    assert fitted.uns["ssnmf"]["params"]["batch_key"] == "batch"
    assert fitted.varm["ssnmf_batch_scales"].shape == (fitted.n_vars, 2)


def test_a_fit_without_batches_removes_the_scales(fitted):
    adata = fitted.copy()
    gs.tl.ssnmf(adata, 3, 50)
    assert "ssnmf_batch_scales" not in adata.varm
    assert "batches" not in adata.uns["ssnmf"]


def test_projecting_known_cells_gives_their_usages_also_after_a_reload(fitted, tmp_path):
    fitted.write_h5ad(tmp_path / "fit.h5ad")
    for model in (fitted, anndata.read_h5ad(tmp_path / "fit.h5ad")):
        new = fitted[:40].copy()
        gs.tl.project(new, model)
        np.testing.assert_allclose(new.obsm["X_ssnmf"], fitted.obsm["X_ssnmf"][:40], atol=1e-4)


def test_new_cells_without_the_column_are_one_new_batch(fitted):
    new = fitted[fitted.obs["batch"] == "batch 2"].copy()
    del new.obs["batch"]
    by_name = new.copy()
    by_name.obs["plate"] = "p1"
    gs.tl.project(new, fitted)
    gs.tl.project(by_name, fitted, batch_key="plate")
    np.testing.assert_allclose(new.obsm["X_ssnmf"], by_name.obsm["X_ssnmf"])


def test_bad_columns_are_named(fitted):
    adata = fitted.copy()
    with pytest.raises(KeyError, match=r"batch_key must name a column of adata\.obs, got 'donor'"):
        gs.tl.ssnmf(adata, 3, 50, batch_key="donor")
    adata.obs["donor"] = adata.obs["batch"].astype(object)
    adata.obs.loc[adata.obs_names[:3], "donor"] = None
    with pytest.raises(ValueError, match="batch_key 'donor' must name the batch of every cell, got 3 missing values"):
        gs.tl.ssnmf(adata, 3, 50, batch_key="donor")


def test_a_column_of_the_result_is_no_batch(fitted):
    adata = fitted.copy()
    with pytest.raises(ValueError, match="batch_key must not be a column that the result is written to, got 'ssnmf'"):
        gs.tl.ssnmf(adata, 3, 50, batch_key="ssnmf")
    gs.tl.ssnmf(adata, 3, 50, batch_key="ssnmf", key_added="second", init="random", max_iter=3)


def test_two_cells_of_two_batches_are_projected(fitted):
    cells = [int(np.flatnonzero(fitted.obs["batch"] == name)[0]) for name in ("batch 1", "batch 2")]
    new = fitted[cells].copy()
    gs.tl.project(new, fitted)
    np.testing.assert_allclose(new.obsm["X_ssnmf"], fitted.obsm["X_ssnmf"][cells], atol=1e-4)


def test_the_command_line_fits_and_projects(counts, tmp_path):
    counts = counts.copy()
    run = ["run", "data.h5ad", "--rank", "3", "--genes", "50", "--batch"]
    place = {"data.h5ad": str(tmp_path / "data.h5ad")}

    def call(*words):
        return CliRunner().invoke(app, [place.get(word, word) for word in words])

    counts.obs["cell"] = counts.obs_names
    counts.write_h5ad(tmp_path / "data.h5ad")
    for column in ("donor", "cell"):
        refused = call(*run, column, "-o", str(tmp_path / "refused"))
        assert refused.exit_code != 0
        assert not (tmp_path / "refused").exists()
    done = call(*run, "batch", "-o", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    result = anndata.read_h5ad(tmp_path / "out" / "result.h5ad")
    assert result.uns["ssnmf"]["params"]["batch_key"] == "batch"
    projected = call("project", "data.h5ad", "--model", str(tmp_path / "out"), "-o", str(tmp_path / "projected"))
    assert projected.exit_code == 0, projected.output
    again = anndata.read_h5ad(tmp_path / "projected" / "result.h5ad")
    np.testing.assert_allclose(again.obsm["X_ssnmf"], result.obsm["X_ssnmf"], atol=1e-3)


def values_on_scales(adata):
    """The values that a fit saw, dense."""
    number = adata.obs["batch"].cat.codes.to_numpy()
    return adata.X.toarray() / adata.varm["ssnmf_batch_scales"].T[number]


@pytest.fixture(scope="module")
def rescaled(fitted):
    """The same fit on data that have the scales in them, and so no batches: all that reads values gives the same."""
    adata = fitted.copy()
    adata.X = values_on_scales(fitted)
    del adata.varm["ssnmf_batch_scales"], adata.uns["ssnmf"]["batches"], adata.uns["ssnmf"]["params"]["batch_key"]
    return adata


@pytest.mark.parametrize("method", ["regression", "cnmf"])
def test_genes_are_scored_on_the_scales_of_their_batches(fitted, rescaled, method):
    for adata in (fitted, rescaled):
        gs.tl.gene_scores(adata, method=method)
    np.testing.assert_allclose(fitted.varm["ssnmf_scores"], rescaled.varm["ssnmf_scores"], rtol=1e-4, atol=1e-4)


def test_scores_do_not_depend_on_where_the_cells_are(fitted, tmp_path):
    gs.tl.gene_scores(fitted)
    fitted.write_h5ad(tmp_path / "fit.h5ad")
    backed = anndata.read_h5ad(tmp_path / "fit.h5ad", backed="r")
    gs.tl.gene_scores(backed)
    np.testing.assert_allclose(backed.varm["ssnmf_scores"], fitted.varm["ssnmf_scores"], rtol=1e-4, atol=1e-4)


def test_panels_are_chosen_and_blocks_drawn_on_the_scales(fitted, rescaled):
    panels = [gs.tl.panel(adata, 12) for adata in (fitted, rescaled)]
    assert list(panels[0]["gene"]) == list(panels[1]["gene"])
    shown = []
    for adata in (fitted, rescaled):
        gs.tl.biclusters(adata)
        (image,) = gs.pl.biclusters(adata, scale=None).images
        shown.append(np.asarray(image.get_array()))
    np.testing.assert_allclose(*shown, rtol=1e-5)


def test_a_column_that_no_longer_has_the_batches_is_named(fitted):
    adata = fitted.copy()
    adata.obs["batch"] = adata.obs["batch"].cat.rename_categories({"batch 1": "north"})
    with pytest.raises(ValueError, match=r"adata\.obs\['batch'\] must have the batches of the fit, .* got 'north'"):
        gs.tl.gene_scores(adata)
    del adata.obs["batch"]
    with pytest.raises(KeyError, match=r"the batches of the fit must be in a column of adata\.obs, got 'batch'"):
        gs.tl.gene_scores(adata)


# ------------------------------------------------------------------------------------------------ clusters


def agreement(one, other):
    return gs.metrics.nmi(np.asarray(one, dtype=str), np.asarray(other, dtype=str))


@pytest.mark.parametrize("labels", ["argmax", "leiden"])
def test_a_single_batch_changes_nothing_in_the_clusters(counts, labels):
    with_one, without = (gs.pp.prepare(counts, copy=True) for _ in range(2))
    with_one.obs["run"] = "a"
    gs.tl.ssnmf(with_one, 3, 50, batch_key="run", labels=labels)
    gs.tl.ssnmf(without, 3, 50, labels=labels)
    assert list(with_one.obs["ssnmf_cluster"]) == list(without.obs["ssnmf_cluster"])
    np.testing.assert_array_equal(with_one.varm["ssnmf_directions"], without.varm["ssnmf_directions"])
    for name in ("usages", "scores"):
        kept = (adata.uns["ssnmf"]["clusters"][name] for adata in (with_one, without))
        np.testing.assert_array_equal(*kept)


def test_with_batches_the_graph_looks_at_genes_that_vary_alike(fitted):
    chosen = fitted.var["ssnmf_selected"].to_numpy()
    values = values_on_scales(fitted)[:, chosen]
    weights = read_fit(fitted, "ssnmf").gene_weights[chosen]
    even = fitted.varm["ssnmf_directions"][chosen] * (weights * values.std(axis=0))[:, None]  # on genes of spread one
    np.testing.assert_allclose(even.T @ even, np.eye(even.shape[1]), atol=1e-3)
    scores = values / values.std(axis=0) @ even
    np.testing.assert_allclose(fitted.uns["ssnmf"]["clusters"]["scores"], scores, atol=1e-2)


def test_clusters_with_batches_are_the_types(fitted):
    cells = fitted.obs[~fitted.obs["doublet"]]
    assert agreement(cells["ssnmf_cluster"], cells["cell_type"]) > 0.75
    assert agreement(cells["ssnmf_cluster"], cells["batch"]) < agreement(cells["cell_type"], cells["batch"]) + 0.05


@pytest.mark.parametrize("labels", ["argmax", "leiden"])
def test_the_order_of_batches_does_not_matter_to_clusters(fitted, labels):
    adata, renamed = fitted.copy(), fitted.copy()
    renamed.obs["batch"] = renamed.obs["batch"].cat.rename_categories({"batch 1": "z", "batch 2": "a"})
    for cells in (adata, renamed):
        gs.tl.ssnmf(cells, 3, 50, batch_key="batch", labels=labels)
    assert agreement(adata.obs["ssnmf_cluster"], renamed.obs["ssnmf_cluster"]) > 0.95


def test_cells_of_known_and_new_batches_go_to_their_clusters(fitted):
    known, new = fitted.copy(), fitted[fitted.obs["batch"] == "batch 2"].copy()
    new.obs["batch"] = "batch 3"
    for cells in (known, new):
        expected = cells.obs["ssnmf_cluster"].astype(str)
        gs.tl.project(cells, fitted)
        assert (cells.obs["ssnmf_cluster"].astype(str) == expected).mean() > 0.95


@pytest.mark.parametrize("form", ["backed", "lazy"])
def test_clusters_with_batches_do_not_depend_on_where_the_cells_are(fitted, tmp_path, form):
    fitted.write_h5ad(tmp_path / "fit.h5ad")
    read = {"backed": lambda path: anndata.read_h5ad(path, backed="r"), "lazy": anndata.experimental.read_lazy}[form]
    outside = read(tmp_path / "fit.h5ad")
    gs.tl.ssnmf(outside, 3, 50, batch_key="batch")
    assert agreement(outside.obs["ssnmf_cluster"], fitted.obs["ssnmf_cluster"]) > 0.95
