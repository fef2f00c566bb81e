from __future__ import annotations

import warnings
from types import SimpleNamespace

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import genesieve as gs
from genesieve import pp, tl
from genesieve.tl.fit import _warn_spare
from small_fits import SETS, STORAGES, TABLES, fitted, interpreted, make, values

pytestmark = [
    pytest.mark.filterwarnings("error"),
    # anndata sets options of pandas that the newest pandas calls out of date.
    pytest.mark.filterwarnings("ignore:.*option is deprecated:DeprecationWarning"),
]


def test_slots_hold_what_the_estimator_found():
    adata = fitted()
    model = gs.SSNMF(3, n_genes=120, random_state=0)
    H = model.fit_transform(adata.X)
    np.testing.assert_array_equal(adata.obsm["X_ssnmf"], H)
    np.testing.assert_array_equal(adata.varm["ssnmf"], model.components_.T)
    np.testing.assert_array_equal(adata.obs["ssnmf"].astype(int), model.labels_)
    np.testing.assert_array_equal(adata.var["ssnmf_selected"], model.get_support())
    assert adata.uns["ssnmf"]["objective"] == model.objective_
    np.testing.assert_array_equal(adata.uns["ssnmf"]["history"]["objective"], model.history_["objective"])
    assert list(adata.obs["ssnmf"].cat.categories) == ["0", "1", "2"]


@pytest.mark.parametrize("store", STORAGES)
def test_storage_does_not_matter(store):
    adata, reference = fitted(store), fitted()
    np.testing.assert_allclose(adata.varm["ssnmf"], reference.varm["ssnmf"], atol=1e-5)
    assert list(adata.obs["ssnmf"]) == list(reference.obs["ssnmf"])


def test_a_copy_leaves_the_original_alone():
    adata = make()
    other = tl.ssnmf(adata, 3, 120, copy=True)
    assert not adata.uns
    assert not adata.obsm
    assert "ssnmf" not in adata.obs
    assert tl.ssnmf(adata, 3, 120) is None
    np.testing.assert_array_equal(adata.varm["ssnmf"], other.varm["ssnmf"])


def test_views_become_objects_of_their_own():
    adata = make()
    view, copied = adata[5:55, 20:], adata[5:55, 20:].copy()
    for data in (view, copied):
        tl.ssnmf(data, 3, 120)
        tl.top_genes(data)
        tl.outliers(data)
    np.testing.assert_array_equal(view.varm["ssnmf"], copied.varm["ssnmf"])
    assert not view.is_view
    assert not adata.uns
    results = interpreted()[10:50]
    pd.testing.assert_frame_equal(tl.biclusters(results), tl.biclusters(results.copy()))


def test_key_added_renames_all_slots_together():
    adata = make()
    tl.ssnmf(adata, 3, 120, key_added="mine")
    tl.top_genes(adata, key="mine")
    tl.biclusters(adata, key="mine")
    tl.outliers(adata, key="mine")
    tl.enrich(adata, SETS, key="mine")
    tl.panel(adata, 10, key="mine")
    slots = [*adata.uns, *adata.obsm, *adata.varm, *adata.obs.columns, *adata.var.columns]
    assert all("mine" in slot for slot in slots if slot != "class")
    assert len(slots) == 12 + 1 + 4 + 7 + 3


def test_genes_that_were_not_given_have_no_weight():
    adata = make()
    adata.var["mask"] = np.arange(500) < 200
    tl.ssnmf(adata, 3, 50, mask_var="mask", exclude_genes="^g1")
    given = np.array([i < 200 and not str(i).startswith("1") for i in range(500)])
    np.testing.assert_array_equal(adata.var["ssnmf_given"], given)
    assert adata.varm["ssnmf"].shape == (500, 3)
    assert not adata.varm["ssnmf"][~given].any()
    alone = make()[:, given].copy()
    tl.ssnmf(alone, 3, 50)
    np.testing.assert_allclose(adata.varm["ssnmf"][given], alone.varm["ssnmf"])


def test_excluded_names_and_patterns_agree():
    by_name, by_pattern, by_mask = make(), make(), make()
    tl.ssnmf(by_name, 3, 50, exclude_genes=[*(f"g{i}" for i in range(40, 50)), "unheard of"])
    tl.ssnmf(by_pattern, 3, 50, exclude_genes=r"^g(4\d)$")
    tl.ssnmf(by_mask, 3, 50, mask_var=~np.isin(np.arange(500), np.arange(40, 50)))
    for other in (by_pattern, by_mask):
        np.testing.assert_array_equal(by_name.varm["ssnmf"], other.varm["ssnmf"])


def test_a_pattern_that_matches_no_gene_is_told_and_leaves_all_in():
    adata, all_in = make(), make()
    with pytest.warns(UserWarning, match=r"exclude_genes '\^MT-' matches no gene"):
        tl.ssnmf(adata, 3, 50, exclude_genes="^MT-")
    tl.ssnmf(all_in, 3, 50)
    assert (adata.var["ssnmf_selected"] == all_in.var["ssnmf_selected"]).all()


