"""Cells at the door of `SSNMF`: what scikit-learn takes, data outside memory, and new cells on the selected genes.

``model`` is the estimator; of it, only the names and the number of genes are set here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from genesieve._checks import check_non_negative, check_two_dimensional, first_few, one_line_errors
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.intact import check_intact
from genesieve.core.cells.sources import FARTHEST
from genesieve.core.cells.streamed import streamed

TAKEN: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}


def read_cells(model: Any, X: Any, *, reset: bool) -> Any:
    """Cells x genes as scikit-learn reads it, with all genes of the fit; outside memory as they are."""
    outside = streamed(X)
    if outside is not None:
        _check_outside(model, outside.shape, reset=reset)
        return outside
    check_two_dimensional(X)
    check_intact(X)
    with one_line_errors("X"):
        X = validate_data(model, X, reset=reset, **TAKEN)
    return of_fair_size(check_non_negative(X, type(model).__name__))


def read_new_cells(model: Any, X: Any, *, selected_only: bool) -> tuple[Any, np.ndarray]:
    """New cells, and the genes that their columns are."""
    selected = model.get_support(indices=True)
    if hasattr(X, "columns") and hasattr(model, "feature_names_in_"):
        X, selected_only = _pick_columns(X, model.feature_names_in_[selected]), True
    if not selected_only:
        return read_cells(model, X, reset=False), np.arange(model.n_features_in_)
    check_two_dimensional(X)
    if X.shape[1] != len(selected):
        raise ValueError(f"X must have {len(selected)} columns (the selected genes), got {X.shape[1]}")
    check_intact(X)
    with one_line_errors("X"):
        X = check_array(X, **TAKEN)
    return of_fair_size(check_non_negative(X, type(model).__name__)), selected


def of_fair_size(X: Any) -> Any:
    """X, in double precision where single could not hold the squares of its values; raise where neither could."""
    values = X.data if issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest == 0 or 1 / FARTHEST[X.dtype] <= largest <= FARTHEST[X.dtype]:
        return X
    if X.dtype == np.float32:
        return X.astype(np.float64)
    farthest = FARTHEST[X.dtype]
    raise ValueError(
        f"X must have a largest value from {1 / farthest:g} to {farthest:g}, got {largest:g}: divide X by it, as sums"
        " of its squares get out of range"
    )


def check_sums(blocks: Blocks) -> None:
    """Raise where squares of values vanish; outside memory the largest value is not known beforehand, but their sum."""
    least = 1 / FARTHEST[blocks.value_dtype]
    if blocks.plain_norm < least**2 and blocks.moments().mean.any():
        raise ValueError(
            f"X must have a largest value of at least {least:g} in {blocks.value_dtype}, got a sum of squares of"
            f" {blocks.plain_norm:g}: divide X by its largest value"
        )


def _check_outside(model: Any, shape: tuple[int, int], *, reset: bool) -> None:
    if 0 in shape:
        raise ValueError(f"X must have cells and genes, got {shape[0]} cells x {shape[1]} genes")
    if reset:
        model.n_features_in_ = shape[1]
        model.__dict__.pop("feature_names_in_", None)
    elif shape[1] != model.n_features_in_:
        raise ValueError(f"X must have {model.n_features_in_} genes (those of the fit), got {shape[1]}")


def _pick_columns(table: Any, names: np.ndarray) -> Any:
    """The named columns of a table, or an error that says which are missing."""
    missing = [str(name) for name in names if name not in table.columns]
    if missing:
        raise ValueError(
            f"X must have the {len(names)} genes selected at fit time, got a table that lacks {len(missing)} of them:"
            f" {first_few(missing)}"
        )
    return table[list(names)].to_numpy()
