"""How well a clustering agrees with known classes, and how orthogonal a cell factor is.

All scores are read off one contingency table of classes against clusters, and do not depend on how either is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import normalize

from genesieve._checks import check_choice

__all__ = ["entropy", "nmi", "orthogonality", "purity"]

MEANS: dict[str, Callable[[Any, Any], Any]] = {
    "geometric": lambda a, b: np.sqrt(a * b),
    "arithmetic": lambda a, b: (a + b) / 2,
}


def nmi(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, average: Literal["geometric", "arithmetic"] = "geometric"
) -> float:
    """Normalised mutual information of classes and clusters (Eq. 26).

    Parameters
    ----------
    labels_true, labels_pred
        One label a cell, of any hashable type. The score is symmetric in the two.
    average
        The mean of the two label entropies to divide by: "geometric" as Eq. 26 prints, "arithmetic" as the paper's
        published runs do.

    Returns
    -------
    float
        Between 0 (independent) and 1 (the same partition). With a single class and a single cluster the partitions
        are the same: 1. With only one of the two single there is nothing to share: 0.

    Examples
    --------
    >>> nmi(["T", "T", "B", "B"], [1, 1, 0, 0])
    1.0
    >>> round(nmi(["T", "T", "B", "B"], [1, 1, 1, 0]), 3)
    0.346
    """
    check_choice("average", average, tuple(MEANS))
    table = _contingency(labels_true, labels_pred)
    if min(table.shape) == 1:
        return float(max(table.shape) == 1)
    shared = mutual_info_score(None, None, contingency=table)
    scale = MEANS[average](scipy.stats.entropy(table.sum(axis=1)), scipy.stats.entropy(table.sum(axis=0)))
    return float(np.clip(shared / scale, 0.0, 1.0))  # rounding may step outside by an ulp


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of cells that belong to the commonest class of their cluster (Eq. 27).

    Parameters
    ----------
    labels_true, labels_pred
        One label a cell, of any hashable type.

    Returns
    -------
    float
        Above 0, at most 1. Every clustering of a single class is pure: 1. A single cluster scores the share of the
        commonest class.

    Examples
    --------
    >>> purity(["T", "T", "B", "B"], [1, 1, 1, 0])
    0.75
    """
    table = _contingency(labels_true, labels_pred)
    return float(table.max(axis=0).sum() / table.sum())


def entropy(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, given: Literal["clusters", "classes"] = "clusters"
) -> float:
    """Mean entropy inside the clusters, in units of log2 of the number of classes (Eq. 28).

    Eq. 28 lacks its minus sign in print; it is put back here. Table 2 of the paper fits only the form with the two
    roles swapped (``given="classes"``), which measures how far classes are split and rewards a collapsed clustering.

    Parameters
    ----------
    labels_true, labels_pred
        One label a cell, of any hashable type.
    given
        "clusters" for the entropy of classes inside each cluster, "classes" for that of clusters inside each class.

    Returns
    -------
    float
        0 is pure. At most 1 given clusters; given classes it can exceed 1 when there are more clusters than classes.
        A single class makes the unit log2(1) = 0: the score is then 0 if nothing is mixed (always so given clusters)
        and infinite if that class is split (given classes).

    Examples
    --------
    >>> entropy(["T", "T", "B", "B"], [0, 0, 1, 1])
    0.0
    >>> entropy(["T", "T", "B", "B"], [0, 0, 0, 0])
    1.0
    """
    check_choice("given", given, ("clusters", "classes"))
    table = _contingency(labels_true, labels_pred)
    unit = np.log2(len(table))
    groups = table if given == "clusters" else table.T  # each column is one group of cells
    mixed = float(np.average(scipy.stats.entropy(groups, base=2, axis=0), weights=groups.sum(axis=0)))
    if unit == 0.0:
        return 0.0 if mixed == 0.0 else float("inf")
    return mixed / float(unit)


def orthogonality(H: ArrayLike) -> float:
    """Distance of a cell factor from orthogonal columns, ``||Hn^T Hn - I||_F / r^2`` with the columns at unit norm.

    Parameters
    ----------
    H : array-like of shape (cells, rank)
        The factor; the scale of its columns does not matter.

    Returns
    -------
    float
        0 is orthogonal. A column of zeros cannot be scaled to unit norm and stays as it is: it counts as a deviation
        of 1 on the diagonal, so a dead program worsens the score and never hides in it.

    Examples
    --------
    >>> orthogonality([[1.0, 0.0], [0.0, 5.0]])
    0.0
    """
    factor = np.asarray(H, dtype=np.float64)
    if factor.ndim != 2 or 0 in factor.shape:
        raise ValueError(f"H must be a non-empty matrix of cells x rank, got shape {factor.shape}")
    if not np.isfinite(factor).all():
        raise ValueError(f"H must be finite, got {np.count_nonzero(~np.isfinite(factor))} infinite or missing entries")
    unit = normalize(factor, axis=0)
    rank = unit.shape[1]
    return float(np.linalg.norm(unit.T @ unit - np.eye(rank)) / rank**2)


def _contingency(labels_true: ArrayLike, labels_pred: ArrayLike) -> NDArray[np.int64]:
    """Count the cells of every class (row) in every cluster (column), after checking both labellings."""
    classes, clusters = _codes(labels_true, "labels_true"), _codes(labels_pred, "labels_pred")
    if len(classes) != len(clusters):
        raise ValueError(
            f"labels_true and labels_pred must have the same length, got {len(classes)} and {len(clusters)}"
        )
    return np.asarray(contingency_matrix(classes, clusters))


def _codes(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    """Replace labels by 0, 1, ... in order of appearance; hashing takes any type, also several at once."""
    values = np.asarray(labels, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one label a cell, got an array of shape {values.shape}")
    if values.size == 0:
        raise ValueError(f"{name} must have at least one label, got none")
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(value, len(numbers)) for value in values.tolist()])
    if any(_is_missing(value) for value in numbers):
        raise ValueError(f"{name} must have a label for every cell, got missing ones")
    return codes


def _is_missing(label: Any) -> bool:
    try:
        return label is None or not bool(label == label)  # nan and nat differ from themselves
    except TypeError:  # pandas.NA refuses to be true or false
        return True
