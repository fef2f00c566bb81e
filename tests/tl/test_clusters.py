from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import genesieve as gs
from genesieve import tl
from genesieve._colors import distinct_colors, matching_colors
from genesieve.interpret import graph
from genesieve.metrics import nmi
from genesieve.tl import _clustering as clustering

pytestmark = [
    pytest.mark.filterwarnings("error"),
    # anndata sets options of pandas that the newest pandas calls out of date.
    pytest.mark.filterwarnings("ignore:.*option is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Writing zarr v2:UserWarning"),
]
TYPES = 4
COLUMNS = ["ssnmf_cluster", "ssnmf_cluster_confidence"]


def make(store=np.asarray, *, seed: int = 0) -> ad.AnnData:
    """Logged counts of four types, each with fifteen genes of its own among a hundred."""
    rng, known = np.random.default_rng(seed), np.repeat(np.arange(TYPES), 40)
    means = np.full((TYPES, 100), 0.6)
    for number, of_type in enumerate(means):
        of_type[15 * number : 15 * number + 15] = 8.0
    adata = ad.AnnData(store(np.log1p(rng.poisson(means[known])).astype(np.float32)))
    adata.obs["class"] = known.astype(str)
    adata.var_names = [f"g{i}" for i in range(adata.n_vars)]
    return adata


def fitted(store=np.asarray, **options) -> ad.AnnData:
    """Three programs: too few to label four types by."""
    adata = make(store)
    tl.ssnmf(adata, 3, 60, **options)
    return adata


@pytest.fixture(scope="module")
def adata() -> ad.AnnData:
    return fitted(n_clusters=TYPES)


# ------------------------------------------------------------------------------------------------ laws


def test_a_fit_has_labels_by_program_and_clusters_beside_them(adata):
    plain = fitted(clusters=False)
    np.testing.assert_array_equal(adata.obsm["X_ssnmf"], plain.obsm["X_ssnmf"])
    assert list(adata.obs["ssnmf"]) == list(plain.obs["ssnmf"])
    assert adata.obs["ssnmf_cluster_confidence"].between(0, 1).all()
    assert list(adata.obs["ssnmf_cluster"].cat.categories) == ["0", "1", "2", "3"]
    assert len(adata.uns["ssnmf_cluster_colors"]) == 4
    assert nmi(adata.obs["class"], adata.obs["ssnmf_cluster"]) > 0.95  # four types, which three programs cannot label
    assert not any("cluster" in name for name in (*plain.obs, *plain.varm, *plain.uns["ssnmf"]))


@pytest.mark.parametrize("rule", ["kmeans", "leiden"])
def test_labels_that_are_clusters_are_the_clusters(rule):
    found = fitted(labels=rule)
    assert list(found.obs["ssnmf_cluster"]) == list(found.obs["ssnmf"])
    np.testing.assert_array_equal(found.obs["ssnmf_cluster_confidence"], found.obs["ssnmf_confidence"])


def test_clusters_go_by_the_name_of_their_fit(adata):
    tl.ssnmf(adata, 2, 60, key_added="other")
    assert adata.obs["other_cluster"].nunique() == 2
    assert adata.obs["ssnmf_cluster"].nunique() == 4
    assert {"other_directions", "ssnmf_directions"} <= set(adata.varm)


def test_another_number_is_had_without_another_fit():
    found = fitted()
    before = found.obsm["X_ssnmf"].copy()
    for options, n in (({"n_clusters": 5}, 5), ({"n_clusters": 1}, 1)):
        assert tl.cluster(found, **options) is None
        assert found.obs["ssnmf_cluster"].nunique() == len(found.uns["ssnmf_cluster_colors"]) == n
    few, many = (tl.cluster(found, resolution=r, copy=True).obs["ssnmf_cluster"].nunique() for r in (0.1, 6.0))
    assert few < many
    np.testing.assert_array_equal(found.obsm["X_ssnmf"], before)
    again = fitted(resolution=6.0)
    assert again.obs["ssnmf_cluster"].nunique() == many


def test_clusters_of_an_older_fit_are_forgotten():
    found = fitted()
    tl.ssnmf(found, 2, 60, clusters=False)
    assert not any("cluster" in name for name in (*found.obs, *found.uns, *found.uns["ssnmf"]))
    assert "ssnmf_directions" not in found.varm
    with pytest.raises(KeyError, match=r"adata\.obs has no 'ssnmf_cluster', run gs\.tl\.cluster first"):
        gs._slots.read.read_fit(found, "ssnmf").of_cells("cluster")


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
def test_clusters_survive_a_file(tmp_path, adata, form):
    getattr(adata, f"write_{form}")(tmp_path / "fit")
    again = getattr(ad, f"read_{form}")(tmp_path / "fit")
    new = make(seed=1)
    direct, from_file = (tl.project(new, model, copy=True) for model in (adata, again))
    for column in COLUMNS:
        assert list(again.obs[column]) == list(adata.obs[column])
        assert list(from_file.obs[column]) == list(direct.obs[column])


@pytest.mark.parametrize("form", ["backed", "lazy"])
def test_values_outside_memory_give_the_same_clusters(tmp_path, form):
    made = make(sparse.csr_matrix)
    made.write_h5ad(tmp_path / "data.h5ad")
    if form == "backed":
        outside = ad.read_h5ad(tmp_path / "data.h5ad", backed="r")
    else:
        outside = ad.experimental.read_lazy(tmp_path / "data.h5ad")
    for data in (made, outside):
        tl.ssnmf(data, 3, 60, n_clusters=4)
    assert nmi(np.asarray(outside.obs["ssnmf_cluster"]), made.obs["ssnmf_cluster"]) == pytest.approx(1.0)
    tl.cluster(outside, 2)
    assert len(np.unique(np.asarray(outside.obs["ssnmf_cluster"]))) == 2


