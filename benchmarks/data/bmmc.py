"""Bone marrow cells of three samples (10x), all genes, log-normalised."""

from __future__ import annotations

from functools import partial

from scipy import sparse

from benchmarks.data import shared

FILE = "bmmc_aml_10x.h5ad"
missing = partial(shared.missing, FILE)


def load() -> sparse.csr_array:
    """Cells x genes, CSR in single precision."""
    return shared.log_normalised(shared.read(FILE))
