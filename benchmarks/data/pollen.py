"""Pollen as the paper prepared it: dense, log2(x + 1), genes expressed in at least 30% of cells."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.data import shared

FILE = "pollen.h5ad"
EXPRESSED_IN = 0.3
missing = partial(shared.missing, FILE)


def load() -> np.ndarray:
    """Cells x genes, dense in double precision."""
    X = np.log2(shared.read(FILE).toarray().astype(np.float64) + 1.0)
    return np.ascontiguousarray(X[:, (X > 0).mean(axis=0) >= EXPRESSED_IN])
