from __future__ import annotations

import warnings

import anndata as ad
import numpy as np
import pandas as pd
import pytest

import genesieve as gs
from genesieve import pl, tl
from genesieve.interpret.panels import group_cells
from small_fits import STORAGES, fitted

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:.*option is deprecated:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def adata():
    return fitted(orthogonality="exact")


def test_a_panel_keeps_the_clusters_and_its_terms(adata):
    table = tl.panel(adata, 40, include_genes=["g499"], exclude_genes=[f"g{i}" for i in range(10)])
    assert len(table) == 40
    assert table["gene"][0] == "g499"
    assert table["reason"][0] == "asked for"
    assert not set(table["gene"]) & {f"g{i}" for i in range(10)}
    assert adata.uns["ssnmf_panel_fit"] == table.attrs
    assert table.attrs["agreement"] >= 0.9  # of 60 cells
    small = tl.panel(adata, 10)
    pd.testing.assert_frame_equal(small, tl.panel(adata, 40).head(10))


def test_a_panel_tells_what_to_expect(adata):
    table = tl.panel(adata, 30, labels="class")
    curve, types = adata.uns["ssnmf_panel_curve"], adata.uns["ssnmf_panel_types"]
    assert curve["n_genes"].iloc[-1] == 30
    assert curve["accuracy"].iloc[-1] == table.attrs["accuracy"] > 0.7
    assert set(types["type"]) == set(adata.obs["class"])
    confusion = adata.uns["ssnmf_panel_confusion"].drop(columns="type")
    np.testing.assert_allclose(confusion.sum(axis=1), 1.0)
    assert table["reason"].str.contains("tells|follows").all()


def test_limits_are_kept(adata):
    costs = pd.DataFrame({"gene": [f"g{i}" for i in range(200)], "cost": np.arange(200.0)})
    table = tl.panel(adata, 10, allowed=costs, max_cost=300)
    assert set(table["gene"]) <= set(costs["gene"])
    assert costs.set_index("gene").loc[table["gene"], "cost"].sum() <= 300
    crowded = tl.panel(adata, 10)["expression"]
    less = tl.panel(adata, 10, max_expression=0.5 * crowded.sum())["expression"]
    assert less.sum() <= 0.5 * crowded.sum() * (1 + 1e-9)
    middle = float(crowded.median())
    assert tl.panel(adata, 10, expression=(0, middle))["expression"].max() <= middle
    counts = tl.panel(adata, 12, min_per_program=3)["program"].value_counts()
    assert (counts >= 3).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_genes": 501}, "n_genes must be between 1 and 500"),
        ({"n_genes": 1, "include_genes": ["g1", "g2"]}, "n_genes must be between 2 and 500"),
        ({"n_genes": 5, "include_genes": ["G12x"]}, "got 'G12x'.*nearest: 'g12"),
        ({"n_genes": 5, "allowed": ["g1", "g2"]}, r"between 1 and 2 \(.* allowed ones\), got 5"),
        ({"n_genes": 5, "allowed": ["other"]}, "allowed must name genes of adata, got none"),
        ({"n_genes": 5, "max_cost": 3.0}, "max_cost must come with allowed genes"),
        ({"n_genes": 5, "allowed": ["g1", "g2", "g3", "g4", "g5"], "max_cost": 3.0}, "max_cost must be at least 5"),
        ({"n_genes": 5, "expression": (1e6, 2e6)}, "expression must leave 5 genes to choose from, got 0"),
        ({"n_genes": 5, "expression": (2, 1)}, "expression must be two numbers"),
        ({"n_genes": 5, "max_expression": 1e-6}, "max_expression must be at least"),
        ({"n_genes": 5, "min_per_program": 3}, "n_genes must be at least .* for 3 genes in each of"),
        ({"n_genes": 5, "labels": "nothing"}, "labels must name a column"),
        ({"n_genes": 5, "key": "none"}, "no fit 'none'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(adata, arguments, message):
    with pytest.raises((ValueError, KeyError), match=message) as caught:
        tl.panel(adata, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("storage", STORAGES[1:3])
def test_a_panel_is_the_same_however_values_are_stored(adata, storage):
    other = adata.copy()
    other.X = storage(other.X)
    assert list(tl.panel(other, 12)["gene"]) == list(tl.panel(adata, 12)["gene"])


def test_a_platform_that_sees_less_keeps_less():
    data = gs.datasets.programs("easy", n_cells=300, n_genes=400, random_state=0)
    gs.pp.prepare(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fit, whose rank is a guess
        tl.ssnmf(data, 5, 200)
    kept = [tl.panel(data, 20, efficiency=share).attrs["variation"] for share in (1.0, 0.1)]
    assert kept[0] > kept[1] + 0.02
    for arguments, message in (
        ({"efficiency": 0.0}, "efficiency must be above 0 and at most 1, got 0"),
        ({"efficiency": 0.5, "counts": "none"}, "counts='none' is no layer of adata; layers there are: 'raw'"),
    ):
        with pytest.raises(ValueError, match=message):
            tl.panel(data, 20, **arguments)


def test_genes_to_leave_out_that_are_not_there_are_told(adata):
    with pytest.warns(UserWarning, match="exclude_genes has 'G22x', .* nearest: 'g22' for 'G22x'"):
        tl.panel(adata, 5, exclude_genes=["g1", "G22x"])


def test_a_panel_is_drawn(adata):
    tl.panel(adata, 20, labels="class")
    curve = pl.panel(adata)
    assert {len(line.get_xdata()) for line in curve.lines[:2]} == {len(adata.uns["ssnmf_panel_curve"])}
    confusion = pl.panel(adata, show="confusion")
    assert [text.get_text() for text in confusion.get_yticklabels()] == list(adata.uns["ssnmf_panel_types"]["type"])
    with pytest.raises(ValueError, match="show must be 'curve' or 'confusion'"):
        pl.panel(adata, show="both")


def small(values: np.ndarray) -> ad.AnnData:
    """A fit of a few cells, which may well be alike."""
    adata = ad.AnnData(np.asarray(values, dtype=np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tl.ssnmf(adata, 1, 2, clusters=False, max_iter=3)
    return adata


def test_cells_that_are_all_alike_have_no_panel():
    with pytest.raises(ValueError, match="a panel needs cells that differ"):
        tl.panel(small(np.full((9, 5), 0.1)), 2)


@pytest.mark.parametrize("n_cells", [2, 3, 6])
def test_types_with_too_few_cells_are_not_judged(n_cells):
    table = tl.panel(small(np.random.default_rng(0).gamma(1.0, 1.0, (n_cells, 5))), 2)
    assert np.isnan(table.attrs["accuracy"])
    assert np.isnan(table.attrs["accuracy_all"])


def test_a_cell_of_each_known_type_is_no_evidence():
    adata = small(np.random.default_rng(0).gamma(1.0, 1.0, (12, 5)))
    adata.obs["kind"] = pd.Categorical(["a", "b"] + [None] * 10)
    with pytest.raises(ValueError, match="at least 2 types apart, of 5 cells or more, got 0 in 'kind'"):
        tl.panel(adata, 2, labels="kind")


@pytest.mark.parametrize("seed", range(5))
def test_cells_that_hardly_differ_leave_no_group_empty(seed):
    rng = np.random.default_rng(seed)
    groups = group_cells(np.repeat(rng.normal(size=(4, 3)), 4, axis=0) + 1e-16 * rng.normal(size=(16, 3)), 0)
    assert set(groups) == set(range(groups.max() + 1))
