"""A panel from data to a folder."""

from __future__ import annotations

import json
import os
import re

import pandas as pd
import pytest

from genesieve import workflow
from genesieve.io import FileError, RequestError
from genesieve.workflow.panel import PanelSettings, read_genes
from small_fits import make

SETTINGS = workflow.Settings(rank=3, genes=60, known="class")


def test_a_panel_is_written_whole(tmp_path):
    base = tmp_path / "base.txt"
    base.write_text("g3\ng499\n")
    asked = PanelSettings(genes=20, include=base)
    outcome = workflow.panel(make(), tmp_path / "out", asked, SETTINGS)
    table = pd.read_csv(tmp_path / "out" / "panel.csv")
    assert len(table) == 20
    assert set(table["gene"][:2]) == {"g3", "g499"}
    files = {file.relative_to(tmp_path / "out").as_posix() for file in (tmp_path / "out").rglob("*.*")}
    written = {"panel.csv", "curve.csv", "types.csv", "confusion.csv", "report.html", "run.json"}
    assert files == written | {f"figures/{name}.{kind}" for name in ("curve", "confusion") for kind in ("png", "svg")}
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["kind"] == "panel"
    assert record["panel"]["include"]["name"] == "base.txt"
    assert record["scores"] == outcome.record["scores"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(gene in page for gene in table["gene"])
    assert "default-src 'none'" in page.partition("<title>")[0]


def test_hostile_names_of_a_panel_are_only_text(tmp_path):
    """On its page nothing runs and nothing is fetched; in its tables nothing is a formula."""
    adata = make()
    adata.var_names = [f"<img src=x onerror=alert(1)>{i}" if i % 2 else f"g;=1+{i}" for i in range(adata.n_vars)]
    adata.obs["class"] = adata.obs["class"].cat.rename_categories(lambda name: f"=<script>alert({name})</script>")
    workflow.panel(adata, tmp_path / "out", PanelSettings(genes=20), SETTINGS)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "&lt;script&gt;" in page
    assert not re.search(r"<(script|img src=x)", page)
    for file in (tmp_path / "out").glob("*.csv"):
        cells = re.split(r'[,;\n"]', file.read_text())
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]
    again = read_genes(tmp_path / "out" / "panel.csv")["gene"]
    assert set(again) <= set(adata.var_names)


@pytest.mark.parametrize(
    ("names", "asked", "message"),
    [
        ("g1\nG22x\n", {"genes": 20}, "include must be genes .*nearest: 'g22' for 'G22x'"),
        ("g1\ng2\n", {"genes": 1}, "genes must be between 2 and"),
        ("", {"genes": 5}, "must name genes, got an empty file"),
        ("name,cost\ng1,2\n", {"genes": 5}, "one gene a line or a column 'gene', got the heading"),
    ],
)
def test_what_cannot_be_leaves_nothing_behind(tmp_path, names, asked, message):
    base = tmp_path / "base.txt"
    base.write_text(names)
    with pytest.raises((RequestError, FileError), match=message):
        workflow.panel(make(), tmp_path / "out", PanelSettings(include=base, **asked), SETTINGS)
    assert [file.name for file in tmp_path.iterdir()] == ["base.txt"]


def test_genes_are_read_from_lists_and_tables(tmp_path):
    file = tmp_path / "genes"
    for text, costs in (
        ("A\nB\n", None),
        ("gene\nA\nB\n", None),
        ("gene,cost\nA,2\nB,0.5\n", [2, 0.5]),
        ("cost\tGene\n2\tA\n0.5\tB\n", [2, 0.5]),
    ):
        file.write_text(text)
        found = read_genes(file)
        assert found["gene"].tolist() == ["A", "B"]
        assert costs is None or found["cost"].astype(float).tolist() == costs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"gene,cost\nA,2\nB,1,3\n", "a table with a column 'gene', and cannot be read as one"),
        (b"gene,cost\nA\0,2\n", "zero byte"),
        (b'cost,gene",x\n1,A,3\n', "must have one column 'gene'"),
        (b"gene,Gene\nA,B\n", "must have one column 'gene'"),
        (b"\xff\xfe\x80", "a text file with gene names"),
        (b"x" * 5000 + b",cost\nA,2\n", r"got the heading 'x+\.\.\."),
    ],
)
def test_a_file_that_names_no_genes_is_refused_in_a_line(tmp_path, content, message):
    file = tmp_path / "genes.csv"
    file.write_bytes(content)
    with pytest.raises(FileError, match=message) as error:
        read_genes(file)
    assert str(file) in str(error.value)
    assert len(str(error.value)) < 1000
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    """Lists are read once before the work and once after, for the record."""
    os.mkfifo(tmp_path / "genes.txt")
    with pytest.raises(FileError, match="a folder, a pipe or a device"):
        read_genes(tmp_path / "genes.txt")
