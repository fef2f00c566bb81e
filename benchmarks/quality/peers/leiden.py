"""scanpy's usual way: variable genes, PCA, neighbours, Leiden.

Where the graph of neighbours falls into more pieces than clusters are asked for, no resolution gives the number: the
nearest stands, and the table of clusters found shows it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.quality.cells import Cells

N_PCS = 30
LOWEST, HIGHEST = 1e-3, 20.0  # resolutions between which the search stays
MAX_TRIALS = 30


def told_the_number(cells: Cells, n_clusters: int, seed: int) -> np.ndarray:
    """The resolution is searched for the number of clusters."""
    return at_number(leiden(cells, seed), n_clusters)


def at_default(cells: Cells, n_clusters: int, seed: int) -> np.ndarray:
    """At scanpy's default resolution, with as many clusters as it finds: it is not told their number."""
    return leiden(cells, seed)(1.0)


def leiden(cells: Cells, seed: int) -> Callable[[float], np.ndarray]:
    """Labels by resolution, on the graph of the cells."""
    import scanpy as sc

    adata = cells.adata()
    sc.pp.highly_variable_genes(adata, n_top_genes=cells.budget())
    n_pcs = min(N_PCS, adata.n_obs - 1, int(adata.var["highly_variable"].sum()) - 1)
    sc.pp.pca(adata, n_comps=n_pcs, random_state=seed)
    sc.pp.neighbors(adata, random_state=seed, transformer="sklearn")  # exact: the others fail with today's pynndescent

    def labels(resolution: float) -> np.ndarray:
        options = {"flavor": "igraph", "n_iterations": 2, "directed": False}  # as scanpy advises
        sc.tl.leiden(adata, resolution=resolution, random_state=seed, **options)
        return adata.obs["leiden"].cat.codes.to_numpy()

    return labels


def at_number(labels_at: Callable[[float], np.ndarray], n_clusters: int) -> np.ndarray:
    """Labels at a resolution, found by bisection, that gives the number of clusters, or the nearest that was seen."""
    low, high, resolution = LOWEST, HIGHEST, 1.0
    labels = nearest = labels_at(resolution)
    for _ in range(MAX_TRIALS):
        found = len(np.unique(labels))
        if abs(found - n_clusters) < abs(len(np.unique(nearest)) - n_clusters):
            nearest = labels
        if found == n_clusters:
            break
        low, high = (resolution, high) if found < n_clusters else (low, resolution)
        resolution = float(np.sqrt(low * high))  # resolutions act on a logarithmic scale
        labels = labels_at(resolution)
    return nearest
