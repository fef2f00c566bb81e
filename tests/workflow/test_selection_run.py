"""Numbers of programs and genes that are left to the data: the command, a run, and what the page says of them."""

from __future__ import annotations

import json

import anndata as ad
import pandas as pd
import pytest

import genesieve as gs
from genesieve import workflow
from genesieve.cli import main
from genesieve.selection.rule import how_sure
from genesieve.tl import selection as front


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("selection") / "data.h5ad"
    adata = gs.datasets.programs("easy", n_cells=300, n_genes=500, n_types=3, n_activities=0)
    adata.write_h5ad(path)
    return path


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["genesieve", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert not ended.value.code, told.err
    return told


def test_the_command_suggests_and_writes_its_evidence(file, tmp_path, monkeypatch, capsys):
    out, steps = tmp_path / "out", tmp_path / "steps.npz"
    told = command(monkeypatch, capsys, "select", file, "-o", out, "--ranks", "2:9", "--checkpoint", steps)
    assert "Suggested: 3 programs" in told.out
    assert "Why: " in told.out
    assert "How sure: The number of programs is clear" in told.out
    assert f"Next: genesieve run {file} --rank 3 --genes " in told.out
    assert {path.name for path in (out / "figures").glob("*.png")} == {
        f"selection_{view}.png" for view in ("programs", "replication", "held_out", "genes")
    }
    table = pd.read_csv(out / "selection.csv")
    assert {"n_components", "size", "agreement", "held_out_error"} <= set(table.columns)
    record = json.loads((out / "run.json").read_text())["selection"]
    before = steps.read_bytes()
    again = command(monkeypatch, capsys, "select", file, "--json", "--ranks", "2:9", "--checkpoint", steps)
    assert json.loads(again.out) == record
    assert record["suggested"]["n_components"] == record["signals"]["stand_out"] == 3
    assert steps.read_bytes() == before


def test_a_run_counts_once_and_says_why(file, tmp_path, monkeypatch):
    taken = []

    def counted(*arguments, **choices):
        taken.append(1)
        return choose(*arguments, **choices)

    choose = front.choose
    for place in ("genesieve.tl.selection.choose", "genesieve.estimators._reading.select"):
        monkeypatch.setattr(place, counted)
    outcome = workflow.run(file, tmp_path / "out", figures=False)
    assert len(taken) == 1
    chosen = outcome.record["selection"]["suggested"]
    assert (outcome.adata.obsm["X_ssnmf"].shape[1], outcome.record["fit"]["selected_genes"]) == tuple(chosen.values())
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"The data suggest {chosen['n_components']} programs and {chosen['n_genes']} genes" in page
    record = outcome.record["selection"]
    assert how_sure(record["signals"], clear=record["clear"]) in page
    assert "The fit was asked for" not in page


def test_the_page_has_no_such_section_without_a_suggestion_and_says_where_the_fit_differs(file, tmp_path):
    adata = ad.read_h5ad(file)
    gs.pp.prepare(adata)
    gs.tl.ssnmf(adata, 2, 50)
    adata.obsm["X_umap"] = adata.obsm["X_ssnmf"]
    assert 'id="selection"' not in gs.report(adata, tmp_path / "report.html").read_text()
    gs.tl.select(adata)
    page = gs.report(adata, tmp_path / "report.html").read_text()
    assert "The fit was asked for 2 programs and 50 genes." in page


def test_how_sure_says_what_the_reason_says():
    assert "programs is clear" in how_sure({"stand_out": 23, "replicate": 23, "add": 20}, clear=True)
    assert "range from 4 to 9" in how_sure({"stand_out": 9, "add": 4}, clear=False)
    assert how_sure({}, clear=False) == ""
