"""The suite of batches: the interferon program, donors of cells, and the page that it fills."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from benchmarks.batches import goals, interferon, report
from benchmarks.batches.__main__ import SUITE
from benchmarks.harness.peers import Missing
from benchmarks.harness.report import filled
from benchmarks.harness.results import Results
from benchmarks.harness.suite import DOCS


def cells() -> ad.AnnData:
    """Six cells, three of them stimulated, which alone use the second program."""
    stimulated = np.arange(6) >= 3
    names = ["c0", "c1", "c2", "c3", "c4", "c21"]  # the last was renamed, as both conditions have c2
    obs = pd.DataFrame({"condition": np.where(stimulated, "stimul", "control")}, names)
    adata = ad.AnnData(np.ones((6, 3)), obs, pd.DataFrame(index=["ISG15", "MX1", "ACTB"]))
    adata.varm["ssnmf"], adata.obsm["X_ssnmf"] = (
        np.array([[0, 1], [0.1, 0.9], [1, 0]]),
        np.eye(2)[stimulated.astype(int)],
    )
    return adata


def test_the_interferon_program_is_the_one_that_has_its_genes():
    program, found = interferon.interferon_program(cells())
    assert program == 1
    assert found == {"strongest": 2, "n_interferon": 2, "area": 1.0}


def test_cells_get_the_donor_of_their_barcode_and_condition(tmp_path, monkeypatch):
    monkeypatch.delenv(interferon.FOLDER, raising=False)
    with pytest.raises(Missing, match="names no folder"):
        interferon.with_donors(cells())
    calls = {"control": ["SNG-7", "DBL-7-8-0.5", "SNG-8"], "stimul": ["SNG-8", "SNG-7", "SNG-7"]}
    barcodes = {"control": ["c0", "c1", "c2"], "stimul": ["c3", "c4", "c2"]}
    for condition, file in interferon.FILES.items():
        table = pd.DataFrame({"BARCODE": barcodes[condition], "BEST": calls[condition]})
        table.to_csv(tmp_path / file, sep="\t", index=False)
    monkeypatch.setenv(interferon.FOLDER, str(tmp_path))
    assert interferon.with_donors(cells()).obs["donor"].tolist() == ["7", "8", "8", "7"]


def test_the_page_is_filled_from_records():
    page = (DOCS / SUITE.page).read_text()
    assert filled(page, report.fill(Results({})))
    spent = {
        "cell_type": 0.7,
        "condition": 0.0,
        "seconds": 1.0,
        "cpu": 1.0,
        "fit_cpu": 0.5,
        "clusters": 0.7,
        "best": 0.7,
    }
    slow = {**spent, "cell_type": 0.6, "cpu": 20.0, "by_setting": [0.6, 0.5]}
    program = {"strongest": 8, "n_interferon": 8, "area": 0.9, "n_donors": 8, "reference_mean": 0.1, "mean": 0.3}
    records = {f"kang/{how}/0": {"kind": "kang", "what": how, **spent} for how in ("known", "ignored")}
    records |= {f"kang/{how}/0": {"kind": "kang", "what": how, **slow} for how in ("harmony", "cnmf")}
    records["interferon/bag/0"] = {"kind": "interferon", "what": "bag", **program, "p_adjusted": 1e-6}
    results = Results(records)
    assert "| 8 of 8 |" in report.fill(results)["interferon"]
    assert goals.against_harmony(results)[1] == goals.against_cnmf(results)[1] == "met"
    assert goals.one_interferon_program(results)[1] == goals.cost(results)[1] == "met"
