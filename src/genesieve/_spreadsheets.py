"""Tables that a spreadsheet shows as they are: no cell of text is run as a formula."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

__all__ = ["without_formulas"]

FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # what a cell begins with that a spreadsheet would run


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table, texts and column names that begin as a formula does with an apostrophe before them; numbers stay.

    A carriage return, which readers of CSV take for the end of a row, becomes a space.
    """
    texts = [name for name, kind in table.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    changed = {str(name): table[name].astype(object).map(_as_text) for name in texts}
    return table.assign(**changed).rename(columns=_as_text)


def _as_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return (("'" if FORMULA.match(value) else "") + value).replace("\r", " ")
