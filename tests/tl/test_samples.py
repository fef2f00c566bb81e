"""Several samples: comparison between groups, programs across samples, names."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import genesieve as gs
from genesieve import tl
from genesieve._slots.read import read_projection

pytestmark = pytest.mark.filterwarnings("ignore:.*option is deprecated:DeprecationWarning")

CELLS, GENES = 60, 90  # cells of a sample


def draw(n_samples: int = 4, *, private: bool = True, seed: int = 0) -> ad.AnnData:
    """Three types that all samples have, on 20 genes each, and one that the first alone has; a factor a gene."""
    rng = np.random.default_rng(seed)
    parts, types = [], []
    for sample in range(n_samples):
        of_cell = rng.integers(3 + (private and sample == 0), size=CELLS)
        mean = np.full((4, GENES), 0.3)
        for program in range(4):
            mean[program, 20 * program : 20 * program + 20] = 3.0
        factor = rng.lognormal(0.0, 0.2, GENES)
        parts.append(np.abs(rng.normal(mean[of_cell] * factor, 0.3)))
        types.append(of_cell)
    adata = ad.AnnData(np.vstack(parts))
    adata.var_names = [f"g{gene}" for gene in range(GENES)]
    adata.obs_names = [f"c{cell}" for cell in range(adata.n_obs)]
    adata.obs["donor"] = np.repeat([f"d{sample}" for sample in range(n_samples)], CELLS)
    adata.obs["condition"] = np.where(np.arange(n_samples) % 2, "treated", "control").repeat(CELLS)
    adata.obs["type"] = np.concatenate(types).astype(str)
    return adata


@pytest.fixture(scope="module")
def fitted() -> ad.AnnData:
    adata = draw(6, private=False)
    tl.ssnmf(adata, 3, 60)
    tl.gene_scores(adata)
    return adata


@pytest.fixture(scope="module")
def shared() -> tuple[ad.AnnData, pd.DataFrame]:
    adata = draw()
    return adata, tl.metaprograms(adata, "donor", (3, 4, 5), 60, min_cells=20)


def means(adata: ad.AnnData, by: list[str]) -> pd.DataFrame:
    usages = adata.obsm["X_ssnmf"] / adata.obsm["X_ssnmf"].sum(axis=1, keepdims=True)
    return pd.DataFrame(usages, index=adata.obs_names).groupby([adata.obs[name].astype(str) for name in by]).mean()


# ------------------------------------------------------------------------------------------------ compare


def test_samples_are_the_replicates(fitted):
    adata = fitted.copy()
    table = tl.compare(adata, "condition", "donor")
    by_sample = means(adata, ["donor", "condition"])
    treated, control = (by_sample.xs(name, level="condition").to_numpy() for name in ("treated", "control"))
    np.testing.assert_allclose(table["effect"], treated.mean(axis=0) - control.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(table["p_value"], stats.ttest_ind(treated, control).pvalue)
    np.testing.assert_allclose(table["p_adjusted"], stats.false_discovery_control(table["p_value"]))
    assert table["n_samples"].tolist() == [3, 3, 3]
    assert (table["low"] <= table["effect"]).all()
    assert (table["effect"] <= table["high"]).all()
    points = adata.uns["ssnmf_compare_samples"]
    assert len(points) == 6 * 3
    np.testing.assert_allclose(points["usage"].to_numpy().reshape(6, 3), by_sample.to_numpy())


def test_copies_of_cells_are_no_evidence(fitted):
    once = tl.compare(fitted.copy(), "condition", "donor")
    twice = ad.concat([fitted, fitted], index_unique="-")
    again = tl.compare(twice, "condition", "donor")
    np.testing.assert_allclose(once["p_value"], again["p_value"])


def test_the_reference_turns_the_effect_round(fitted):
    one, two = (
        tl.compare(fitted.copy(), "condition", "donor", reference=name).set_index("program")
        for name in ("control", "treated")
    )
    np.testing.assert_allclose(one["effect"], -two["effect"], atol=1e-12)
    np.testing.assert_allclose(one["p_value"], two["p_value"])


def test_pairs_are_compared_within_donors(fitted):
    adata = fitted.copy()
    adata.obs["condition"] = np.where(np.arange(adata.n_obs) % 2, "after", "before")
    with pytest.raises(ValueError, match=r"a sample must have one condition.*covariates=\['donor'\] compares within"):
        tl.compare(adata, "condition", "donor")
    table = tl.compare(adata, "condition", "donor", covariates=["donor"], reference="before", test="linear")
    by_sample = means(adata, ["donor", "condition"])
    after, before = (by_sample.xs(name, level="condition").to_numpy() for name in ("after", "before"))
    np.testing.assert_allclose(table["p_value"], stats.ttest_rel(after, before).pvalue)


def test_three_groups_and_parts_of_the_cells(fitted):
    adata = fitted.copy()
    adata.obs["arm"] = pd.Categorical(adata.obs["donor"].map(lambda name: f"arm {int(name[1:]) % 3}"))
    table = tl.compare(adata, "arm", "donor")
    assert table.groupby("program").size().tolist() == [2, 2, 2]
    by_sample = means(adata, ["donor", "arm"])
    expected = stats.f_oneway(*(rows.to_numpy() for _, rows in by_sample.groupby(level="arm")))
    np.testing.assert_allclose(table["p_overall"][:3], expected.pvalue)
    two = tl.compare(adata, "arm", "donor", groups=["arm 0", "arm 2"])
    assert set(two["group"]) == {"arm 2"}
    within = tl.compare(adata, "condition", "donor", within="type", min_cells=2)
    alone = tl.compare(adata, "condition", "donor", cells=(adata.obs["type"] == "1").to_numpy(), min_cells=2)
    np.testing.assert_allclose(within.loc[within["type"] == "1", "p_value"], alone["p_value"])


def change(adata: ad.AnnData, what: str) -> dict[str, object]:
    """Spoil the data; the further arguments of `compare`."""
    if what == "one sample":
        adata.obs["condition"] = np.where(adata.obs["donor"] == "d0", "treated", "control")
    elif what == "one group":
        adata.obs["condition"] = "control"
    elif what == "confounded":
        adata.obs["batch"] = adata.obs["condition"].map({"control": "run 1", "treated": "run 2"})
        return {"covariates": ["batch"]}
    elif what == "missing":
        adata.obs["condition"] = adata.obs["condition"].where(np.arange(adata.n_obs) > 4)
    elif what == "varying":
        adata.obs["age"] = np.arange(adata.n_obs)
        return {"covariates": "age"}
    elif what == "batches":
        adata.uns["ssnmf"]["params"]["batch_key"] = "condition"
    elif what == "reference":
        return {"reference": "placebo"}
    elif what == "cells":
        return {"cells": [True, False]}
    elif what == "many":
        adata.obs["donor"] = adata.obs_names
    elif what == "clash":
        donors = adata.obs["donor"].astype(object)
        adata.obs["donor"] = donors.replace({"d0": 1, "d1": "1"})
    return {}


BAD = {
    "one sample": r"at least 2 samples, as cells of one sample are no replicates, got 'control' 5, 'treated' 1",
    "one group": r"condition must have at least two groups, got 'control'",
    "confounded": r"condition must differ between samples with the same covariates, got 'batch'",
    "missing": r"column 'condition' must have a value for every cell, got 5 without",
    "varying": r"covariate 'age' must have one value a sample, got several in sample 'd0'",
    "batches": r"condition must not be what the batches of the fit are: the batches of 'condition'",
    "reference": r"reference must be one of condition: 'control', 'treated', got 'placebo'",
    "cells": r"cells must be 360 booleans",
    "many": r"condition must have at least two groups, got none",
    "clash": r"column 'donor' must have labels that differ as text, got (1 and '1'|'1' and 1)",
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.filterwarnings("ignore:.*samples have fewer than:UserWarning")
def test_what_cannot_be_compared_is_refused_in_a_line(fitted, what):
    adata = fitted.copy()
    options = change(adata, what)
    before = set(adata.uns)
    with pytest.raises(ValueError, match=BAD[what]) as error:
        tl.compare(adata, "condition", "donor", **options)
    assert "\n" not in str(error.value)
    assert set(adata.uns) == before


def test_batches_that_lie_within_the_groups_are_told_of(fitted):
    adata = fitted.copy()
    adata.uns["ssnmf"]["params"]["batch_key"] = "donor"
    with pytest.warns(UserWarning, match=r"every batch of the fit \(donor\) has cells of one condition only"):
        tl.compare(adata, "condition", "donor")


def test_missing_columns_are_named(fitted):
    with pytest.raises(KeyError, match=r"groupby must name a column of adata\.obs, got 'arm'"):
        tl.compare(fitted, "arm", "donor")
    with pytest.raises(KeyError, match=r"sample_key must name a column of adata\.obs, got 'who'"):
        tl.compare(fitted, "condition", "who")


# ------------------------------------------------------------------------------------------------ metaprograms


def test_shared_programs_are_found_and_private_ones_flagged(shared):
    adata, table = shared
    assert table["shared"].tolist() == [True, True, True, False]
    assert table["n_samples"].tolist() == [4, 4, 4, 1]
    assert table["samples"].iloc[-1] == "d0"
    assert adata.obsm["X_ssnmf_metaprograms"].shape == (adata.n_obs, 3)
    assert int(adata.var["ssnmf_metaprograms_selected"].sum()) <= 60
    norms = np.linalg.norm(adata.varm["ssnmf_metaprograms"], axis=0)
    np.testing.assert_allclose(norms, 1.0)
    known, labels = adata.obs["type"], adata.obs["ssnmf_metaprograms"]
    common = (known != "3").to_numpy()
    assert gs.metrics.nmi(known[common], labels[common]) > 0.9
    genes = adata.uns["ssnmf_metaprograms_gene_confidence"]
    for _, rows in genes[genes["confidence"] > 0.5].groupby("program"):
        assert rows["gene"].str[1:].astype(int).floordiv(20).nunique() == 1


def test_meta_programs_are_a_fit_and_survive_a_file(shared, tmp_path):
    adata = shared[0].copy()
    key = "ssnmf_metaprograms"
    tl.markers(adata, 5, key=key)
    tl.annotate(adata, {"first": [f"g{i}" for i in range(20)], "second": [f"g{i}" for i in range(20, 40)]}, key=key)
    tl.compare(adata, "condition", "donor", key=key)
    adata.write_h5ad(tmp_path / "a.h5ad")
    adata.write_zarr(tmp_path / "a.zarr")
    for back in (ad.read_h5ad(tmp_path / "a.h5ad"), ad.io.read_zarr(tmp_path / "a.zarr")):
        for slot in ("coverage", "gene_confidence", "annotation", "compare", "compare_samples"):
            found, kept = back.uns[f"{key}_{slot}"], adata.uns[f"{key}_{slot}"]
            assert {name: found[name].astype(str).tolist() for name in kept} == {
                name: kept[name].astype(str).tolist() for name in kept
            }
        np.testing.assert_array_equal(back.obsm[f"X_{key}"], adata.obsm[f"X_{key}"])
        again = back.copy()
        tl.project(again, back, key=key)
        np.testing.assert_allclose(again.obsm[f"X_{key}"], back.obsm[f"X_{key}"], atol=1e-8)


def test_meta_programs_repeat_and_do_not_depend_on_threads(shared):
    adata = draw()
    again = tl.metaprograms(adata, "donor", (3, 4, 5), 60, min_cells=20, n_jobs=1)
    pd.testing.assert_frame_equal(again, shared[1])


def test_meta_programs_need_samples():
    adata = draw(2)
    adata.obs["one"] = "all"
    with pytest.raises(ValueError, match="one must have at least two samples of 50 cells, got 'all'"):
        tl.metaprograms(adata, "one", (3, 4))
    with pytest.raises(ValueError, match="n_components must be a number or several"):
        tl.metaprograms(adata, "donor", ())
    adata.obs["cell"] = adata.obs_names
    with (
        pytest.warns(UserWarning, match="120 of 120 samples have fewer than 50 cells"),
        pytest.raises(ValueError, match="cell must have at least two samples"),
    ):
        tl.metaprograms(adata, "cell", (3, 4))


# ------------------------------------------------------------------------------------------------ matching, names


def test_programs_of_studies_with_other_genes_are_matched(fitted):
    one, two = fitted[:, 5:].copy(), draw(3, private=False, seed=5)[:, :80].copy()
    tl.ssnmf(two, 3, 50)
    table = tl.match_programs(one, two, names=["one", "two"])
    assert table["matched"].all()
    assert table["mutual"].all()
    assert (table["n_genes"] == 75).all()
    for row in table.itertuples():
        first, second = one.varm["ssnmf_scores"][:, int(row.program_a)], two.varm["ssnmf_scores"][:, int(row.program_b)]
        assert (first.argmax() + 5) // 20 == second.argmax() // 20
    assert table["group"].nunique() == 3


def test_programs_without_a_partner_are_listed(fitted):
    weights = pd.DataFrame(fitted.varm["ssnmf"].T, columns=fitted.var_names, index=["a", "b", "c"])
    table = tl.match_programs(fitted, weights.iloc[:2], weights.iloc[[1]])
    assert len(table[(table["study_a"] == "0") & (table["study_b"] == "1")]) == 3
    lonely = table[~table["matched"]]
    assert (lonely["program_b"] == "").all()
    assert lonely.groupby(["study_a", "study_b"]).size().to_dict() == {("0", "1"): 1, ("0", "2"): 2, ("1", "2"): 1}
    with pytest.raises(ValueError, match="studies '0' and '1' must share at least 20 genes, got 0"):
        tl.match_programs(fitted, weights.add_prefix("other-"))
    with pytest.raises(ValueError, match="studies must be two or more, got 1"):
        tl.match_programs(fitted)
    with pytest.raises(ValueError, match="names must be 2 different ones"):
        tl.match_programs(fitted, weights, names=["x", "x"])


SETS = {"first": [f"g{i}" for i in range(20)], "second": [f"g{i}" for i in range(20, 40)]}


def test_names_flow_where_there_is_one(fitted, tmp_path):
    adata = fitted.copy()
    table = tl.annotate(adata, SETS)
    assert sorted(table["name"]) == ["", "first", "second"]
    assert (table["overlap"] > 0).sum() >= 2
    names = read_projection(adata, "ssnmf").names
    assert [name for name in names if not name.isdigit()] == [name for name in table["name"] if name]
    assert list(adata.obs["ssnmf"].cat.categories) == ["0", "1", "2"]
    file = tmp_path / "sets.gmt"
    file.write_text("".join(f"{name}\t\t" + "\t".join(genes) + "\n" for name, genes in SETS.items()))
    pd.testing.assert_frame_equal(tl.annotate(adata, file), table)
    tl.annotate(adata, SETS, rename=True)
    assert {"first", "second"} <= set(adata.obs["ssnmf"].cat.categories)
    assert read_projection(adata, "ssnmf").names == names


def test_names_of_another_fit_are_forgotten(fitted):
    adata = fitted.copy()
    tl.annotate(adata, SETS)
    tl.compare(adata, "condition", "donor")
    tl.ssnmf(adata, 2, 60)
    assert not {"ssnmf_annotation", "ssnmf_compare", "ssnmf_compare_samples"} & set(adata.uns)


def test_marker_sets_must_know_the_genes(fitted):
    with pytest.raises(ValueError, match="gene_sets must"):
        tl.annotate(fitted, {})
    with pytest.raises(ValueError, match="genes"):
        tl.annotate(fitted, {"other": ["x", "y"]})
