"""scanpy's usual way: variable genes, PCA, neighbours, Leiden; its resolution searched for the number of clusters.

Where the graph of neighbours falls into more pieces than clusters are asked for, no resolution gives the number: the
nearest stands, and the table of clusters found shows it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.peers import missing_module, package_versions
from benchmarks.quality.protocol import Cells

TITLE = "Leiden on PCA"
GROUP = "peer"
N_PCS = 30
LOWEST, HIGHEST = 1e-3, 20.0  # resolutions between which the search stays
MAX_TRIALS = 30


def missing() -> str | None:
    return missing_module("scanpy", "scanpy") or missing_module("igraph", "igraph")


def versions() -> dict[str, str]:
    return package_versions("scanpy", "igraph")


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    return at_number(leiden(data, seed), n_clusters)


def leiden(data: Cells, seed: int) -> Callable[[float], np.ndarray]:
    """Labels by resolution, on the graph of the cells."""
    import scanpy as sc

    adata = data.adata()
    sc.pp.highly_variable_genes(adata, n_top_genes=data.budget())
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
