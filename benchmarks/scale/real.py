"""Real cells that simulated ones follow: the bone marrow cells beside the project, or simulated ones without them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse

from benchmarks.harness import atlas
from benchmarks.harness.data import DATA, log_normalised
from benchmarks.harness.peers import Missing

# How they are grouped, and how near others must be to stand in for one.
N_TYPES, N_NEIGHBOURS, N_COMPONENTS, N_VARIABLE = 12, 20, 30, 2000
SIMULATED_CELLS, SIMULATED_GENES = 2000, 15_000


@dataclass(frozen=True)
class Real:
    """Real cells to follow."""

    counts: sparse.csr_array  # (cells, genes), whole numbers
    genes: np.ndarray  # names
    types: np.ndarray  # (cells,), the cluster of each
    neighbours: np.ndarray  # (cells, neighbours), nearest of its type, itself included
    source: str


@lru_cache(maxsize=1)
def real_cells() -> Real:
    """The bone marrow cells beside the project, or simulated ones where they are missing."""
    marrow = DATA["bmmc"]
    try:
        adata = marrow.read()
    except Missing:
        return simulated_cells()
    return grouped(sparse.csr_array(adata.X), adata.var_names.to_numpy(), marrow.file)


def simulated_cells(n_cells: int = SIMULATED_CELLS, n_genes: int = SIMULATED_GENES) -> Real:
    """Cells drawn from the simulated profiles of types, for want of real ones."""
    rng = np.random.default_rng(0)
    profiles = atlas.profiles(n_genes, rng)[rng.integers(atlas.N_TYPES, size=n_cells)]
    depth = rng.lognormal(np.log(atlas.READS_A_CELL), atlas.DEPTH_SPREAD, n_cells).astype(np.int64)
    counts = [sparse.csr_array(rng.poisson(n * profile)[None]) for n, profile in zip(depth, profiles, strict=True)]
    return grouped(sparse.vstack(counts, format="csr"), np.array([f"gene-{g}" for g in range(n_genes)]), "simulated")


def grouped(counts: sparse.csr_array, genes: np.ndarray, source: str) -> Real:
    """Real cells with their types (k-means on leading components) and neighbourhoods."""
    from sklearn.cluster import KMeans

    U = _components(counts)  # (cells, components)
    types = KMeans(min(N_TYPES, len(U)), random_state=0).fit_predict(U)
    neighbours = np.empty((len(U), N_NEIGHBOURS), np.int32)
    for members in (np.flatnonzero(types == kind) for kind in np.unique(types)):
        neighbours[members] = members[_nearest(U[members])]
    return Real(counts.astype(np.int32), genes, types, neighbours, source)


def _components(counts: sparse.csr_array) -> np.ndarray:
    """Leading components of the most variable genes, log-normalised."""
    from sklearn.decomposition import TruncatedSVD

    X = log_normalised(counts)
    variance = X.power(2).mean(axis=0) - X.mean(axis=0) ** 2
    X = X[:, np.sort(np.argsort(-variance, kind="stable")[:N_VARIABLE])]
    return TruncatedSVD(min(N_COMPONENTS, min(X.shape) - 1), random_state=0).fit_transform(X)


def _nearest(U: np.ndarray) -> np.ndarray:
    """The nearest cells of each, itself first, again from the first where there are too few."""
    from sklearn.neighbors import NearestNeighbors

    n = min(N_NEIGHBOURS, len(U))
    near = NearestNeighbors(n_neighbors=n).fit(U).kneighbors(U, return_distance=False)
    return near[:, np.arange(N_NEIGHBOURS) % n]
