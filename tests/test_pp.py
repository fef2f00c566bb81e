from __future__ import annotations

import logging

import anndata as ad
import numpy as np
import pytest
import scanpy as sc
from scipy import sparse

from genesieve import pp, tl
from genesieve._anndata import kind_of_values, read_part
from genesieve.io import open_in_file
from material import DEMO, data_sets_here, read_data_set, shared_file, skip_unless_all_here

pytestmark = [
    pytest.mark.filterwarnings("error"),
    # anndata sets options of pandas that the newest pandas calls out of date.
    pytest.mark.filterwarnings("ignore:.*option is deprecated:DeprecationWarning"),
]

STORAGES = [np.asarray, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array]


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def draw_counts(seed: int = 0, n_cells: int = 60, n_genes: int = 40) -> np.ndarray:
    rng = np.random.default_rng(seed)
    depth, level = rng.gamma(4.0, size=(n_cells, 1)), rng.gamma(0.3, size=n_genes)
    counts = rng.poisson(depth * level).astype(np.float32)
    counts[:, 0] = 0
    counts[:, 1] += 1
    return counts


def make(values, store=sparse.csr_matrix) -> ad.AnnData:
    return ad.AnnData(store(values))


# ------------------------------------------------------------------------------------------------ laws


@pytest.mark.parametrize("store", STORAGES)
@pytest.mark.parametrize("kind", ["counts", "linear", "log"])
def test_storage_stays_and_does_not_matter(store, kind):
    counts = draw_counts()
    values = {"counts": counts, "linear": counts * 33.3, "log": np.log1p(counts)}[kind]
    adata, reference = make(values, store), make(values, np.asarray)
    assert pp.prepare(adata) is None
    pp.prepare(reference)
    assert sparse.issparse(adata.X) == sparse.issparse(store(values))
    assert getattr(adata.X, "format", None) == getattr(store(values), "format", None)
    assert adata.X.dtype == np.float32
    np.testing.assert_allclose(dense(adata.X), reference.X, rtol=1e-6)
    assert adata.uns["genesieve_prepare"]["values"] == kind


@pytest.mark.parametrize("store", STORAGES)
def test_a_copy_leaves_the_original_alone(store):
    adata = make(draw_counts(), store)
    before = dense(adata.X).copy()
    prepared = pp.prepare(adata, copy=True)
    np.testing.assert_array_equal(dense(adata.X), before)
    assert not adata.uns
    assert not adata.layers
    pp.prepare(adata)
    np.testing.assert_array_equal(dense(prepared.X), dense(adata.X))


def test_raw_values_are_kept_where_the_record_says():
    adata = make(draw_counts())
    genes = adata.var_names
    original = adata.to_df()
    pp.prepare(adata)
    assert adata.uns["genesieve_prepare"]["raw_values"] == "layers['raw']"
    np.testing.assert_array_equal(dense(adata.layers["raw"]), original[adata.var_names].to_numpy())
    assert set(adata.var_names) < set(genes)


def test_values_read_from_a_layer_stay_there():
    adata = make(np.zeros((60, 40), dtype=np.float32))
    adata.layers["counts"] = sparse.csr_matrix(draw_counts().astype(np.int64))
    expected = make(draw_counts())
    pp.prepare(expected)
    pp.prepare(adata, layer="counts")
    np.testing.assert_allclose(dense(adata.X), dense(expected.X), rtol=1e-6)
    assert [name for name in adata.layers if name is not None] == ["counts"]
    assert adata.uns["genesieve_prepare"]["raw_values"] == "layers['counts']"


def test_logged_values_of_a_layer_are_copied_not_shared():
    adata = make(np.zeros((60, 40), dtype=np.float32))
    adata.layers["log"] = sparse.csr_matrix(np.log1p(draw_counts()))
    pp.prepare(adata, layer="log")
    adata.X.data[:] = 0
    assert adata.layers["log"].sum() > 0


