"""Names that a spreadsheet would run as formulas are written as text; nothing else changes."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pandas as pd
import pytest

import genesieve
from genesieve._spreadsheets import plain_name, without_formulas

HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1"]


def test_every_table_goes_through_the_guard():
    """But for those of the paper, which hold no name of the user's."""
    source = Path(genesieve.__file__).parent
    lines = [
        (str(file.relative_to(source)), line)
        for file in source.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"to_csv\(|savetxt\(|csv\.writer", line) and "paper" not in file.parts
    ]
    assert len(lines) >= 2
    assert [line for line in lines if "without_formulas(" not in line[1]] == []


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_no_cell_begins_as_a_formula(text, kind):
    table = pd.DataFrame({"gene": pd.Series([text, "CD3D"], dtype=kind), "weight": [-1.5, 2.0]})
    written = pd.read_csv(io.StringIO(without_formulas(table).to_csv(index=False)))
    assert list(written["weight"]) == [-1.5, 2.0]
    assert written["gene"][1] == "CD3D"
    assert written["gene"][0].startswith("'")


def test_names_of_columns_and_rows_are_looked_at():
    table = without_formulas(pd.DataFrame({"=A1": ["x"], "plain": ["y"]}, index=["@B2"]))
    assert list(table.columns) == ["'=A1", "plain"]
    assert list(table.index) == ["'@B2"]


def test_columns_of_one_name_or_of_numbers_stay_apart():
    table = pd.DataFrame([["=1", "=2", 3.0, "=4"]], columns=["a", "a", "b", 7])
    assert without_formulas(table).to_numpy().tolist() == [["'=1", "'=2", 3.0, "'=4"]]
    assert list(without_formulas(table).columns) == ["a", "a", "b", 7]


@pytest.mark.parametrize("text", ["CD3D;=1+1", "a,@SUM(A1)", "a\n=1", "a\t-2+3"])
def test_no_formula_begins_where_a_spreadsheet_may_cut_a_text(text):
    """Where commas are decimal points, spreadsheets cut CSV at semicolons, whatever is in quotes."""
    written = without_formulas(pd.DataFrame({"genes": [text]})).to_csv()
    assert not any(cell.startswith(("=", "@", "-", "+")) for cell in re.split(r"[;,\t\n\"]", written))


@pytest.mark.parametrize("text", [*HOSTILE, "CD3D", "'=1", "''=1", "a;=1", "a;'=1", "'", "it's", "a,-b,'-c"])
def test_names_are_found_again(text):
    (written,) = without_formulas(pd.DataFrame({text: [0.0]})).columns
    assert plain_name(written) == text or "\r" in text


def test_other_tables_stay_as_they_are():
    table = pd.DataFrame({"gene": ["HLA-A", "a=b", None], "n": [1, 2, 3], "share": [0.5, None, -1.0]})
    pd.testing.assert_frame_equal(without_formulas(table), table, check_dtype=False)
    assert without_formulas(table).to_csv() == table.to_csv()
