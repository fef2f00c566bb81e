"""Batches by a column of an AnnData: slots, projection, files, and the command line."""

import anndata
import numpy as np
import pytest
from typer.testing import CliRunner

import genesieve as gs
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


def test_the_command_line_fits_and_projects(counts, tmp_path):
    counts.write_h5ad(tmp_path / "data.h5ad")
    run = ["run", "data.h5ad", "--rank", "3", "--genes", "50", "--batch"]
    place = {"data.h5ad": str(tmp_path / "data.h5ad")}

    def call(*words):
        return CliRunner().invoke(app, [place.get(word, word) for word in words])

    refused = call(*run, "donor", "-o", str(tmp_path / "refused"))
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