def test_included_genes_are_kept_within_the_budget():
    wanted = ["g400", "g450", "g499"]
    adata = make()
    tl.ssnmf(adata, 3, 60, include_genes=wanted, exclude_genes="^g4")
    assert adata.var.loc[wanted, "ssnmf_selected"].all()
    assert adata.var["ssnmf_selected"].sum() == 60
    assert adata.var.loc[wanted, "ssnmf_given"].all()
    free = make()
    tl.ssnmf(free, 3, 60, exclude_genes="^g4")
    assert free.uns["ssnmf"]["objective"] <= adata.uns["ssnmf"]["objective"]


def test_layers_raw_and_whole_numbers_are_read():
    adata, reference = make(), fitted()
    adata.layers["log"], adata.layers["counts"] = adata.X.copy(), np.rint(adata.X * 100).astype(np.int32)
    adata.raw = adata.copy()
    adata.X = np.zeros_like(adata.X)
    tl.ssnmf(adata, 3, 120, layer="log", key_added="a")
    tl.ssnmf(adata, 3, 120, use_raw=True, key_added="b")
    for key in "ab":
        np.testing.assert_allclose(adata.varm[key], reference.varm["ssnmf"], rtol=1e-9)
    with pytest.warns(UserWarning, match="look like raw counts"):
        tl.ssnmf(adata, 3, 120, layer="counts", key_added="c")
    subset = adata[:, 100:300].copy()  # raw keeps all genes, the result goes by those of the object
    tl.ssnmf(subset, 3, 60, use_raw=True)
    assert subset.varm["ssnmf"].shape == (200, 3)


def test_restarts_keep_the_best():
    one, several = fitted(init="random", max_iter=500), fitted(init="random", max_iter=500, n_restarts=4)
    assert several.uns["ssnmf"]["objective"] <= one.uns["ssnmf"]["objective"] * (1 + 1e-9)
    assert several.uns["ssnmf"]["params"]["n_restarts"] == 4


def test_options_by_gene_go_by_the_genes_of_the_object():
    adata = make()
    adata.var["trust"] = np.linspace(0.5, 1.5, 500)
    tl.ssnmf(adata, 3, 60, gene_weights="trust", mask_var=np.arange(500) < 300)
    alone = make()[:, :300].copy()
    tl.ssnmf(alone, 3, 60, gene_weights=np.linspace(0.5, 1.5, 500)[:300])
    np.testing.assert_allclose(adata.varm["ssnmf"][:300], alone.varm["ssnmf"])
    start = adata.obsm["X_ssnmf"], adata.varm["ssnmf"]
    tl.ssnmf(adata, 3, 60, init=start, mask_var=np.arange(500) < 300, key_added="again")
    assert adata.uns["again"]["params"]["init"] == "given"


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({"orthogonality": 0.0}, "nmf_l20"),
        ({"labels": "kmeans"}, "nmf_l20"),
        ({}, "onmf_l20_rho"),
        ({"orthogonality": "exact"}, "onmf_l20"),
        ({"orthogonality": 0.1}, "onmf_l20_rho"),
        ({"sparsity": "columns", "orthogonality": 0.0}, "nmf_lc0"),
        ({"sparsity": None}, "nmf"),
    ],
)
def test_methods_are_named_as_in_the_paper(options, method):
    assert fitted(**options).uns["ssnmf"]["method"] == method


def test_a_new_fit_removes_what_the_old_one_led_to():
    adata = interpreted()
    tl.ssnmf(adata, 2, 50)
    assert list(adata.uns) == ["ssnmf", "ssnmf_cluster_colors"]
    assert list(adata.obs) == ["class", "ssnmf", "ssnmf_confidence", "ssnmf_cluster", "ssnmf_cluster_confidence"]


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_everything_survives_a_file(tmp_path, kind):
    adata = interpreted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # anndata's remarks on zarr versions
        getattr(adata, f"write_{kind}")(tmp_path / f"a.{kind}")
        back = getattr(ad, f"read_{kind}")(tmp_path / f"a.{kind}")
    for table in TABLES:
        assert values(back.uns[f"ssnmf_{table}"]) == values(adata.uns[f"ssnmf_{table}"])
    for column in ("ssnmf", "ssnmf_outlier", "ssnmf_outlier_score"):
        assert list(back.obs[column]) == list(adata.obs[column])
    assert back.obs["ssnmf"].dtype == adata.obs["ssnmf"].dtype
    np.testing.assert_array_equal(back.varm["ssnmf"], adata.varm["ssnmf"])
    for name, value in adata.uns["ssnmf"]["params"].items():
        np.testing.assert_array_equal(back.uns["ssnmf"]["params"][name], value)
    new, again = make(seed=1), make(seed=1)
    tl.project(new, adata)
    tl.project(again, back)
    np.testing.assert_array_equal(new.obsm["X_ssnmf"], again.obsm["X_ssnmf"])
    assert values(tl.panel(back, 20)) == values(tl.panel(adata, 20))
    assert values(tl.enrich(back, SETS)) == values(tl.enrich(adata, SETS))


