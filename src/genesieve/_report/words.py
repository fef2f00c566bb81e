"""Numbers as a reader wants them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

NOTHING = "\u2013"  # a dash, for what is no number
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def count(value: float) -> str:
    """A whole number with separators: 12,345."""
    return f"{int(value):,}"


def counted(value: float, what: str) -> str:
    """A number of things: 1 cell, 2 cells."""
    return f"{int(value):,} {what}{'' if int(value) == 1 else 's'}"


def percent(share: float) -> str:
    """A share in percent; small ones are not rounded to nothing, and nearly all is not all."""
    if math.isnan(share):
        return NOTHING
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{100 * share:.0f}%"


def number(value: float) -> str:
    """A number with three digits that count, powers of ten only where they must be."""
    if not math.isfinite(value):
        return NOTHING if math.isnan(value) else "∞" if value > 0 else "-∞"
    if value == 0 or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    if 1e-3 <= abs(value) < 1e15:
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:,.{min(digits, 5)}f}"
    mantissa, power = f"{value:.1e}".split("e")
    return f"{mantissa} \u00d7 10{str(int(power)).translate(SUPERSCRIPTS)}"


def p_value(value: float) -> str:
    """A p-value with two digits that count."""
    return f"{value:.2g}" if value >= 1e-3 else "0" if value == 0 else number(value)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def facts(record: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """A nested record as rows of names and values, in its order."""
    rows: list[tuple[str, str]] = []
    for name, value in record.items():
        if isinstance(value, Mapping):
            rows += facts(value, f"{prefix}{name}: ")
        else:
            rows.append((f"{prefix}{name}".replace("_", " "), _said(value)))
    return rows


def _said(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return number(float(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, list | tuple):
        return ", ".join(_said(item) for item in value)
    return "none" if value is None else str(value)
