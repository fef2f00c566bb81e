"""Products of sparse cells in single precision with factors in double precision, without a copy of the values.

SciPy would turn all values of a block to double precision first, and its loops are made for any processor. These give
the same sums in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from genesieve.core.compiled import compiled

# Multiplications from which on compiled loops are worth loading; below, SciPy is as quick.
LEAST_WORK = 1 << 23


def times(X: Any, W: np.ndarray) -> np.ndarray:
    """``X W`` (cells, rank) of some cells."""
    if not _is_mixed(X, W):
        return np.asarray(X @ W)
    return _times(X.data, X.indices, X.indptr, np.ascontiguousarray(W))


def transposed_times(X: Any, H: np.ndarray) -> np.ndarray:
    """``X^T H`` (genes, rank) of some cells."""
    if not _is_mixed(X, H):
        return np.asarray(X.T @ H)
    return _transposed_times(X.data, X.indices, X.indptr, np.ascontiguousarray(H), X.shape[1])


def _is_mixed(X: Any, factor: np.ndarray) -> bool:
    """Whether values and factor differ in precision, and there is enough to multiply."""
    if not (sparse.issparse(X) and X.format == "csr" and X.dtype != factor.dtype):
        return False
    return bool(X.nnz * factor.shape[1] >= LEAST_WORK)


@compiled
def _times(data, indices, indptr, W):  # type: ignore[no-untyped-def]
    products = np.zeros((indptr.size - 1, W.shape[1]))
    for i in range(indptr.size - 1):
        row, first, stop = products[i], indptr[i], indptr[i + 1]
        # two values at a time, in their order: the row is read and written half as often
        for j in range(first, stop - 1, 2):
            value, weights = np.float64(data[j]), W[indices[j]]
            next_value, next_weights = np.float64(data[j + 1]), W[indices[j + 1]]
            for a in range(row.size):
                row[a] = (row[a] + value * weights[a]) + next_value * next_weights[a]
        if (stop - first) % 2:
            value, weights = np.float64(data[stop - 1]), W[indices[stop - 1]]
            for a in range(row.size):
                row[a] += value * weights[a]
    return products


@compiled
def _transposed_times(data, indices, indptr, H, n_genes):  # type: ignore[no-untyped-def]
    products = np.zeros((n_genes, H.shape[1]))
    for i in range(indptr.size - 1):
        usages = H[i]
        for j in range(indptr[i], indptr[i + 1]):
            value, row = np.float64(data[j]), products[indices[j]]
            for a in range(usages.size):
                row[a] += value * usages[a]
    return products
