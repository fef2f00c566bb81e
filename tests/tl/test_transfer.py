from __future__ import annotations

import numpy as np
import pytest

import genesieve as gs
from genesieve import tl
from small_fits import STORAGES, fitted, make

pytestmark = [
    pytest.mark.filterwarnings("error"),
    # anndata sets options of pandas that the newest pandas calls out of date.
    pytest.mark.filterwarnings("ignore:.*option is deprecated:DeprecationWarning"),
]


# A graph sees all four types in the genes; for projected usages to tell them apart there have to be as many programs.
@pytest.mark.parametrize(("rule", "rank"), [("argmax", 3), ("kmeans", 3), ("leiden", 4)])
def test_labels_come_with_a_confidence_and_project_alike(rule, rank):
    adata = make()
    tl.ssnmf(adata, rank, 120, labels=rule, baseline="zero")
    assert adata.obs["ssnmf_confidence"].between(0, 1).all()
    again = make()
    tl.project(again, adata)
    assert again.obs["ssnmf_confidence"].between(0, 1).all()
    assert list(again.obs["ssnmf"].cat.categories) == list(adata.obs["ssnmf"].cat.categories)
    assert (again.obs["ssnmf"] == adata.obs["ssnmf"]).mean() >= 0.9  # clusters go to new cells by their centres


MODELS = [
    {},
    {"orthogonality": 0.1},
    {"orthogonality": "exact"},
    {"solver": "mapalm", "gauge": None, "orthogonality": 0.5},
    {"solver": "mapalm", "orthogonality": 0.5},
    {"sparsity": None},
]


@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("store", STORAGES)
def test_new_cells_are_scored_as_the_estimator_would(store, options):
    options = {"max_iter": 1000, **options}
    adata, new = fitted(**options), make(store, seed=1)
    expected = gs.SSNMF(3, n_genes=120, random_state=0, **options).fit(adata.X).transform(make(seed=1).X)
    tl.project(new, adata)
    np.testing.assert_allclose(new.obsm["X_ssnmf"], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(new.obs["ssnmf"].astype(int), expected.argmax(axis=1))


def test_weighted_genes_project_as_they_were_fitted():
    weights = np.linspace(0.5, 1.5, 500)
    adata, new = fitted(gene_weights=weights), make(seed=1)
    tl.project(new, adata)
    model = gs.SSNMF(3, n_genes=120, gene_weights=weights, random_state=0).fit(adata.X)
    np.testing.assert_allclose(new.obsm["X_ssnmf"], model.transform(new.X), rtol=1e-6)


def test_only_the_selected_genes_are_needed_in_any_order():
    adata, new = fitted(), make(seed=1)
    tl.project(new, adata)
    selected = np.flatnonzero(adata.var["ssnmf_selected"])
    shuffled = make(seed=1)[:, np.random.default_rng(0).permutation(selected)].copy()
    assert tl.project(shuffled, adata, key_added="mine") is None
    np.testing.assert_allclose(shuffled.obsm["X_mine"], new.obsm["X_ssnmf"])
    assert len(tl.outliers(shuffled, key="mine")) == 60


def test_missing_genes_are_named_or_taken_as_told():
    adata, new = fitted(), make(seed=1)
    lost = adata.var_names[adata.var["ssnmf_selected"]][:5]
    partial = new[:, ~new.var_names.isin(lost)].copy()
    with pytest.raises(
        ValueError, match=f"adata lacks 5 of the model's 120 selected genes: '{lost[0]}'.*missing='zero'"
    ):
        tl.project(partial, adata)
    zeros = new.copy()
    zeros.X[:, new.var_names.isin(lost)] = 0
    tl.project(zeros, adata)
    as_zero = tl.project(partial, adata, missing="zero", copy=True)
    np.testing.assert_allclose(as_zero.obsm["X_ssnmf"], zeros.obsm["X_ssnmf"], rtol=1e-6)
    ignored = tl.project(partial, adata, missing="ignore", copy=True)
    assert ignored.obsm["X_ssnmf"].sum() > as_zero.obsm["X_ssnmf"].sum()
    assert "X_ssnmf" not in partial.obsm


def test_a_model_of_other_genes_is_refused():
    adata, new = fitted(), make(seed=1)
    new.var_names = [f"ENSG{i:05d}" for i in range(500)]
    with pytest.raises(
        ValueError, match=r"got none of its 120 selected ones: the model has names like 'g.*'ENSG00000'"
    ):
        tl.project(new, adata)


def test_new_values_of_another_kind_are_warned_about():
    new = make(seed=1)
    new.X = np.rint(new.X * 10)
    with pytest.warns(UserWarning, match="fitted to log values, the new ones look like counts"):
        tl.project(new, fitted())


def test_foreign_cells_on_few_shared_genes_are_flagged_and_said():
    old = gs.datasets.demo()
    tl.ssnmf(old, 6, 200)
    few = old.var_names[old.var["ssnmf_selected"]][::3]
    own = gs.datasets.demo()[:, few].copy()
    with pytest.warns(UserWarning, match="cells are scored by 67 of the model's 200 genes") as said:
        tl.project(own, old, missing="ignore")
    assert len(said) == 1
    assert own.obs["ssnmf_poor_fit"].mean() < 0.02
    foreign = own.copy()
    foreign.var_names = np.random.default_rng(0).permutation(foreign.var_names)  # cells of no type that there is
    with pytest.warns(UserWarning, match=r"67 of|relied on") as said:
        tl.project(foreign, old, missing="ignore")
    assert any("of the new cells, and their labels are not to be relied on" in str(one.message) for one in said)
    assert foreign.obs["ssnmf_poor_fit"].mean() > 0.3  # of no type: some programs fit them by chance


def test_no_cell_counts_as_well_described_by_a_handful_of_genes():
    old = gs.datasets.demo()
    tl.ssnmf(old, 6, 200)
    few = old.var_names[old.var["ssnmf_selected"]][:8]
    own = gs.datasets.demo()[:, few].copy()
    with pytest.warns(UserWarning, match="8 of the model's 200 genes|relied on"):
        tl.project(own, old, missing="ignore")
    assert own.obs["ssnmf_poor_fit"].all()
