"""Tables that a spreadsheet shows as they are: no cell of text is run as a formula."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

__all__ = ["plain_name", "without_formulas"]

# Where a cell begins, also one that a spreadsheet makes of the middle of a text, cut at commas or semicolons; and what
# it begins with that would be run. Apostrophes before that are counted in, so that one more can be taken off again.
BEGIN, RUN = r"(?:^|(?<=[;,\t\n]))", r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
FORMULA, GUARDED = re.compile(rf"{BEGIN}(?={RUN})"), re.compile(rf"{BEGIN}'(?={RUN})")


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table, texts and names that begin as a formula does with an apostrophe before them; numbers stay.

    Names are those of columns and, where they are texts, of rows. A carriage return, which readers of CSV take for the
    end of a row, becomes a space.
    """
    guarded = table.copy(deep=False)
    for place, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            guarded.isetitem(place, table.iloc[:, place].astype(object).map(_as_text))
    return guarded.rename(columns=_as_text, index=_as_text)


def plain_name(name: str) -> str:
    """A name as it was before `without_formulas`, but for carriage returns."""
    return GUARDED.sub("", name)


def _as_text(value: Any) -> Any:
    return FORMULA.sub("'", value).replace("\r", " ") if isinstance(value, str) else value
