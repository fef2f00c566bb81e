"""A simulated atlas of any size: cell types as mixtures of gene programs, sparse counts, log-normalised.

Genes have log-normal mean expression, a type raises some of them, a cell mixes its type with others and has its own
depth. Counts are drawn read by read from the cell's expression profile, so sparsity follows from depth as in real data.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

N_TYPES = 30
READS_A_CELL = 2100  # gives 9% of entries above zero on 15,000 genes
GENE_SPREAD = 1.6  # sd of the log mean expression of genes
MARKER_SHARE, MARKER_FOLD = 0.08, 6.0
OWN_TYPE = 0.75  # of a cell's expression, the rest is another type's
DEPTH_SPREAD = 0.4
CELLS_AT_ONCE = 2000


def profiles(n_genes: int, rng: np.random.Generator) -> np.ndarray:
    """Expression profiles of the types (types, genes), each summing to one."""
    base = rng.lognormal(0.0, GENE_SPREAD, n_genes)
    fold = np.where(
        rng.random((N_TYPES, n_genes)) < MARKER_SHARE, rng.exponential(MARKER_FOLD, (N_TYPES, n_genes)), 1.0
    )
    raised = base * fold
    return raised / raised.sum(axis=1, keepdims=True)


def cells(types: np.ndarray, n_cells: int, rng: np.random.Generator) -> sparse.csr_array:
    """Log-normalised cells (cells, genes) in single precision."""
    n_genes = types.shape[1]
    cumulative = np.cumsum(types, axis=1)
    pair = rng.integers(N_TYPES, size=(n_cells, 2))
    depth = np.maximum(rng.lognormal(np.log(READS_A_CELL), DEPTH_SPREAD, n_cells).astype(np.int64), 1)
    cell = np.repeat(np.arange(n_cells), depth)
    source = np.where(rng.random(cell.size) < OWN_TYPE, pair[cell, 0], pair[cell, 1])
    gene = np.empty(cell.size, dtype=np.int64)
    for number in range(N_TYPES):
        chosen = np.flatnonzero(source == number)
        gene[chosen] = np.searchsorted(cumulative[number], rng.random(chosen.size) * cumulative[number, -1])
    keys, counts = np.unique(cell * n_genes + gene, return_counts=True)
    values = np.log1p(counts * (1e4 / depth[keys // n_genes])).astype(np.float32)
    indptr = np.searchsorted(keys, np.arange(n_cells + 1) * n_genes).astype(np.int32)
    return sparse.csr_array((values, (keys % n_genes).astype(np.int32), indptr), shape=(n_cells, n_genes))


def load(n_cells: int = 20_000, n_genes: int = 15_000, seed: int = 0) -> sparse.csr_array:
    """The whole atlas in memory."""
    rng = np.random.default_rng(seed)
    types = profiles(n_genes, rng)
    sizes = [min(CELLS_AT_ONCE, n_cells - start) for start in range(0, n_cells, CELLS_AT_ONCE)]
    return sparse.vstack([cells(types, size, rng) for size in sizes], format="csr")