def test_preparing_twice_changes_nothing_more():
    adata = make(draw_counts())
    pp.prepare(adata)
    once = dense(adata.X).copy()
    pp.prepare(adata)
    np.testing.assert_array_equal(dense(adata.X), once)


def test_views_are_prepared_as_their_copies_are():
    adata = make(draw_counts())
    view, copied = adata[10:50], adata[10:50].copy()
    pp.prepare(view)
    pp.prepare(copied)
    np.testing.assert_array_equal(dense(view.X), dense(copied.X))
    assert adata.shape == (60, 40)


# ------------------------------------------------------------------------------------------------ parity


def test_counts_come_out_as_scanpy_s():
    adata = make(draw_counts())
    reference = adata.copy()
    pp.prepare(adata, min_cells=0)
    sc.pp.normalize_total(reference)
    sc.pp.log1p(reference)
    np.testing.assert_allclose(dense(adata.X), dense(reference.X), rtol=1e-5)
    reference = make(draw_counts())
    adata = reference.copy()
    pp.prepare(adata, min_cells=3, target_sum=1e4)
    sc.pp.normalize_total(reference, target_sum=1e4)
    sc.pp.filter_genes(reference, min_cells=3)
    sc.pp.log1p(reference)
    np.testing.assert_allclose(dense(adata.X), dense(reference.X), rtol=1e-5)
    assert adata.uns["log1p"]["base"] == pytest.approx(np.e)


def test_the_paper_s_preset_does_what_the_paper_did():
    counts = draw_counts()
    adata = make(counts * 10.5)
    pp.prepare(adata, preset="paper")
    kept = (counts > 0).mean(axis=0) >= 0.3
    np.testing.assert_allclose(dense(adata.X), np.log2(counts[:, kept] * 10.5 + 1), rtol=1e-5)
    assert adata.uns["genesieve_prepare"]["log"] == "log2(x + 1)"
    raw = make(counts)
    pp.prepare(raw, preset="paper")
    np.testing.assert_allclose(dense(raw.X), np.log2(counts[:, kept] + 1), rtol=1e-5)
    assert raw.uns["genesieve_prepare"]["target_sum"] == 0


def test_pollen_by_the_preset_is_the_paper_s(pollen):
    X, _ = pollen
    adata = ad.read_h5ad(shared_file("data", "pollen.h5ad"))
    pp.prepare(adata, preset="paper")
    np.testing.assert_allclose(adata.X.toarray(), X, rtol=1e-5)


KINDS = {
    "pollen": "linear",
    "yan": "linear",
    "camp1_801genes": "log",
    "xin_pancreas_log": "log",
    "zeisel_log4000": "log",
    "deng": "counts",
    "goolam": "counts",
    "pbmc3k": "counts",
    "mouse_bladder_2100": "counts",
    "kang_pbmc_ifnb_hvg1000": "counts",
}


def test_all_kinds_of_real_data_are_here():
    skip_unless_all_here(KINDS)


@pytest.mark.parametrize("name", data_sets_here(KINDS))
def test_real_data_are_seen_for_what_they_are(name):
    assert kind_of_values(read_data_set(name).X) == ("log" if name == DEMO else KINDS[name])


# ------------------------------------------------------------------------------------------------ examples


def test_equal_totals_are_linear_however_small():
    values = draw_counts() + 0.5
    values = values / values.sum(axis=1, keepdims=True) * 10
    adata = make(values)
    pp.prepare(adata)
    assert adata.uns["genesieve_prepare"]["values"] == "linear"


def test_the_cells_that_must_show_a_gene_follow_the_kind_of_data():
    full_length, sparser, larger = make(np.full((10, 5), 50.5)), make(np.eye(10) * 50.5), make(np.eye(10).repeat(30, 0))
    for adata in (full_length, sparser, larger):
        pp.prepare(adata)
    assert full_length.uns["genesieve_prepare"]["min_cells"] == 0.3
    assert sparser.uns["genesieve_prepare"]["min_cells"] == 0.05
    assert larger.uns["genesieve_prepare"]["min_cells"] == 10


