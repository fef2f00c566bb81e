"""The one scorer: the objective of any pair of factors, wall time, and peak memory above what was there before."""

from __future__ import annotations

import ctypes
import gc
import os
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

# Cells scored at once: products in double precision need a copy of so many cells, not of all.
CELLS_AT_ONCE = 2000
STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


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


class Meter:
    """Seconds, and bytes of peak resident memory above those at the start, of the code in a ``with`` block.

    ``peak`` is ``None`` where the system does not tell (it is read from Linux's ``/proc``).
    """

    seconds: float = float("nan")
    peak: int | None = None

    def __enter__(self) -> Self:
        _settle()
        self._before = _status("VmRSS")
        self._began = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self.seconds = self.elapsed()
        after = _status("VmHWM")
        if self._before is not None and after is not None:
            self.peak = max(after - self._before, 0)

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began


def _settle() -> None:
    """Give free memory back to the system, so that it is not used again unseen, and forget the peak so far."""
    gc.collect()
    if os.name == "posix" and STATUS.exists():
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        RESET.write_text("5")


def _status(field: str) -> int | None:
    if not STATUS.exists():
        return None
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024  # given in kB
