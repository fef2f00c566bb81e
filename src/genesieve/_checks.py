"""Checks at the door: each error names the thing, what was expected and what came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

SHOWN_NAMES = 10  # that `listing` gives before it stops
FEW = 3  # that `first_few` gives
SHOWN_LETTERS = 80  # of a value that is not as it should be


def shown(value: object) -> str:
    """A value for an error message: on one line, cut where it gets long, as arrays do."""
    line = " ".join(repr(value).split())
    return line if len(line) <= SHOWN_LETTERS else f"{line[:SHOWN_LETTERS]}..."


def choices(what: str, slots: Any) -> str:
    """The end of an error message: which layers, columns, ... there are to choose from."""
    names = [name for name in slots if name is not None]  # newer versions of anndata list X as a layer without a name
    return f"; {what} there are: {listing(names)}" if names else f"; there are no {what}"


def check_choice(name: str, value: object, choices: Sequence[str | None]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        expected = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be {expected}, got {shown(value)}")


def check_integer(name: str, value: object, low: int, high: int | None = None, *, why: str = "") -> None:
    """Raise unless ``value`` is an integer from ``low`` to ``high``; ``why`` explains the upper bound."""
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if int(value) < low or (high is not None and int(value) > high):
        expected = f"at least {low}" if high is None else f"between {low} and {high}{f' ({why})' if why else ''}"
        raise ValueError(f"{name} must be {expected}, got {shown(value)}")


def check_number(name: str, value: object, *, or_else: str = "") -> None:
    """Raise unless ``value`` is a finite number that is not negative; ``or_else`` names what else is allowed."""
    expected = f"a finite number >= 0{f' or {or_else}' if or_else else ''}"
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be {expected}, got {shown(value)}")
    if not np.isfinite(float(value)) or float(value) < 0:
        raise ValueError(f"{name} must be {expected}, got {shown(value)}")


def check_array(name: str, value: Any, shape: tuple[int, ...], *, positive: bool = False) -> np.ndarray:
    """``value`` as a float array, or raise unless it has the shape and finite non-negative (or positive) entries."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers of shape {shape}, got {type(value).__name__}") from None
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any() or (positive and (array == 0).any()):
        kind = "positive" if positive else "non-negative"
        raise ValueError(f"{name} must be finite and {kind}, got values from {array.min()} to {array.max()}")
    return array


def check_different_as_text(labels: np.ndarray, name: str) -> None:
    """Raise if labels (of any kind) that differ are the same as text, and would become one."""
    kinds = list(dict.fromkeys((type(label), label) for label in labels.tolist()))
    texts = [str(label) for _, label in kinds]
    clash = next((text for text in texts if texts.count(text) > 1), None) if len(set(texts)) < len(texts) else None
    if clash is not None:
        same = " and ".join(repr(label) for (_, label), text in zip(kinds, texts, strict=True) if text == clash)
        raise ValueError(f"{name} must have labels that differ as text, got {same}")


def check_two_dimensional(X: Any) -> None:
    """Raise if X has another number of dimensions than two, or masked values, which would be taken as they stand."""
    if np.ma.is_masked(X):
        raise ValueError(
            f"X must have no masked values, got {int(np.ma.getmaskarray(X).sum())}: X.filled(0) has zeros there"
        )
    dimensions = getattr(X, "ndim", None)
    dimensions = np.asarray(X).ndim if dimensions is None else dimensions
    if dimensions != 2:
        raise ValueError(
            f"X must have 2 dimensions (cells x genes), got {dimensions}. Reshape your data, e.g. X.reshape(1, -1)"
        )


def check_non_negative(X: Any, who: str) -> Any:
    """X itself, or raise if it has negative values."""
    values = X.data if sparse.issparse(X) else X
    smallest = values.min() if values.size else 0.0
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to {who}: X must be non-negative (counts or log-normalised values, not"
            f" scaled ones), got a minimum of {smallest:g}"
        )
    return X


@contextmanager
def one_line_errors(name: str) -> Iterator[None]:
    """Cut scikit-learn's longer errors to their first line, and say which argument they are about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name} cannot be used: {str(error).splitlines()[0]}") from None


def listing(names: Sequence[object]) -> str:
    """Names for an error message, quoted, cut where they get many."""
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(repr(str(name)) for name in names[:SHOWN_NAMES]) + more


def first_few(names: Iterable[object]) -> str:
    """The first names as an example, plain."""
    shown = [str(name) for name in names]
    return ", ".join(shown[:FEW]) + (", ..." if len(shown) > FEW else "")


def is_ours(category: type[Warning], filename: str) -> bool:
    """Whether genesieve gave a warning; scikit-learn wraps `fit_transform`, so some seem to come from there."""
    named = category is UserWarning or category.__name__ == "ConvergenceWarning"
    return named and not {"genesieve", "sklearn"}.isdisjoint(Path(filename).parts)