def test_markers_of_a_rare_type_stay():
    counts = np.random.default_rng(0).poisson(0.1, (2000, 60)).astype(np.float32)
    counts[:, :2] = 0
    counts[:12, 0] = 30  # of twelve cells in two thousand
    counts[:9, 1] = 30  # of too few to be told from chance
    adata = make(counts)
    pp.prepare(adata)
    assert "0" in adata.var_names
    assert "1" not in adata.var_names


def test_empty_cells_stay_empty():
    counts = draw_counts()
    counts[3] = 0
    adata = make(counts)
    pp.prepare(adata)
    assert not dense(adata.X)[3].any()
    assert np.isfinite(dense(adata.X)).all()


def test_what_was_done_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="genesieve"):
        pp.prepare(make(draw_counts()), min_cells=2)
    assert "values are counts (by their looks)" in caplog.text
    assert "of 40 genes, those seen in at least 2 cells" in caplog.text


def test_it_is_said_that_fractions_may_be_counts(caplog):
    with caplog.at_level(logging.INFO, logger="genesieve"):
        pp.prepare(make(draw_counts() * 10.5))
        assert "estimated or corrected counts need values='counts'" in caplog.text
        caplog.clear()
        pp.prepare(make(draw_counts() * 10.5), values="linear")
        assert "values='counts'" not in caplog.text


@pytest.mark.parametrize("values", ["counts", "linear", "log"])
def test_the_caller_knows_better(values):
    adata = make(draw_counts())
    pp.prepare(adata, values=values)
    assert adata.uns["genesieve_prepare"]["values"] == values
    assert adata.uns["genesieve_prepare"]["values_from"] == "the caller"