def test_nothing_is_ever_made_dense():
    rng = np.random.default_rng(0)
    n_cells, n_genes, per_cell = 100_000, 200_000, 8  # 80 GB if it were dense, in single precision
    columns = (rng.integers(0, 400, n_cells * per_cell) * rng.integers(1, 500, n_cells * per_cell)) % n_genes
    starts = np.arange(0, n_cells * per_cell + 1, per_cell)
    X = sparse.csr_matrix((np.ones(len(columns), dtype=np.float32), columns, starts), shape=(n_cells, n_genes))
    X.sum_duplicates()
    adata = ad.AnnData(X)
    pp.prepare(adata, min_cells=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tl.ssnmf(adata, 2, 30, max_iter=2)
    new = ad.AnnData(X[:50_000])
    pp.prepare(new, min_cells=0)
    tl.project(new, adata)
    tl.biclusters(adata)
    tl.outliers(adata)
    tl.panel(adata, 5)
    assert new.obsm["X_ssnmf"].shape == (50_000, 2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layer": "spliced"}, KeyError, "layer 'spliced' is not in adata.layers; layers there are: 'log'"),
        ({"layer": "log", "use_raw": True}, ValueError, "layer must be None with use_raw=True, got 'log'"),
        ({"use_raw": True}, ValueError, "adata.raw must be set"),
        ({"mask_var": "hvg"}, KeyError, "mask_var 'hvg' is not in adata.var; columns there are: 'good'"),
        ({"mask_var": [True]}, ValueError, r"mask_var must be 500 booleans \(the genes of adata\), got bool of shape"),
        ({"exclude_genes": "^g"}, ValueError, "must leave genes to choose from, got none left"),
        ({"exclude_genes": "(g"}, ValueError, r"must be names or a regular expression, got '\(g'"),
        ({"include_genes": ["TP53"]}, ValueError, r"include_genes must be genes of adata, got 'TP53'.*like 'g0'"),
        ({"n_genes": 501}, ValueError, r"n_genes must be between 1 and 500 \(the genes given\), got 501"),
        ({"gene_weights": [1.0]}, ValueError, "gene_weights must have 500 rows"),
        ({"gene_weights": "trust"}, KeyError, "gene_weights 'trust' is not in adata.var"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    adata = make()
    adata.layers["log"], adata.var["good"] = adata.X.copy(), True
    with pytest.raises(error, match=message):
        tl.ssnmf(adata, 3, **options)
    assert not adata.uns


def test_bad_values_are_refused():
    adata = make()
    adata.X = adata.X - 1
    with pytest.raises(ValueError, match=r"adata.X must not be negative.*pass an unscaled layer"):
        tl.ssnmf(adata, 3)
    with pytest.raises(ValueError, match="must have cells and genes, got 0 cells x 500 genes"):
        tl.ssnmf(make()[:0].copy(), 3)
    with pytest.raises(TypeError, match="adata must be an AnnData, got ndarray"):
        tl.ssnmf(np.ones((3, 3)), 2)


@pytest.mark.filterwarnings("ignore:Variable names are not unique")
def test_repeated_gene_names_are_refused():
    adata = make()
    adata.var_names = ["g0", *adata.var_names[:-1]]
    with pytest.raises(ValueError, match=r"adata.var_names must be unique, got 'g0' more than once; call adata.var_na"):
        tl.ssnmf(adata, 3)
    with pytest.raises(ValueError, match=r"adata.var_names must be unique"):
        tl.project(adata, fitted())


def test_programs_that_say_the_same_are_warned_about():
    adata, rng = make(), np.random.default_rng(0)
    W = rng.random((500, 1)) + rng.random((500, 3)) * [0, 0.01, 10]
    start = rng.random((60, 3)), W
    with pytest.warns(UserWarning, match=r"nearly the same genes \(cosine above 0.97\): \d and \d \((0.99|1.00)\);"):
        tl.ssnmf(adata, 3, init=start, solver="palm", tol=1e3)


def test_unlogged_values_are_warned_about_once():
    adata = make()
    adata.X = np.rint(adata.X * 10)
    with pytest.warns(UserWarning, match="the values look like raw counts, and logged ones are expected") as caught:
        tl.ssnmf(adata, 3, 120)
    assert len(caught) == 1
    adata.X = adata.X * 50.5
    with pytest.warns(UserWarning, match="the values look like linear values"):
        tl.ssnmf(adata, 3, 120)


def test_programs_that_there_are_too_many_of_are_warned_of():
    W, H = np.eye(10)[:4] + 0.01, np.full((400, 4), 0.1)
    H[np.arange(400), np.repeat([0, 1, 2, 3], [200, 150, 49, 1])] = 1.0
    model = SimpleNamespace(components_=W, gene_weights_=None)
    with pytest.warns(UserWarning, match=r"hardly any cell: 3 \(1\); ask for fewer programs"):
        _warn_spare(model, H)
    model.components_ = W[[0, 1, 0, 3]]
    with pytest.warns(UserWarning, match=r"nearly the same genes \(cosine above 0\.\d+\): 0 and 2 \(1\.00\)"):
        _warn_spare(model, H)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _warn_spare(SimpleNamespace(components_=W[:3], gene_weights_=None), H[:399, :3])
