"""What is done to expression values before they are fitted: depth, logarithm, and which genes stay.

Every cell is transformed by itself, so a block of cells can be transformed as it is read, and values in a file need no
second copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from genesieve.core.compiled import compiled

# Counts below this are logged once a cell, not once a gene: most values of a cell are the same few small counts.
TABLE_SIZE = 64

# Up to so many values NumPy is as quick as compiled loops that are loaded first, and adds in the same order. Of none at
# all it would make sums of another type.
FEW_VALUES = 1 << 20


@dataclass(frozen=True, eq=False)  # comparing arrays of genes would give an array
class Transform:
    """Scale each cell to one depth, take logarithms, keep some genes; each of them only where it is asked for."""

    depth: float | None = None  # what the values of a cell add up to, before genes are left out
    log_base: float | None = None
    genes: np.ndarray | None = None  # columns to keep, in this order; None keeps all

    def shape(self, before: tuple[int, int]) -> tuple[int, int]:
        """The shape of transformed values."""
        return before[0], before[1] if self.genes is None else len(self.genes)

    def select(self, genes: np.ndarray) -> Transform:
        """The same, followed by a choice among the genes that it keeps (indices or a mask)."""
        genes = np.flatnonzero(genes) if genes.dtype == bool else genes
        return replace(self, genes=genes if self.genes is None else self.genes[genes])

    def __call__(self, X: Any) -> Any:
        """New values of cells x genes, floating point, dense or CSR as X is; X itself stays as it is."""
        if self.depth is None and self.log_base is None and self.genes is None:
            return X
        return self._sparse(X) if sparse.issparse(X) else self._dense(X)

    def _dense(self, X: np.ndarray) -> np.ndarray:
        if self.depth is not None:
            X = X * _depth_factors(X.sum(axis=1, dtype=np.float64), self.depth).astype(X.dtype)[:, None]
        if self.log_base is not None:
            X = np.log1p(X) / X.dtype.type(np.log(self.log_base))
        return X if self.genes is None else X[:, self.genes]

    def _sparse(self, X: Any) -> Any:
        place = np.arange(X.shape[1], dtype=X.indices.dtype)
        if self.genes is not None:
            place[:] = -1
            place[self.genes] = np.arange(len(self.genes))
        factors = np.ones(X.shape[0])
        if self.depth is not None:
            factors = _depth_factors(row_sums(X.data, X.indptr), self.depth)
        divisor = 0.0 if self.log_base is None else np.log(self.log_base)
        parts = _transform_rows(X.data, X.indices, X.indptr, place, factors.astype(X.dtype), X.dtype.type(divisor))
        return type(X)(parts, shape=self.shape(X.shape))


def _depth_factors(totals: np.ndarray, depth: float) -> np.ndarray:
    return np.divide(depth, totals, out=np.ones_like(totals), where=totals > 0)


def row_sums(data: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """In double precision; SciPy adds in the type of the values."""
    n_rows = indptr.size - 1
    if 0 < data.size <= FEW_VALUES:
        return np.bincount(np.repeat(np.arange(n_rows), np.diff(indptr)), weights=data, minlength=n_rows)
    sums = np.zeros(n_rows)
    _add_rows(data, indptr, sums)
    return sums


@compiled
def _add_rows(data, indptr, sums):  # type: ignore[no-untyped-def]
    for i in range(sums.size):
        for j in range(indptr[i], indptr[i + 1]):
            sums[i] += data[j]


@compiled
def _transform_rows(data, indices, indptr, place, factors, divisor):  # type: ignore[no-untyped-def]
    """Values, genes and ends of cells on the genes that have a place; ``divisor`` 0 means no logarithm."""
    values, genes = np.empty_like(data), np.empty_like(indices)
    ends = np.zeros_like(indptr)
    logs = np.empty(TABLE_SIZE, data.dtype)
    filled = 0
    for i in range(indptr.size - 1):
        logs[:] = -1  # not known yet: they are of one cell
        for j in range(indptr[i], indptr[i + 1]):
            gene = place[np.uint32(indices[j])]
            if gene < 0:
                continue
            value = data[j]
            count = np.uint32(value) if 0 <= value < TABLE_SIZE else np.uint32(0)
            if divisor == 0:
                value *= factors[i]
            elif value == count:
                if logs[count] < 0:
                    logs[count] = np.log1p(value * factors[i]) / divisor
                value = logs[count]
            else:
                value = np.log1p(value * factors[i]) / divisor
            values[filled], genes[filled] = value, gene
            filled += 1
        ends[i + 1] = filled
    return values[:filled], genes[:filled], ends
