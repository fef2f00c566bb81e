"""Products of sparse cells with factors, where SciPy's can be beaten: they give the same sums in the same order.

SciPy's loops are made for any processor, and it would first turn all values of a block to the precision of the factor.
Under a budget, most rows of W are zero: values of genes that are not in use are dropped before ``X W``.

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
# To drop values takes as long as to multiply them by about ten columns: worth it from so many columns on, where at most
# this share of the genes is in use.
DROPPING_RANK, DROPPING_SHARE = 16, 0.5
# X^T H is on columns that fill the processor's vectors: those that are left over would be multiplied one by one. In
# single precision SciPy's is as quick up to so many columns.
VECTOR_BYTES = 32
SINGLE_RANK = 24


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
    if not _is_much(X, W):
        return np.asarray(X @ W)
    used = np.asarray(W.any(axis=1))
    drops = W.shape[1] >= DROPPING_RANK and used.mean() <= DROPPING_SHARE
    return _rows_times(_on_genes(X, used) if drops else X, W)


def transposed_times(X: Any, H: np.ndarray) -> np.ndarray:
    """``X^T H`` (genes, rank) of some cells."""
    by_gene = _by_gene(X)
    if by_gene is not None:
        return _rough_times(by_gene, H)
    rank, dtype = H.shape[1], np.result_type(X.dtype, H.dtype)
    if not _is_much(X, H) or (dtype == np.float32 and rank < SINGLE_RANK):
        return np.asarray(X.T @ H)
    missing = -rank % (VECTOR_BYTES // dtype.itemsize)
    full = np.pad(H, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(H)
    products = np.zeros(X.shape[1] * full.shape[1], dtype)
    _transposed_times(X.data, X.indices, X.indptr, full, products)
    return products.reshape(X.shape[1], -1)[:, :rank]


def _rough_times(X: sparse.csr_array, factor: np.ndarray) -> np.ndarray:
    """Rows of X times a factor, all in the precision of X."""
    return _rows_times(X, factor.astype(X.dtype, copy=False)).astype(np.float64, copy=False)


def _rows_times(X: Any, factor: np.ndarray) -> np.ndarray:
    """Rows of X times a factor, in the higher precision of both."""
    products = np.zeros((X.shape[0], factor.shape[1]), np.result_type(X.dtype, factor.dtype))
    _times(X.data, X.indices, X.indptr, np.ascontiguousarray(factor), products)
    return products


def _on_genes(X: Any, used: np.ndarray) -> Any:
    """The values of X on some genes (a mask); the others are as good as zero."""
    values, genes, ends = np.empty_like(X.data), np.empty_like(X.indices), np.zeros_like(X.indptr)
    _keep(X.data, X.indices, X.indptr, used.view(np.uint8), values, genes, ends)
    return csr_of(values[: ends[-1]], genes[: ends[-1]], ends, X.shape[1])


def _by_gene(X: Any) -> sparse.csr_array | None:
    return X.by_gene if isinstance(X, TwoWays) else None


def _is_much(X: Any, factor: np.ndarray) -> bool:
    """Whether there is enough to multiply, of sparse cells."""
    return bool(sparse.issparse(X) and X.format == "csr" and X.nnz * factor.shape[1] >= LEAST_WORK)


@compiled
def _times(data, indices, indptr, W, products):  # type: ignore[no-untyped-def]
    for i in range(indptr.size - 1):
        row, first, stop = products[i], np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        last = stop - (stop - first) % np.uint64(4)
        # four values at a time, in their order: the row is read and written a quarter as often
        for j in range(first, last, np.uint64(4)):
            j1, j2, j3 = j + np.uint64(1), j + np.uint64(2), j + np.uint64(3)
            x0, x1, x2, x3 = data[j], data[j1], data[j2], data[j3]
            w0, w1 = W[np.uint32(indices[j])], W[np.uint32(indices[j1])]
            w2, w3 = W[np.uint32(indices[j2])], W[np.uint32(indices[j3])]
            for a in range(row.size):
                row[a] = (((row[a] + x0 * w0[a]) + x1 * w1[a]) + x2 * w2[a]) + x3 * w3[a]
        for j in range(last, stop):
            x0, w0 = data[j], W[np.uint32(indices[j])]
            for a in range(row.size):
                row[a] += x0 * w0[a]


@compiled
def _keep(data, indices, indptr, used, values, genes, ends):  # type: ignore[no-untyped-def]
    """Write values, genes and ends of cells on the genes in use, without a branch, which no one could foretell."""
    filled = np.uint64(0)
    for i in range(indptr.size - 1):
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            gene = indices[j]
            values[filled], genes[filled] = data[j], gene
            filled += np.uint64(used[np.uint32(gene)])
        ends[i + 1] = filled


@compiled
def _transposed_times(data, indices, indptr, H, products):  # type: ignore[no-untyped-def]
    """Add to the products, gene by gene in one list: there is less to check at every value."""
    rank = np.uint64(H.shape[1])
    for i in range(indptr.size - 1):
        usages = H[i]
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, first = data[j], np.uint64(np.uint32(indices[j])) * rank
            for a in range(rank):
                products[first + a] += value * usages[a]
