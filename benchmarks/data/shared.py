"""Real data that stands beside the project, never in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
NORMALISED_DEPTH = 1e4


def missing(name: str) -> str | None:
    """Why the file cannot be read, if so."""
    return None if (FOLDER / name).exists() else f"{name} is not in ../shared/data beside the project"


def read(name: str) -> Any:
    """The matrix of a file (cells, genes), CSR in single precision."""
    import anndata

    return sparse.csr_array(anndata.read_h5ad(FOLDER / name).X)


def log_normalised(counts: sparse.csr_array) -> sparse.csr_array:
    """Counts brought to one depth a cell, then ``log(1 + x)``."""
    depth = np.maximum(counts.sum(axis=1), 1.0)
    values = counts.data * np.repeat(NORMALISED_DEPTH / depth, np.diff(counts.indptr))
    return sparse.csr_array((np.log1p(values).astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)