# ------------------------------------------------------------------------------------------------ new cells


def test_the_cells_of_a_fit_are_put_where_they_are(adata):
    again = tl.project(make(), adata, copy=True)
    assert (again.obs["ssnmf_cluster"] == adata.obs["ssnmf_cluster"]).mean() > 0.97
    assert again.obs["ssnmf_cluster_confidence"].between(0, 1).all()


def test_new_cells_are_put_into_clusters_that_usages_alone_do_not_tell(adata):
    new = tl.project(make(seed=1), adata, copy=True)
    assert nmi(new.obs["class"], new.obs["ssnmf_cluster"]) > 0.95
    assert nmi(new.obs["class"], new.obs["ssnmf"]) < 0.9


@pytest.mark.parametrize("missing", ["zero", "ignore"])
def test_cells_find_their_clusters_without_some_of_the_genes(adata, missing):
    selected = np.flatnonzero(adata.var["ssnmf_selected"])
    part = np.delete(np.arange(adata.n_vars), selected[::6])
    new = tl.project(make()[:, part].copy(), adata, missing=missing, copy=True)
    agree = (new.obs["ssnmf_cluster"].to_numpy() == adata.obs["ssnmf_cluster"].to_numpy()).mean()
    assert agree > (0.9 if missing == "ignore" else 0.6)


@pytest.mark.parametrize("name", ["usages", "scores", "labels", "texts", "too large"])
def test_clusters_whose_parts_do_not_fit_together_are_told(adata, name):
    fitted, kept = adata.copy(), adata.uns["ssnmf"]["clusters"]
    texts, large = np.asarray(kept["labels"]).astype(str), np.full_like(kept["labels"], 99)
    changed = {"texts": {"labels": texts}, "too large": {"labels": large}}.get(name, {name: np.array(0.0)})
    fitted.uns["ssnmf"] = {**fitted.uns["ssnmf"], "clusters": {**kept, **changed}}
    with pytest.raises(ValueError, match="must have usages, scores and labels of the same cells"):
        gs.tl.project(adata.copy(), fitted)


def test_of_many_cells_some_are_in_the_graph_and_the_others_follow(monkeypatch):
    monkeypatch.setattr(graph, "GRAPH_CELLS", (60, 60))
    found = fitted(n_clusters=4)
    assert nmi(found.obs["class"], found.obs["ssnmf_cluster"]) > 0.9


def test_clusters_are_numbered_by_all_their_cells_not_by_those_of_the_graph(monkeypatch):
    small_first = make()[np.r_[0:32, 40:64, 80:116, 120:160]].copy()  # 32, 24, 36 and 40 cells
    monkeypatch.setattr(clustering, "choose_cells", lambda n_cells, seed: np.r_[0:30, 32:52, 56:68, 92:100])
    tl.ssnmf(small_first, 3, 60, n_clusters=TYPES)
    sizes = small_first.obs["ssnmf_cluster"].value_counts(sort=False)
    assert list(sizes) == sorted(sizes, reverse=True)
    again = tl.project(small_first.copy(), small_first, copy=True)  # what new cells follow has the same numbers
    assert (again.obs["ssnmf_cluster"].to_numpy() == small_first.obs["ssnmf_cluster"].to_numpy()).mean() > 0.9


def test_clusters_have_the_colour_of_the_program_of_most_of_their_cells_or_one_of_their_own(adata):
    colors = adata.uns["ssnmf_cluster_colors"]
    assert len(set(colors)) == TYPES
    cells = pd.crosstab(adata.obs["ssnmf_cluster"], adata.obs["ssnmf"], normalize="index")
    palette = distinct_colors(3)
    for program in range(3):  # the cluster that is most of a program, if any, has its colour
        if (cells[str(program)] > 0.9).sum() == 1:
            assert colors[int(cells[str(program)].idxmax())] == palette[program]
    assert sum(color in palette for color in colors) >= 2
    new = tl.project(make(seed=1), adata, copy=True)
    assert list(new.uns["ssnmf_cluster_colors"]) == list(colors)


@pytest.mark.parametrize(
    ("labels", "of_cell", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], [1, 0]),  # crossed numbers, same colours
        ([0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 2]),  # the larger of two takes the colour
        ([0, 0, 1, 1], [0, 1, 0, 0], [2, 0]),  # half of its cells are no majority
    ],
)
def test_matching_colours(labels, of_cell, expected):
    palette = distinct_colors(4)
    assert matching_colors(np.array(labels), 2, np.array(of_cell), 2) == [palette[i] for i in expected]


# ------------------------------------------------------------------------------------------------ the door


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, r"n_clusters must be between 1 and \d+ \(the cells given\), got 0"),
        ({"n_clusters": 2, "resolution": 1.0}, r"n_clusters must be None where a resolution is given, got 2"),
        ({"resolution": -1.0}, r"resolution must be a finite number >= 0, got -1"),
    ],
)
def test_what_makes_no_clusters_is_refused(adata, options, message):
    with pytest.raises(ValueError, match=message):
        tl.cluster(adata, **options)
    with pytest.raises(ValueError, match=message):
        fitted(**options)


def test_data_without_expression_have_one_cluster():
    empty = ad.AnnData(np.zeros((10, 20), dtype=np.float32))
    with pytest.warns(UserWarning, match="programs are empty|hardly any cell|counts"):
        tl.ssnmf(empty, 2, 5)
    assert list(empty.obs["ssnmf_cluster"].unique()) == ["0"]
