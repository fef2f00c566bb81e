"""The one scorer: the objective of any pair of factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.speed.protocol import Point

# Cells scored at once: products in double precision need a copy of so many cells, not of all.
CELLS_AT_ONCE = 2000


def objective(X: Any, H: np.ndarray, W: np.ndarray) -> float:
    """``||X - H W^T||^2 / 2`` of factors (cells, rank) and (genes, rank), in double precision.

    It is ``(||X||^2 - 2 <X W, H> + <W^T W, H^T H>) / 2``, from sums over blocks of cells: no residual is ever formed.
    """
    H, W = (np.asarray(factor, dtype=np.float64) for factor in (H, W))
    total = 0.5 * float(np.vdot(W.T @ W, H.T @ H))
    for start in range(0, X.shape[0], CELLS_AT_ONCE):
        rows = slice(start, start + CELLS_AT_ONCE)
        block = X[rows].astype(np.float64)
        values = block.data if sparse.issparse(block) else block
        total += 0.5 * float(np.vdot(values, values)) - float(np.vdot(block @ W, H[rows]))
    return total


def nbytes(X: Any) -> int:
    """Bytes that a matrix holds, dense or sparse."""
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(array.nbytes for array in arrays)


def scored(X: Any, point: Point) -> dict[str, Any]:
    """A point without its factors, but with what they are worth."""
    told = {name: value for name, value in vars(point).items() if name not in ("H", "W")}
    return {**told, "objective": objective(X, point.H, point.W), "factors": point.H.nbytes + point.W.nbytes}
