"""Cells whose genes are scaled by batch: each value is divided by its batch's scale of its gene, as blocks are visited.

Zeros stay zeros and nothing becomes negative, so sparse data stay sparse; no second copy of X is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from genesieve.core.cells.intact import csr_of
from genesieve.core.cells.sources import Source, Sums, Work
from genesieve.core.compiled import compiled

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Rows:
    """What goes with each cell: its row of H, if there is one, and its batch."""

    H: np.ndarray | None  # (cells, rank)
    batch: np.ndarray  # (cells,): the number of the batch

    def __getitem__(self, cells: slice) -> Rows:
        return Rows(None if self.H is None else self.H[cells], self.batch[cells])


@dataclass(frozen=True, eq=False)
class ByBatch:
    """Cells x genes, wherever they are, with the scales of their batches, which are applied as values are read."""

    values: Any
    batch: np.ndarray  # (cells,): the number of the batch
    scales: np.ndarray  # (batches, genes)

    @property
    def shape(self) -> tuple[int, int]:
        """Cells and genes."""
        return self.values.shape[0], self.scales.shape[1]


class Scaled(Source):
    """Another source, its values divided by ``scales`` (batches, genes); ``batch`` (cells,) numbers the batches."""

    def __init__(self, source: Source, batch: np.ndarray, scales: np.ndarray) -> None:
        self._source, self.batch = source, small_numbers(batch)
        self._factors = (1.0 / scales).astype(source.dtype)
        self.shape, self.dtype, self.holds_usages = source.shape, source.dtype, source.holds_usages

    def each(self, work: Work[T], H: np.ndarray | None = None) -> Iterator[T]:
        yield from self._source.each(partial(_on_scaled, work, self._factors), Rows(H, self.batch))

    def total(self, work: Work[Sums], H: Any = None) -> Sums:
        return self._source.total(partial(_on_scaled, work, self._factors), Rows(H, self.batch))

    def rows(self, cells: np.ndarray) -> Any:
        return scaled(self._source.rows(cells), self.batch[cells], self._factors)


def small_numbers(batch: np.ndarray) -> np.ndarray:
    """Numbers of batches in the smallest type that holds them: on a cluster they go out with every pass."""
    return batch.astype(np.min_scalar_type(int(batch.max(initial=0))))


def _on_scaled(work: Work[T], factors: np.ndarray, X: Any, rows: Rows) -> T:
    return work(scaled(X, rows.batch, factors), rows.H)


def scaled(X: Any, batch: np.ndarray, factors: np.ndarray) -> Any:
    """New values of cells x genes, each times the factor (batches, genes) of its batch and gene."""
    if not sparse.issparse(X):
        return X * factors[batch]
    values = _scaled_values(X.data, X.indices, X.indptr, batch, factors)
    return csr_of(values, X.indices, X.indptr, X.shape[1])


def batch_sums(n_batches: int, X: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Of some cells, the sum of every gene in every batch (batches, genes), and of its squares in all (genes,)."""
    if sparse.issparse(X):
        return _sums_of_values(X.data, X.indices, X.indptr, rows.batch, n_batches, X.shape[1])
    values = np.zeros((n_batches, X.shape[1]))
    for number in np.unique(rows.batch):
        values[number] = X[rows.batch == number].sum(axis=0, dtype=np.float64)
    return values, np.einsum("ij,ij->j", X, X, dtype=np.float64)


@compiled
def _scaled_values(data, indices, indptr, batch, factors):  # type: ignore[no-untyped-def]
    values = np.empty_like(data)
    for i in range(indptr.size - 1):
        of_batch = factors[batch[i]]
        for j in range(indptr[i], indptr[i + 1]):
            values[j] = data[j] * of_batch[indices[j]]
    return values


@compiled
def _sums_of_values(data, indices, indptr, batch, n_batches, n_genes):  # type: ignore[no-untyped-def]
    sums, squares = np.zeros((n_batches, n_genes)), np.zeros(n_genes)
    for i in range(indptr.size - 1):
        of_batch = sums[batch[i]]
        for j in range(indptr[i], indptr[i + 1]):
            value, gene = np.float64(data[j]), indices[j]
            of_batch[gene] += value
            squares[gene] += value * value
    return sums, squares
