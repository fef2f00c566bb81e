"""What is done to expression values before they are fitted: depth, logarithm, and which genes stay.

Every cell is transformed by itself, so a block of cells can be transformed as it is read, and values in a file need no
second copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from genesieve.core.cells.intact import csr_of
from genesieve.core.compiled import compiled, compiled_part

# Counts below this are logged once a cell, not once a gene: most values of a cell are the same few small counts.
TABLE_SIZE = 64

# Up to so many values NumPy is as quick as compiled loops that are loaded first, and adds in the same order. Of none at
# all it would make sums of another type.
FEW_VALUES = 1 << 20
# Counts up to this one are added as whole numbers: single precision holds them all, and sums of many.
LARGEST_COUNT = 1 << 22


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

    def of_block(self, X: Any, totals: np.ndarray | None = None) -> Any:
        """The same for values that no one else will change: where all genes stay, X and the new values share places.

        ``totals`` (cells,) are the sums of sparse cells, where they are known.
        """
        if self.depth is None and self.log_base is None and self.genes is None:
            return X
        return self._sparse(X, totals, shared=True) if sparse.issparse(X) else self._dense(X)

    def _sparse(self, X: Any, totals: np.ndarray | None = None, *, shared: bool = False) -> Any:
        values, genes, ends = np.empty_like(X.data), X.indices, X.indptr
        if self.genes is not None:
            genes, ends = np.empty_like(genes), np.zeros_like(ends)
        written = (genes, ends) if self.genes is not None else (genes[:0].copy(), ends[:0].copy())
        scaling, space = self._scaling(X, totals), _log_space(X)
        _transform_rows(X.data, X.indices, X.indptr, self._places(X), *scaling, values, *written, *space)
        if self.genes is None and not shared:
            genes, ends = genes.copy(), ends.copy()
        size = int(ends[-1])
        return csr_of(values[:size], genes[:size], ends, self.shape(X.shape)[1], type(X))

    def _places(self, X: Any) -> np.ndarray:
        """Where every gene of X goes to, -1 for nowhere; nothing where all stay."""
        if self.genes is None:
            return np.empty(0, X.indices.dtype)
        places = np.full(X.shape[1], -1, X.indices.dtype)
        places[self.genes] = np.arange(len(self.genes))
        return places

    def _scaling(self, X: Any, totals: np.ndarray | None) -> tuple[Any, ...]:
        """What the values of every cell are multiplied by, and what their logarithms are divided by, 0 for none."""
        factors = np.ones(X.shape[0])
        if self.depth is not None:
            factors = _depth_factors(row_sums(X.data, X.indptr) if totals is None else totals, self.depth)
        return factors.astype(X.dtype), X.dtype.type(0.0 if self.log_base is None else np.log(self.log_base))


def _log_space(X: Any) -> tuple[Any, ...]:
    """For `_log_row`: from where on values have no fractions, logarithms of counts, and the other values of a cell."""
    longest = int(np.diff(X.indptr).max(initial=0))
    whole = X.dtype.type(2.0 ** np.finfo(X.dtype).nmant)
    return whole, np.empty(TABLE_SIZE, X.dtype), np.empty(longest, np.uint64), np.empty(longest, X.dtype)


class Look(NamedTuple):
    """What one look at all sparse values of some cells finds."""

    totals: np.ndarray  # (cells,), in double precision
    in_range: bool  # none is negative, missing or beyond the largest allowed
    in_order: bool  # every cell has its genes in ascending order, none of them twice


def look_over(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, largest: float) -> Look:
    """Sums of all cells, whether values are from 0 to ``largest``, and whether genes are in order; floating point."""
    totals = np.zeros(indptr.size - 1)
    outside, out_of_order = _look_over(data, indices, indptr, totals, *_bounds(data.dtype, largest))
    return Look(totals, outside == 0, out_of_order == 0)


def row_sums(data: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """In double precision; SciPy adds in the type of the values."""
    n_rows = indptr.size - 1
    if 0 < data.size <= FEW_VALUES:
        return np.bincount(np.repeat(np.arange(n_rows), np.diff(indptr)), weights=data, minlength=n_rows)
    sums = np.zeros(n_rows)
    _add_rows(data, indptr, sums, *_bounds(data.dtype, np.inf))
    return sums


def _depth_factors(totals: np.ndarray, depth: float) -> np.ndarray:
    return np.divide(depth, totals, out=np.ones_like(totals), where=totals > 0)


def _bounds(dtype: np.dtype[Any], largest: float) -> tuple[Any, Any, Any]:
    """Of the type of values: the largest allowed, the largest count, and from where on it holds no fractions."""
    return dtype.type(largest), dtype.type(LARGEST_COUNT), dtype.type(2.0 ** np.finfo(dtype).nmant)


# Loops count their places without a sign: numba would look whether each is to be counted from the end.


@compiled
def _look_over(data, indices, indptr, totals, largest, largest_count, whole):  # type: ignore[no-untyped-def]
    outside, out_of_order = 0, 0
    for i in range(totals.size):
        first, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        totals[i], beyond = _total(data, first, stop, largest, largest_count, whole)
        outside += beyond
        last = stop - np.uint64(stop > first)
        for j in range(first, last):
            out_of_order += indices[j] >= indices[j + np.uint64(1)]
    return outside, out_of_order


@compiled
def _add_rows(data, indptr, sums, largest, largest_count, whole):  # type: ignore[no-untyped-def]
    for i in range(sums.size):
        first, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        sums[i] = _total(data, first, stop, largest, largest_count, whole)[0]


@compiled_part
def _total(data, first, stop, largest, largest_count, whole):  # type: ignore[no-untyped-def]
    """The sum of a row, and how many of its values are negative, missing or beyond the largest.

    Counts are added as whole numbers, many at once; others one by one, or their order would tell.
    """
    beyond, broken, counted = 0, 0, np.int64(0)
    for j in range(first, stop):
        value = data[j]
        beyond += not ((value >= 0) & (value <= largest))
        held = value if (value >= 0) & (value < largest_count) else largest_count
        broken += ((held + whole) - whole) != value
        counted += np.int32(held)
    if broken == 0:
        return np.float64(counted), beyond
    total = 0.0
    for j in range(first, stop):
        total += data[j]
    return total, beyond


@compiled
def _transform_rows(  # type: ignore[no-untyped-def]
    data, indices, indptr, place, factors, divisor, values, genes, ends, whole, logs, places, others
):
    """Write values, genes and ends of cells on the genes that have a place; where no places are given, values alone.

    ``divisor`` 0 means no logarithm; the last three are space for `_log_row`.
    """
    filled = np.uint64(0)
    for i in range(indptr.size - 1):
        first, stop, start = np.uint64(indptr[i]), np.uint64(indptr[i + 1]), filled
        if place.size == 0:
            for j in range(first, stop):
                values[j] = data[j]
            filled = stop
        else:
            for j in range(first, stop):  # without a branch, which no one could foretell
                gene = place[np.uint32(indices[j])]
                values[filled], genes[filled] = data[j], gene
                filled += np.uint64(gene >= 0)
            ends[i + 1] = filled
        if divisor == 0:
            for j in range(start, filled):
                values[j] *= factors[i]
        else:
            _log_row(values, start, filled, factors[i], divisor, whole, logs, places, others)


@compiled_part
def _log_row(values, first, stop, factor, divisor, whole, logs, places, others):  # type: ignore[no-untyped-def]
    """Take logarithms of some values of one cell, scaled, in their place.

    Those of small counts come from the table ``logs``. Whatever else there is is put aside, to ``places`` and
    ``others``, without a branch, and logged after.
    """
    size = min(np.uint64(logs.size), stop - first)
    for count in range(size):
        logs[count] = count
        logs[count] = np.log1p(logs[count] * factor) / divisor
    if size == 0:
        return
    zero, n_others = whole - whole, np.uint64(0)
    top = zero + np.float32(size - np.uint64(1))
    for j in range(first, stop):
        value = values[j]
        held = value if value > zero else zero
        held = held if held < top else top
        values[j] = logs[np.uint32(np.int32(held))]
        places[n_others], others[n_others] = j, value
        n_others += np.uint64(((held + whole) - whole) != value)
    for k in range(n_others):
        values[places[k]] = np.log1p(others[k] * factor) / divisor
