"""What is done to expression values before they are fitted: depth, logarithm, and which genes stay.

Every cell is transformed by itself, so a block of cells can be transformed as it is read, and values in a file need no
second copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

# Counts below this are logged once a cell, not once a gene: most values of a cell are the same few small counts.
TABLE_SIZE = 64


@dataclass(frozen=True)
class Transform:
    """Scale each cell to one depth, take logarithms, keep some genes; each of them only where it is asked for."""

    depth: float | None = None  # what the values of a cell add up to, before genes are left out
    log_base: float | None = None
    genes: np.ndarray | None = None  # columns to keep, in this order; None keeps all

    def shape(self, given: tuple[int, int]) -> tuple[int, int]:
        """The shape of transformed values."""
        return given[0], given[1] if self.genes is None else len(self.genes)

    def select(self, genes: np.ndarray) -> Transform:
        """The same, followed by a choice among the genes that it keeps (indices or a mask)."""
        genes = np.flatnonzero(genes) if genes.dtype == bool else genes
        return replace(self, genes=genes if self.genes is None else self.genes[genes])

    def __call__(self, X: Any) -> Any:
        """New values of cells x genes, dense or CSR as X is; X itself stays as it is."""
        return self._sparse(X) if sparse.issparse(X) else self._dense(X)

    def _dense(self, X: np.ndarray) -> np.ndarray:
        if self.depth is not None:
            X = X * _depth_factors(X.sum(axis=1, dtype=np.float64), self.depth).astype(X.dtype)[:, None]
        if self.log_base is not None:
            X = np.log1p(X) / X.dtype.type(np.log(self.log_base))
        return X if self.genes is None else X[:, self.genes]

    def _sparse(self, X: Any) -> Any:
        if self == Transform():
            return X
        place = np.arange(X.shape[1], dtype=X.indices.dtype)
        if self.genes is not None:
            place[:] = -1
            place[self.genes] = np.arange(len(self.genes))
        factors = np.ones(X.shape[0])
        if self.depth is not None:
            factors = _depth_factors(np.asarray(X.sum(axis=1), dtype=np.float64).ravel(), self.depth)
        divisor = 0.0 if self.log_base is None else np.log(self.log_base)
        parts = _transform_rows(X.data, X.indices, X.indptr, place, factors.astype(X.dtype), X.dtype.type(divisor))
        return type(X)(parts, shape=self.shape(X.shape))


def _depth_factors(totals: np.ndarray, depth: float) -> np.ndarray:
    return np.divide(depth, totals, out=np.ones_like(totals), where=totals > 0)


@njit(nogil=True, cache=True)
def _transform_rows(data, indices, indptr, place, factors, divisor):  # type: ignore[no-untyped-def]
    """Values, genes and ends of cells on the genes that have a place; ``divisor`` 0 means no logarithm."""
    values, genes = np.empty_like(data), np.empty_like(indices)
    ends = np.zeros_like(indptr)
    table, made_for = np.empty(TABLE_SIZE, data.dtype), np.full(TABLE_SIZE, -1)
    filled = 0
    for i in range(indptr.size - 1):
        for j in range(indptr[i], indptr[i + 1]):
            gene = place[indices[j]]
            if gene < 0:
                continue
            value = data[j]
            if divisor == 0:
                value *= factors[i]
            elif value < TABLE_SIZE and value == int(value):
                count = int(value)
                if made_for[count] != i:
                    made_for[count], table[count] = i, np.log1p(value * factors[i]) / divisor
                value = table[count]
            else:
                value = np.log1p(value * factors[i]) / divisor
            values[filled], genes[filled] = value, gene
            filled += 1
        ends[i + 1] = filled
    return values[:filled], genes[:filled], ends
