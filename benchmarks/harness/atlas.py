"""A simulated atlas of any size: cell types as mixtures of gene programs, sparse counts, log-normalised.

Genes have log-normal mean expression, a type raises some of them, a cell mixes its type with another and has its own
depth. Counts are drawn read by read from the cell's expression profile, so sparsity follows from depth as in real data.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from scipy import sparse

from benchmarks.harness.data import NORMALISED_DEPTH

N_TYPES = 30
READS_A_CELL = 2100  # gives 9% of entries above zero on 15,000 genes
GENE_SPREAD = 1.6  # sd of the log mean expression of genes
MARKER_SHARE, MARKER_FOLD = 0.08, 6.0
OWN_TYPE = 0.75  # of a cell's expression, the rest is another type's
DEPTH_SPREAD = 0.4
CELLS_AT_ONCE = 2000


def load(n_cells: int = 20_000, n_genes: int = 15_000, seed: int = 0) -> sparse.csr_array:
    """The whole atlas in memory, log-normalised, in single precision. The same seed gives the same cells."""
    rng = np.random.default_rng(seed)
    threshold, alias = alias_tables(profiles(n_genes, rng))
    depth = np.maximum(rng.lognormal(np.log(READS_A_CELL), DEPTH_SPREAD, n_cells).astype(np.int64), 1)
    pair = rng.integers(N_TYPES, size=(n_cells, 2))
    parts = [slice(start, start + CELLS_AT_ONCE) for start in range(0, n_cells, CELLS_AT_ONCE)]

    def draw(part: slice, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return _draw_cells(threshold, alias, depth[part], pair[part], rng.random(depth[part].sum()))

    # Parts are copied to their place as they come; memory that is never written to is never used.
    room = int(np.minimum(depth, n_genes).sum())
    values, genes, sizes = np.empty(room, np.float32), np.empty(room, np.int32), []
    filled = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for part_values, part_genes, part_sizes in pool.map(draw, parts, rng.spawn(len(parts))):
            stop = filled + part_values.size
            values[filled:stop], genes[filled:stop] = part_values, part_genes
            filled = stop
            sizes.append(part_sizes)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return sparse.csr_array((values[:filled], genes[:filled], indptr.astype(np.int32)), shape=(n_cells, n_genes))


def profiles(n_genes: int, rng: np.random.Generator) -> np.ndarray:
    """Expression profiles of the types (types, genes), each summing to one."""
    base = rng.lognormal(0.0, GENE_SPREAD, n_genes)
    marks = rng.random((N_TYPES, n_genes)) < MARKER_SHARE
    raised = base * np.where(marks, rng.exponential(MARKER_FOLD, marks.shape), 1.0)
    return raised / raised.sum(axis=1, keepdims=True)


@njit(nogil=True, cache=True)
def alias_tables(types):  # type: ignore[no-untyped-def]
    """Walker's tables: a read falls on a gene at random, and stays there or moves to that gene's alias.

    They draw from a profile in constant time. Both are (types, genes): the probability to stay, and the alias.
    """
    n_types, n_genes = types.shape
    threshold = types * n_genes
    alias = np.empty((n_types, n_genes), np.int32)
    small, large = np.empty(n_genes, np.int32), np.empty(n_genes, np.int32)
    for t in range(n_types):
        n_small = n_large = 0
        for g in range(n_genes):
            alias[t, g] = g
            if threshold[t, g] < 1.0:
                small[n_small] = g
                n_small += 1
            else:
                large[n_large] = g
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            poor, rich = small[n_small], large[n_large - 1]
            alias[t, poor] = rich
            threshold[t, rich] -= 1.0 - threshold[t, poor]
            if threshold[t, rich] < 1.0:
                n_large -= 1
                small[n_small] = rich
                n_small += 1
    return threshold, alias


@njit(nogil=True, cache=True)
def _draw_cells(threshold, alias, depth, pair, uniform):  # type: ignore[no-untyped-def]
    """Values and genes of some cells, one after the other, and how many each has; one uniform number a read."""
    n_genes = threshold.shape[1]
    room = np.minimum(depth, n_genes).sum()
    values, genes = np.empty(room, np.float32), np.empty(room, np.int32)
    sizes = np.zeros(depth.size, np.int64)
    counts = np.zeros(n_genes, np.int32)
    filled = read = 0
    for i in range(depth.size):
        for _ in range(depth[i]):
            u = uniform[read]  # what is left of it after each use is uniform again
            read += 1
            own = u < OWN_TYPE
            kind = pair[i, 0] if own else pair[i, 1]
            place = (u / OWN_TYPE if own else (u - OWN_TYPE) / (1.0 - OWN_TYPE)) * n_genes
            gene = min(int(place), n_genes - 1)
            counts[gene if place - gene < threshold[kind, gene] else alias[kind, gene]] += 1
        first, scale = filled, NORMALISED_DEPTH / depth[i]
        for gene in range(n_genes):
            if counts[gene] > 0:
                values[filled], genes[filled] = np.log1p(counts[gene] * scale), gene
                counts[gene] = 0
                filled += 1
        sizes[i] = filled - first
    return values[:filled].copy(), genes[:filled].copy(), sizes
