"""AnnData whose values are in a file or a Dask array: every function does what it does in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anndata as ad
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import genesieve as gs
from genesieve import _anndata, io
from genesieve._slots.keys import KEPT, PREPARE

N_CELLS, N_GENES, RANK, BUDGET = 300, 90, 3, 40

pytestmark = pytest.mark.filterwarnings("ignore:Writing zarr v2")


def counts(store: Callable = sparse.csr_matrix, seed: int = 0) -> ad.AnnData:
    """Counts of three types of cells, with rare genes and cells of very different depth."""
    rng = np.random.default_rng(seed)
    types = np.arange(N_CELLS) % 3
    means = np.where(np.arange(N_GENES)[None, :] % 3 == types[:, None], 6.0, 0.6) * rng.uniform(0.5, 3, (N_CELLS, 1))
    means[:, :9] = 0.02
    adata = ad.AnnData(store(rng.poisson(means).astype(np.float32)))
    adata.obs_names = [f"c{i}" for i in range(N_CELLS)]
    adata.var_names = [f"g{i}" for i in range(N_GENES)]
    adata.obs["type"] = pd.Categorical([f"type {t}" for t in types])
    adata.layers["doubled"] = adata.X * 2
    return adata


def backed(adata: ad.AnnData, folder: Path) -> ad.AnnData:
    adata.write_h5ad(folder / "data.h5ad")
    return ad.read_h5ad(folder / "data.h5ad", backed="r")


def in_h5ad(adata: ad.AnnData, folder: Path) -> ad.AnnData:
    adata.write_h5ad(folder / "data.h5ad", compression="gzip")
    return io.open_in_file(folder / "data.h5ad")


def in_zarr(adata: ad.AnnData, folder: Path) -> ad.AnnData:
    adata.write_zarr(folder / "data.zarr")
    return io.open_in_file(folder / "data.zarr")


def lazy(adata: ad.AnnData, folder: Path) -> ad.AnnData:
    pytest.importorskip("dask")
    pytest.importorskip("xarray")
    adata.write_zarr(folder / "data.zarr")
    return ad.experimental.read_lazy(folder / "data.zarr")


def on_dask(adata: ad.AnnData, folder: Path) -> ad.AnnData:
    array = pytest.importorskip("dask.array")
    outside = adata.copy()
    outside.X = array.from_array(adata.X, chunks=(70, N_GENES), asarray=False)
    return outside


PLACES = [backed, in_h5ad, in_zarr, lazy, on_dask]


@pytest.fixture(params=PLACES, ids=lambda place: place.__name__)
def place(request) -> Callable[[ad.AnnData, Path], ad.AnnData]:
    return request.param


def both(place, folder: Path, **preparing) -> tuple[ad.AnnData, ad.AnnData]:
    """The same cells in memory and outside it, prepared."""
    inside, outside = counts(), place(counts(), folder)
    for adata in (inside, outside):
        gs.pp.prepare(adata, **preparing)
    return inside, outside


def assert_same_fit(inside: ad.AnnData, outside: ad.AnnData) -> None:
    kept = outside.var_names.isin(inside.var_names)
    assert outside.uns["ssnmf"]["objective"] == pytest.approx(inside.uns["ssnmf"]["objective"], rel=1e-6)
    np.testing.assert_allclose(outside.obsm["X_ssnmf"], inside.obsm["X_ssnmf"], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(outside.varm["ssnmf"][kept], inside.varm["ssnmf"], atol=1e-5)
    assert not outside.varm["ssnmf"][~kept].any()
    assert np.array_equal(np.asarray(outside.obs["ssnmf"]).astype(str), inside.obs["ssnmf"].astype(str))


@pytest.mark.parametrize("options", [{}, {"min_cells": 0.5}, {"preset": "paper"}, {"target_sum": 1e4}], ids=str)
def test_prepare_notes_what_it_does_in_memory(place, tmp_path, options):
    inside, outside = both(place, tmp_path, **options)
    same = ("values", "min_cells", "n_genes_given", "n_genes_kept", "target_sum", "log")
    assert {name: outside.uns[PREPARE][name] for name in same} == {name: inside.uns[PREPARE][name] for name in same}
    assert list(outside.var_names[np.asarray(outside.var[KEPT])]) == list(inside.var_names)
    prepared = _anndata.read_part(outside, np.arange(N_CELLS), np.flatnonzero(np.asarray(outside.var[KEPT])))
    np.testing.assert_allclose(prepared.toarray(), inside.X.toarray(), rtol=1e-6)


def test_a_fit_is_that_of_memory(place, tmp_path):
    inside, outside = both(place, tmp_path)
    for adata in (inside, outside):
        gs.tl.ssnmf(adata, RANK, BUDGET, exclude_genes="^g1")
    assert_same_fit(inside, outside)
    assert gs.metrics.nmi(inside.obs["type"], inside.obs["ssnmf"]) > 0.9
    assert outside.uns["ssnmf"]["explained"] == pytest.approx(inside.uns["ssnmf"]["explained"], rel=1e-6)


def test_values_stay_where_they_are(place, tmp_path):
    _, outside = both(place, tmp_path)
    before = type(outside.X)
    gs.tl.ssnmf(outside, RANK, BUDGET)
    assert type(outside.X) is before
    assert not isinstance(outside.X, np.ndarray)
    assert not sparse.issparse(outside.X)


def test_another_layer_is_read_where_it_is(tmp_path):
    inside, outside = counts(), in_zarr(counts(), tmp_path)
    for adata in (inside, outside):
        gs.pp.prepare(adata, layer="doubled")
        gs.tl.ssnmf(adata, RANK, BUDGET)
    assert_same_fit(inside, outside)


def test_raw_is_read_where_it_is(tmp_path):
    inside = counts()
    inside.raw = inside.copy()
    gs.pp.prepare(inside, raw_layer=None)
    outside = backed(inside, tmp_path)
    for adata in (inside, outside):
        with pytest.warns(UserWarning, match="look like raw counts"):
            gs.tl.ssnmf(adata, RANK, BUDGET, use_raw=True)
    assert_same_fit(inside, outside)


def test_projection_panel_and_tables_are_those_of_memory(place, tmp_path):
    inside, outside = both(place, tmp_path, min_cells=0)
    model = counts(seed=1)
    gs.pp.prepare(model, min_cells=0, target_sum=inside.uns[PREPARE]["target_sum"])
    gs.tl.ssnmf(model, RANK, BUDGET)
    for adata in (inside, outside):
        gs.tl.project(adata, model)
    np.testing.assert_allclose(outside.obsm["X_ssnmf"], inside.obsm["X_ssnmf"], rtol=1e-3, atol=1e-4)
    for adata in (inside, outside):
        gs.tl.ssnmf(adata, RANK, BUDGET)
        gs.tl.top_genes(adata)
        gs.tl.biclusters(adata)
        gs.tl.outliers(adata)
    assert list(gs.tl.panel(outside, 12)["gene"]) == list(gs.tl.panel(inside, 12)["gene"])
    assert list(outside.uns["ssnmf_top_genes"]["gene"]) == list(inside.uns["ssnmf_top_genes"]["gene"])


def test_gene_scores_and_markers_are_those_of_memory(place, tmp_path):
    inside, outside = both(place, tmp_path, min_cells=0)
    for adata in (inside, outside):
        gs.tl.ssnmf(adata, RANK, BUDGET)
        gs.tl.gene_scores(adata)
    for slot in ("ssnmf_scores", "ssnmf_score_p_values"):
        np.testing.assert_allclose(outside.varm[slot], inside.varm[slot], atol=1e-3)
    firsts = [gs.tl.markers(adata, 3)["gene"].tolist() for adata in (inside, outside)]
    assert firsts[0] == firsts[1]


def test_genes_that_were_not_kept_have_scores_too(tmp_path):
    adata = backed(counts(), tmp_path)
    gs.pp.prepare(adata)
    gs.tl.ssnmf(adata, RANK, BUDGET)
    gs.tl.gene_scores(adata)
    assert adata.varm["ssnmf_scores"].shape == (N_GENES, RANK)
    assert adata.varm["ssnmf_scores"][~adata.var[KEPT]].any(axis=1).all()


def test_the_biclusters_plot_shows_prepared_values(place, tmp_path):
    inside, outside = both(place, tmp_path)
    pictures = []
    for adata in (inside, outside):
        gs.tl.ssnmf(adata, RANK, BUDGET)
        gs.tl.biclusters(adata)
        ax = gs.pl.biclusters(adata)
        pictures.append(np.asarray(ax.images[0].get_array()))
        plt.close(ax.figure)
    np.testing.assert_allclose(pictures[1], pictures[0], atol=1e-4)


def test_a_view_of_a_file_comes_to_memory(tmp_path):
    outside = backed(counts(), tmp_path)[:100]
    with pytest.warns(UserWarning, match="look like raw counts"):
        gs.tl.ssnmf(outside, RANK, BUDGET)
    assert outside.obsm["X_ssnmf"].shape == (100, RANK)


def test_prepare_again_starts_from_the_stored_values(tmp_path):
    outside = in_h5ad(counts(), tmp_path)
    gs.pp.prepare(outside)
    first = dict(outside.uns[PREPARE])
    gs.pp.prepare(outside)
    assert outside.uns[PREPARE] == first


def test_copies_of_what_is_in_a_file_are_refused(tmp_path):
    outside = in_h5ad(counts(), tmp_path)
    for call in (lambda: gs.pp.prepare(outside, copy=True), lambda: gs.tl.ssnmf(outside, RANK, copy=True)):
        with pytest.raises(ValueError, match="copy must be False for data outside memory"):
            call()


def test_columns_on_disk_are_refused_with_the_way_to_rows(tmp_path):
    outside = in_h5ad(counts(sparse.csc_matrix), tmp_path)
    with pytest.raises(ValueError, match=r"stored by rows \(CSR\).*got csc: .*tocsr\(\)"):
        gs.pp.prepare(outside)


def test_a_result_survives_writing(place, tmp_path):
    _, outside = both(place, tmp_path)
    gs.tl.ssnmf(outside, RANK, BUDGET)
    loaded = outside.to_memory() if place is not backed else outside.copy(tmp_path / "copy.h5ad")
    loaded = loaded if place is not backed else loaded.to_memory()
    loaded.write_h5ad(tmp_path / "result.h5ad")
    again = ad.read_h5ad(tmp_path / "result.h5ad")
    np.testing.assert_array_equal(again.obsm["X_ssnmf"], outside.obsm["X_ssnmf"])
    assert again.uns["ssnmf"]["method"] == outside.uns["ssnmf"]["method"]


# ------------------------------------------------------------------------------------------------ opening files


@pytest.mark.parametrize("name", ["data.csv", "data.h5", "data.loom"])
def test_other_formats_are_not_read_in_blocks(tmp_path, name):
    (tmp_path / name).write_text("x")
    with pytest.raises(io.RequestError, match=r"must be an \.h5ad file or a zarr store"):
        io.open_in_file(tmp_path / name)


def test_broken_files_are_refused_in_one_line(tmp_path):
    with pytest.raises(FileNotFoundError, match="got nothing there"):
        io.open_in_file(tmp_path / "none.h5ad")
    (tmp_path / "text.h5ad").write_text("no HDF5")
    with pytest.raises(io.FileError, match="must be an AnnData in HDF5"):
        io.open_in_file(tmp_path / "text.h5ad")
    path = tmp_path / "cut.h5ad"
    counts().write_h5ad(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(io.FileError, match=r"cut\.h5ad"):
        io.open_in_file(path)


def test_the_size_in_memory_is_known_beforehand(tmp_path):
    adata = counts()
    adata.write_h5ad(tmp_path / "data.h5ad", compression="gzip")
    assert io.size_in_memory(tmp_path / "data.h5ad") == adata.X.data.nbytes + adata.X.indices.nbytes
    counts(np.asarray).write_zarr(tmp_path / "dense.zarr")
    assert io.size_in_memory(tmp_path / "dense.zarr") == N_CELLS * N_GENES * 4
