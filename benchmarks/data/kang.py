"""PBMC with and without interferon beta, 1,000 variable genes, log-normalised."""

from __future__ import annotations

from functools import partial

from scipy import sparse

from benchmarks.data import shared

FILE = "kang_pbmc_ifnb_hvg1000.h5ad"
missing = partial(shared.missing, FILE)


def load() -> sparse.csr_array:
    """Cells x genes, CSR in single precision."""
    return shared.log_normalised(shared.read(FILE))
