"""A run that compares groups and names programs: its files, its report, and what it refuses before the fit."""

from __future__ import annotations

import json

import anndata as ad
import numpy as np
import pandas as pd
import pytest

from genesieve import workflow
from genesieve._report.samples import samples_section
from genesieve._slots.read import read_fit
from genesieve.cli._result import tell
from genesieve.io import RequestError


def draw() -> ad.AnnData:
    rng = np.random.default_rng(0)
    types = rng.integers(3, size=120)
    mean = np.full((3, 60), 0.4)
    for program in range(3):
        mean[program, 20 * program : 20 * program + 20] = 3.0
    adata = ad.AnnData(np.abs(rng.normal(mean[types], 0.3)))
    adata.var_names = [f"g{gene}" for gene in range(60)]
    adata.obs_names = [f"c{cell}" for cell in range(120)]
    adata.obs["donor"] = [f"d{cell % 6}" for cell in range(120)]
    adata.obs["arm"] = ["a <b>" if cell % 6 < 3 else "b" for cell in range(120)]
    adata.obs["site"] = ["north" if cell % 6 < 3 else "south" for cell in range(120)]
    adata.obs["visit"] = ["first" if cell % 12 < 6 else "second" for cell in range(120)]
    return adata


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_run_writes_comparisons_and_names(tmp_path, capsys):
    sets = tmp_path / "sets.gmt"
    sets.write_text("".join(f"set {n}\t\t" + "\t".join(f"g{20 * n + i}" for i in range(10)) + "\n" for n in range(3)))
    choices = {"rank": 3, "genes": 40, "values": "log", "min_cells": 0.0, "figures": False}
    made = workflow.run(draw(), tmp_path / "out", markers=sets, groupby="arm", sample="donor", **choices)
    table = pd.read_csv(tmp_path / "out" / "compare.csv")
    assert table["n_samples"].tolist() == [3, 3, 3]
    assert set(pd.read_csv(tmp_path / "out" / "compare_samples.csv")["sample"]) == {f"d{number}" for number in range(6)}
    names = pd.read_csv(tmp_path / "out" / "programs.csv")["name"].tolist()
    assert sorted(names) == ["set 0", "set 1", "set 2"]
    assert pd.read_csv(tmp_path / "out" / "annotation.csv")["name"].tolist() == names
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["markers"]["name"] == "sets.gmt"
    tell(made, quiet=False, as_json=False)
    told = " ".join(capsys.readouterr().out.split())
    assert "set 2" in told
    assert "of 3 programs differ between a <b> and b at a false discovery rate of 5%" in told
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'id="samples"' in page
    assert str(tmp_path) not in page
    section = samples_section(read_fit(made.adata, "ssnmf"), names)
    assert "a &lt;b&gt;" in section
    assert "<b>" not in section
    assert samples_section(read_fit(without_comparison(made.adata), "ssnmf"), names) == ""


def without_comparison(adata: ad.AnnData) -> ad.AnnData:
    bare = adata.copy()
    del bare.uns["ssnmf_compare"]
    return bare


@pytest.mark.parametrize(
    ("choices", "match"),
    [
        ({"groupby": "arm"}, "sample must be given too"),
        ({"sample": "donor"}, "groupby must be given too"),
        ({"groupby": "age", "sample": "donor"}, "groupby must be a column of obs in the data, got 'age'"),
        ({"groupby": "arm", "sample": "arm"}, "groupby cannot be compared: every group must have at least 2 samples"),
        ({"groupby": "arm", "sample": "donor", "batch": "arm"}, "arm must not be what the batches of the fit are"),
        (
            {"groupby": "arm", "sample": "donor", "batch": "site"},
            "must not be what the batches of the fit are: .*'site'",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_the_fit(tmp_path, choices, match):
    with pytest.raises(RequestError, match=match):
        workflow.run(draw(), tmp_path / "out", rank=3, genes=40, values="log", min_cells=0.0, **choices)
    assert not (tmp_path / "out").exists()


def test_samples_with_cells_in_several_groups_are_compared_within():
    from genesieve.workflow.samples import _pairs

    adata = draw()
    assert _pairs(adata, workflow.Settings(groupby="visit", sample="donor")) == ["donor"]
    assert _pairs(adata, workflow.Settings(groupby="arm", sample="donor")) == []
