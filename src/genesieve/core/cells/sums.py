"""Sums over the cells for every gene, from one pass: its moments, and how well its mean predicts it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from genesieve.core.cells.intact import csr_of
from genesieve.core.cells.transform import FEW_VALUES
from genesieve.core.compiled import compiled

# Sizes of cells that spread by a smaller share of their squares are all alike, but for rounding.
LEAST_SPREAD = 1e-9


class GeneSums(NamedTuple):
    """What is added up over the cells; a cell's size is the sum of its values."""

    values: np.ndarray  # (genes,)
    squares: np.ndarray  # (genes,)
    with_size: np.ndarray  # (genes,): values times the size of their cell
    size: float
    squared_size: float


def gene_sums(X: Any, H: np.ndarray | None = None) -> GeneSums:
    """Of some cells, in double precision."""
    if not sparse.issparse(X):
        sizes = X.sum(axis=1, dtype=np.float64)
        values, squares = X.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", X, X, dtype=np.float64)
        with_size = np.asarray(X.T @ sizes)
    elif X.data.size <= FEW_VALUES:
        data = X.data.astype(np.float64, copy=False)
        exact, squared = (csr_of(of, X.indices, X.indptr, X.shape[1]) for of in (data, data * data))
        sizes = exact @ np.ones(X.shape[1])
        values, with_size = (exact.T @ np.column_stack([np.ones(X.shape[0]), sizes])).T
        squares = squared.T @ np.ones(X.shape[0])
    else:
        sizes, sums = np.zeros(X.shape[0]), np.zeros((X.shape[1], 4))  # a gene's sums side by side, in one cache line
        _add_genes(X.data, X.indices, X.indptr, sizes, sums)
        values, squares, with_size = (np.ascontiguousarray(column) for column in sums.T[:3])
    return GeneSums(values, squares, with_size, float(sizes.sum()), float(sizes @ sizes))


def gains_of_mean(sums: GeneSums, n_cells: int) -> np.ndarray:
    """By how much each gene's sum of squares falls when its mean, at the size of each cell, is taken off (genes,).

    The prediction is the least-squares line over the size of the cells. Logged values of deep cells are larger
    throughout, whatever the cells are: that is no merit of a program.
    """
    by_mean = sums.values**2 / n_cells
    spread = sums.squared_size - sums.size**2 / n_cells
    if spread <= LEAST_SPREAD * sums.squared_size:
        return by_mean
    return np.asarray(by_mean + (sums.with_size - sums.values * sums.size / n_cells) ** 2 / spread)


def cells_with(data: np.ndarray, indices: np.ndarray, n_genes: int) -> np.ndarray:
    """In how many cells every gene of sparse values is above zero (genes,)."""
    if 0 < data.size <= FEW_VALUES:
        return np.bincount(indices[data > 0], minlength=n_genes)
    seen = np.zeros(n_genes, np.int64)
    _count(data, indices, seen)
    return seen


@compiled
def _count(data, indices, seen):  # type: ignore[no-untyped-def]
    for j in range(data.size):
        seen[np.uint64(indices[j])] += data[j] > 0


@compiled
def _add_genes(data, indices, indptr, sizes, sums):  # type: ignore[no-untyped-def]
    """Sums of rows, and of every gene's values, their squares and their products with the sum of their row."""
    for i in range(sizes.size):
        first, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        size = 0.0
        for j in range(first, stop):
            size += data[j]
        sizes[i] = size
        for j in range(first, stop):
            value, gene = np.float64(data[j]), np.uint64(indices[j])
            sums[gene, 0] += value
            sums[gene, 1] += value * value
            sums[gene, 2] += value * size
