"""Products of sparse cells in single precision with factors in double precision, without a copy of the values.

SciPy would turn all values of a block to double precision first, and its loops are made for any processor. These give
the same sums in the same order.

Cells that are visited many times may be held gene by gene as well (`TwoWays`): ``X^T H`` then reads the usages of a
block, which stay in a near cache, and writes every gene once, instead of all genes again and again. Their products are
those in the precision of X.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from genesieve.core.cells.intact import csr_of
from genesieve.core.compiled import compiled

# Multiplications from which on compiled loops are worth loading; below, SciPy is as quick.
LEAST_WORK = 1 << 23


class TwoWays(sparse.csr_array):  # type: ignore[misc]
    """Cells x genes by rows, and by columns in ``by_gene``, for many products that need not be exact."""

    by_gene: sparse.csr_array | None = None  # (genes, cells)


def two_ways(X: sparse.csr_array) -> TwoWays:
    """The same values, which are not copied, and a copy of them gene by gene."""
    both: TwoWays = csr_of(X.data, X.indices, X.indptr, X.shape[1], TwoWays)
    both.by_gene = sparse.csr_array(X.T)
    return both


def times(X: Any, W: np.ndarray) -> np.ndarray:
    """``X W`` (cells, rank) of some cells."""
    if _by_gene(X) is not None:  # half as much of W to read, which is what takes the time
        return _rough_times(X, W)
    if not _is_mixed(X, W):
        return np.asarray(X @ W)
    return _summed(X, np.ascontiguousarray(W), np.dtype(np.float64))


def transposed_times(X: Any, H: np.ndarray) -> np.ndarray:
    """``X^T H`` (genes, rank) of some cells."""
    by_gene = _by_gene(X)
    if by_gene is not None:
        return _rough_times(by_gene, H)
    if not _is_mixed(X, H):
        return np.asarray(X.T @ H)
    return _transposed_times(X.data, X.indices, X.indptr, np.ascontiguousarray(H), X.shape[1])


def _rough_times(X: sparse.csr_array, factor: np.ndarray) -> np.ndarray:
    """Rows of X times a factor, all in the precision of X."""
    return _summed(X, np.ascontiguousarray(factor, dtype=X.dtype), X.dtype).astype(np.float64, copy=False)


def _summed(X: sparse.csr_array, factor: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    products = np.zeros((X.shape[0], factor.shape[1]), dtype)
    _times(X.data, X.indices, X.indptr, factor, products)
    return products


def _by_gene(X: Any) -> sparse.csr_array | None:
    return X.by_gene if isinstance(X, TwoWays) else None


def _is_mixed(X: Any, factor: np.ndarray) -> bool:
    """Whether values and factor differ in precision, and there is enough to multiply."""
    if not (sparse.issparse(X) and X.format == "csr" and X.dtype != factor.dtype):
        return False
    return bool(X.nnz * factor.shape[1] >= LEAST_WORK)


@compiled
def _times(data, indices, indptr, W, products):  # type: ignore[no-untyped-def]
    for i in range(indptr.size - 1):
        row, first, stop = products[i], indptr[i], indptr[i + 1]
        last = stop - (stop - first) % 4
        # four values at a time, in their order: the row is read and written a quarter as often
        for j in range(first, last, 4):
            x0, x1, x2, x3 = data[j], data[j + 1], data[j + 2], data[j + 3]
            w0, w1, w2, w3 = W[indices[j]], W[indices[j + 1]], W[indices[j + 2]], W[indices[j + 3]]
            for a in range(row.size):
                row[a] = (((row[a] + x0 * w0[a]) + x1 * w1[a]) + x2 * w2[a]) + x3 * w3[a]
        for j in range(last, stop):
            x0, w0 = data[j], W[indices[j]]
            for a in range(row.size):
                row[a] += x0 * w0[a]


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
