"""Values whose noise has the same size in every cell and every gene, so that what stands out of it can be counted.

Counts scatter the more the deeper the cell and the more abundant the gene. One factor for each cell and one for each
gene make the mean squared deviation from a plain prediction, the gene's share of the cell's total, the same in every
row and column (Landa, Zhang and Kluger 2022 do so for the variance of counts). Such factors leave the rank of what
programs make of the cells as it is, which a logarithm would not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

SCALING_STEPS = 25
# A gene seen in fewer cells says next to nothing, and its few values would stand out of the noise by themselves.
LEAST_CELLS = 5
# Cells looked at to tell whether values are logarithms of scaled counts, and how near these must be to whole numbers.
ROWS_LOOKED_AT = 30
WHOLE = 0.02
LEAST_ONES = 0.3  # the share of ones among counts of molecules; reads of full-length data have a tenth and fewer
TINY = 1e-30
# A gene that a few cells have in masses, haemoglobin among blood cells say, is described wholly by one direction. It
# has no noise to be measured by, may come to hold nearly all squares, and would decide by itself what directions are
# worth. It counts as no more than so many genes (docs/selection.md).
MOST_OF_A_GENE = 30.0
LEAST_VARIATION = 1e-6  # of a gene, beside what rounding leaves of one that follows the depth of the cells
BASES = (1.0, float(np.log(2.0)))  # logarithms of base, e and 2


class Standardised(NamedTuple):
    """Values in units of their noise."""

    values: np.ndarray  # (cells, genes), single precision
    cells: np.ndarray  # indices of the rows: cells without any value are left out
    genes: np.ndarray  # indices of the columns: genes that too few cells show are left out


def standardise(X: Any) -> Standardised | None:
    """Standardise cells x genes, dense or sparse; None where nothing varies."""
    genes = np.flatnonzero(seen_in(X) >= min(LEAST_CELLS, max(X.shape[0] // 5, 1)))
    Y = dense(X[:, genes])
    cells = np.flatnonzero(Y.any(axis=1))
    Y = Y[cells]
    if min(Y.shape) < 2:
        return None
    depth = Y.sum(axis=1, dtype=np.float64)
    shares = Y.sum(axis=0, dtype=np.float64) / depth.sum()
    deviations = Y - np.outer(depth, shares).astype(np.float32)
    varies = (deviations**2).sum(axis=0, dtype=np.float64) > LEAST_VARIATION * shares**2 * (depth**2).sum()
    if np.count_nonzero(varies) < 2:
        return None
    Y, genes = np.ascontiguousarray(Y[:, varies]), genes[varies]
    rows, columns = equalise(deviations[:, varies])
    Y *= columns.astype(np.float32)
    Y *= rows.astype(np.float32)[:, None]
    return Standardised(Y, cells, genes)


def equalise(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of rows and columns after which the mean square of every row and column is one."""
    squares = R**2
    n, p = R.shape
    rows, columns = np.ones(n), np.ones(p)
    for _ in range(SCALING_STEPS):
        rows = p / np.maximum(squares @ columns.astype(np.float32), TINY).astype(np.float64)
        columns = n / np.maximum(rows.astype(np.float32) @ squares, TINY).astype(np.float64)
    return np.sqrt(rows), np.sqrt(columns)


def bound_genes(R: np.ndarray) -> np.ndarray:
    """Factors of genes after which none has a mean square beyond so many times that of the gene in the middle."""
    squares = np.einsum("ij,ij->j", R, R, dtype=np.float64)
    most = MOST_OF_A_GENE * np.median(squares[squares > 0]) if squares.any() else np.inf
    return np.asarray(np.sqrt(np.minimum(most / np.maximum(squares, TINY), 1.0)))


def linear(X: Any) -> tuple[Any, str]:
    """The values on the scale on which programs add up, and what they were found to be.

    ``"counts"``: of molecules, whole numbers or their logarithms at some depth, which are undone: the depth need not be
    known. ``"reads"``: the same with few ones among them. ``"values"``: all others, as they are.
    """
    some = dense(X[:: max(X.shape[0] // ROWS_LOOKED_AT, 1)])
    if np.array_equal(some, np.rint(some)):
        return X, _kind_of_counts(some)
    for base in BASES:
        counts = np.expm1(some * base)
        if _scaled_counts(counts):
            return _expm1(X, base), _kind_of_counts(counts)
    return X, "values"


def _kind_of_counts(rows: np.ndarray) -> str:
    least = np.where(rows > 0, rows, np.inf).min(axis=1, keepdims=True)
    shown = rows > 0
    return "counts" if (shown & (rows < 1.5 * least)).sum() >= LEAST_ONES * shown.sum() else "reads"


def _scaled_counts(rows: np.ndarray) -> bool:
    """Whether the values of every row are whole multiples of its smallest one."""
    for row in rows:
        shown = row[row > 0]
        if not len(shown) or not np.isfinite(shown).all():
            continue
        multiples = shown / shown.min()
        if np.mean(np.abs(multiples - np.rint(multiples)) > WHOLE) > WHOLE or multiples.max() < 2 - WHOLE:
            return False
    return bool(rows.any())


def _expm1(X: Any, base: float) -> Any:
    return (X * base).expm1() if sparse.issparse(X) else np.expm1(X * base)


def dense(X: Any) -> np.ndarray:
    """A copy as an array in single precision."""
    return (X.toarray() if sparse.issparse(X) else np.array(X)).astype(np.float32)


def seen_in(X: Any) -> np.ndarray:
    """In how many cells each gene is above zero."""
    return np.asarray((X > 0).sum(axis=0)).ravel()
