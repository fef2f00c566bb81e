"""Names that a spreadsheet would run as formulas are written as text; nothing else changes."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from genesieve._spreadsheets import without_formulas

HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_no_cell_begins_as_a_formula(text, kind):
    table = pd.DataFrame({"gene": pd.Series([text, "CD3D"], dtype=kind), "weight": [-1.5, 2.0]})
    written = pd.read_csv(io.StringIO(without_formulas(table).to_csv(index=False)))
    assert list(written["weight"]) == [-1.5, 2.0]
    assert written["gene"][1] == "CD3D"
    assert written["gene"][0].startswith("'")


def test_column_names_are_looked_at():
    assert list(without_formulas(pd.DataFrame({"=A1": ["x"], "plain": ["y"]})).columns) == ["'=A1", "plain"]


def test_other_tables_stay_as_they_are():
    table = pd.DataFrame({"gene": ["HLA-A", "a=b", None], "n": [1, 2, 3], "share": [0.5, None, -1.0]})
    pd.testing.assert_frame_equal(without_formulas(table), table, check_dtype=False)
    assert without_formulas(table).to_csv() == table.to_csv()