def test_the_record_survives_a_file(tmp_path):
    adata = make(draw_counts())
    pp.prepare(adata)
    adata.write_h5ad(tmp_path / "a.h5ad")
    back = ad.read_h5ad(tmp_path / "a.h5ad")
    assert back.uns["genesieve_prepare"] == adata.uns["genesieve_prepare"]
    assert back.uns["log1p"] == adata.uns["log1p"]


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"values": "raw"}, ValueError, "values must be 'auto' or 'counts' or 'linear' or 'log', got 'raw'"),
        ({"preset": "best"}, ValueError, "preset must be 'paper' or None, got 'best'"),
        (
            {"preset": "paper", "min_cells": 0.1},
            ValueError,
            "min_cells and target_sum must be None with preset='paper'",
        ),
        ({"min_cells": 1.5}, ValueError, "min_cells must be a share of the cells"),
        ({"min_cells": 1000}, ValueError, "min_cells must leave genes, got 1000"),
        ({"target_sum": 0}, ValueError, "target_sum must be above 0, got 0"),
        ({"target_sum": 1e4, "values": "log"}, ValueError, "target_sum must be None unless the values are counts"),
        ({"layer": "spliced"}, KeyError, "layer 'spliced' is not in adata.layers; there are no layers"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    adata = make(draw_counts())
    with pytest.raises(error, match=message):
        pp.prepare(adata, **options)
    assert adata.shape == (60, 40)
    assert not adata.uns


def test_scaled_values_are_refused():
    adata = make(draw_counts() - 1.5, np.asarray)
    adata.layers["counts"] = draw_counts()
    with pytest.raises(ValueError, match=r"adata.X must not be negative.*unscaled layer; layers there are: 'counts'"):
        pp.prepare(adata)


def test_missing_values_and_empty_objects_are_refused():
    with pytest.raises(ValueError, match="must not have missing values"):
        pp.prepare(make(np.full((3, 3), np.nan), np.asarray))
    with pytest.raises(ValueError, match="must have cells and genes, got 0 cells x 40 genes"):
        pp.prepare(make(draw_counts()[:0]))
    with pytest.raises(ValueError, match=r"adata.X must hold values, got none"):
        pp.prepare(ad.AnnData(shape=(3, 3)))
    with pytest.raises(TypeError, match="adata must be an AnnData, got ndarray"):
        pp.prepare(np.ones((3, 3)))


def test_an_existing_layer_is_not_overwritten():
    adata = make(draw_counts())
    adata.layers["raw"] = adata.X.copy()
    with pytest.raises(ValueError, match="raw_layer must be a new layer, got 'raw'"):
        pp.prepare(adata)
    pp.prepare(adata, raw_layer=None)
    assert adata.uns["genesieve_prepare"]["raw_values"] == "nowhere"


# ------------------------------------------------------------------------------------------------ like those of a fit


@pytest.mark.parametrize("store", STORAGES)
@pytest.mark.parametrize("options", [{}, {"preset": "paper"}, {"target_sum": 1e4, "min_cells": 0}])
def test_prepared_like_the_training_cells_are_the_training_cells(store, options):
    fitted, new = make(draw_counts(), store), make(draw_counts(), store)
    pp.prepare(fitted, **options)
    pp.prepare_like(new, fitted)
    assert new.n_vars == 40
    np.testing.assert_array_equal(dense(new[:, fitted.var_names].X), dense(fitted.X))
    for name in ("values", "target_sum", "log", "preset"):
        assert new.uns["genesieve_prepare"][name] == fitted.uns["genesieve_prepare"][name]


def test_each_cell_is_prepared_by_itself():
    fitted, whole = make(draw_counts()), make(draw_counts(seed=1))
    part = whole[:7].copy()
    pp.prepare(fitted)
    for new in (whole, part):
        pp.prepare_like(new, fitted)
    np.testing.assert_array_equal(dense(part.X), dense(whole.X)[:7])


def test_genes_that_the_new_cells_lack_are_left_to_projection():
    fitted = make(draw_counts())
    pp.prepare(fitted, min_cells=0)
    tl.ssnmf(fitted, 3, 20)
    genes = fitted.var_names[fitted.var["ssnmf_selected"]][5:]
    new = make(draw_counts())[:, genes].copy()
    pp.prepare_like(new, fitted)
    assert list(new.var_names) == list(genes)
    with pytest.raises(ValueError, match="lacks 5 of the model's 20 selected genes"):
        tl.project(new, fitted)
    tl.project(new, fitted, missing="ignore")
    assert new.obsm["X_ssnmf"].shape == (60, 3)


def test_logged_values_are_used_as_they_are_and_others_refused():
    fitted, logged = make(draw_counts()), make(np.log1p(draw_counts()))
    pp.prepare(fitted)
    with pytest.warns(UserWarning, match="fitted to counts, these values are logged already"):
        again = pp.prepare_like(logged, fitted, copy=True)
    np.testing.assert_array_equal(dense(again.X), dense(logged.X))
    with pytest.raises(ValueError, match="adata must hold counts values as those of the fit were, got linear ones"):
        pp.prepare_like(make(draw_counts() * 33.3), fitted)
    with pytest.raises(ValueError, match=r"fitted must have been prepared by gs\.pp\.prepare"):
        pp.prepare_like(make(draw_counts()), make(draw_counts()))
    halves = make(draw_counts() / 2)
    pp.prepare_like(halves, fitted, values="counts")
    assert halves.uns["genesieve_prepare"]["values_from"] == "the caller"


@pytest.mark.parametrize("preset", [None, "paper"])
def test_values_in_a_file_are_prepared_as_those_in_memory(tmp_path, preset):
    fitted, new = make(draw_counts()), make(draw_counts(seed=1))
    pp.prepare(fitted, preset=preset)
    new.write_h5ad(tmp_path / "new.h5ad")
    stored = open_in_file(tmp_path / "new.h5ad")
    for cells in (new, stored):
        pp.prepare_like(cells, fitted)
    everything = np.arange(new.n_obs), np.arange(new.n_vars)
    np.testing.assert_allclose(dense(read_part(stored, *everything)), dense(new.X), rtol=1e-6)
    assert stored.uns["genesieve_prepare"]["on_the_fly"]
