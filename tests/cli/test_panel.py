"""``genesieve panel``: what it prints and writes, and what it says of requests that cannot be met."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from commands import run, succeed
from small_fits import make

FILES = {
    "include": "g3\ng499\n",
    "unknown": "g1\nG22x\n",
    "costs": "gene,cost\n" + "".join(f"g{gene},{1 + gene % 3}\n" for gene in range(40)),
}
QUICK = ("--rank", "3", "--jobs", "1")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("panel")
    make().write_h5ad(folder / "data.h5ad")
    for name, text in FILES.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def test_a_panel_is_told_and_can_be_ordered(place):
    asked = ("--genes", "12", "--include", "include.txt", "--exclude", "unknown.txt", "--labels", "class")
    found = succeed("panel", "data.h5ad", *asked, "-o", "told", *QUICK, cwd=place)
    assert found.stderr.count("note: --exclude has 'G22x'") == 1
    told = found.stdout
    table = pd.read_csv(place / "told" / "panel.csv")
    assert len(table) == 12
    assert set(table["gene"][:2]) == {"g3", "g499"}
    for said in (
        "12 genes from",
        "recognised",
        "taken most for",
        "first genes: g",
        "told/panel.csv",
        "told/report.html",
    ):
        assert said in told


def test_genes_can_be_left_out_by_a_pattern_and_programs_are_told_by_their_genes(place):
    asked = ("--genes", "8", "--exclude-genes", "[02468]$", "--exclude", "unknown.txt")
    found = succeed("panel", "data.h5ad", *asked, "-o", "odd", *QUICK, cwd=place)
    chosen = pd.read_csv(place / "odd" / "panel.csv")["gene"]
    assert all(int(gene[1:]) % 2 for gene in chosen)
    assert "g1" not in set(chosen)
    assert "leading genes" in found.stdout
    page = (place / "odd" / "report.html").read_text(encoding="utf-8")
    row = page.split("<th>leading genes</th>")[1].split("</table>")[0].split("<tr>")[1]
    leading = re.findall(r"\bg\d+\b", row)
    assert len(leading) == 5
    assert all(int(gene[1:]) % 2 for gene in leading)  # the fit does without them, too
    assert json.loads((place / "odd" / "run.json").read_text())["settings"]["exclude_genes"] == "[02468]$"


def test_a_pattern_that_matches_nothing_is_told(place):
    found = succeed("panel", "data.h5ad", "--genes", "8", "--exclude-genes", "^MT-", "-o", "all", *QUICK, cwd=place)
    assert found.stderr.count("note: --exclude-genes '^MT-' matches no gene") == 1


def test_the_answer_to_programs_is_one_object(place):
    line = (
        "panel",
        "data.h5ad",
        "-k",
        "8",
        "--allowed",
        "costs.txt",
        "--max-cost",
        "12",
        "-o",
        "json",
        "--json",
        *QUICK,
    )
    told = json.loads(succeed(*line, cwd=place).stdout)
    assert 0 < told["scores"]["accuracy"] <= 1
    costs = pd.read_csv(place / "costs.txt").set_index("gene")["cost"]
    chosen = pd.read_csv(place / "json" / "panel.csv")["gene"]
    assert len(chosen) == 8
    assert costs[chosen].sum() <= 12


@pytest.mark.parametrize(
    ("request_line", "message"),
    [
        ("--genes 501", "--genes must be between 1 and 500"),
        ("--genes 41 --allowed costs.txt", "--genes must be between 1 and 40 (the genes to include and the allowed"),
        ("--genes 1 --include include.txt", "--genes must be between 2 and 500"),
        ("--genes 9 --include unknown.txt", "nearest: 'g22' for 'G22x'"),
        ("--genes 9 --max-cost 5", "--max-cost must come with allowed genes"),
        ("--genes 9 --allowed costs.txt --max-cost 5", "--max-cost must be at least 9 for 9 genes"),
        ("--genes 9 --expression 1e6 1e7", "--expression must leave 9 genes to choose from, got 0 of 500"),
        ("--genes 9 --expression 5 1", "--expression must be two numbers, 0 <= least <= largest"),
        ("--genes 9 --max-expression 1e-9", "--max-expression must be at least"),
        ("--genes 5 --min-per-program 2", "--genes must be at least 6 for 2 genes in each of 3 programs"),
        ("--genes 9 --efficiency 1.5", "--efficiency must be above 0 and at most 1"),
        ("--genes 9 --labels nothing", "--labels must be a column of obs"),
        ("--genes 9 --exclude-genes (", "--exclude-genes must be a regular expression, got '('"),
        ("--genes 251 --exclude-genes [02468]$", "--genes must be between 1 and 250 (the genes to include and"),
        ("--genes 0", "'--genes'"),
        ("--genes 9 --include nothing.txt", "'nothing.txt' does not exist"),
    ],
)
def test_what_cannot_be_is_told_in_one_line_and_writes_nothing(place, tmp_path, request_line, message):
    found = run("panel", "data.h5ad", *request_line.split(), "-o", tmp_path / "refused", *QUICK, cwd=place)
    assert found.returncode in (1, 2)
    assert message in " ".join(found.stderr.replace("│", " ").split())
    assert "Traceback" not in found.stderr
    assert not list(tmp_path.iterdir())
