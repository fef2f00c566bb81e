"""Sums over the cells for every gene, from one pass: its moments, and how well its mean predicts it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from genesieve.core.cells.transform import FEW_VALUES, row_sums
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
    if sparse.issparse(X):
        sizes = row_sums(X.data, X.indptr)
        values, squares = count_genes(X.data, X.indices, X.shape[1])[1:]
    else:
        sizes = X.sum(axis=1, dtype=np.float64)
        values, squares = X.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", X, X, dtype=np.float64)
    return GeneSums(values, squares, np.asarray(X.T @ sizes), float(sizes.sum()), float(sizes @ sizes))


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


def count_genes(data: np.ndarray, indices: np.ndarray, n_genes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every gene of sparse values, how many are above zero, their sum, and the sum of their squares."""
    if 0 < data.size <= FEW_VALUES:
        values = data.astype(np.float64, copy=False)
        added, squared = (np.bincount(indices, weights=each, minlength=n_genes) for each in (values, values * values))
        return np.bincount(indices[data > 0], minlength=n_genes), added, squared
    seen, sums, squares = np.zeros(n_genes, np.int64), np.zeros(n_genes), np.zeros(n_genes)
    _count(data, indices, seen, sums, squares)
    return seen, sums, squares


@compiled
def _count(data, indices, seen, sums, squares):  # type: ignore[no-untyped-def]
    for j in range(data.size):
        value, gene = np.float64(data[j]), indices[j]
        seen[gene] += value > 0
        sums[gene] += value
        squares[gene] += value * value
