"""Clusters beside programs: on a graph of cells that looks at their usages and at the selected genes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genesieve._anndata import own
from genesieve._checks import check_integer, check_number
from genesieve._slots.read import read_fit
from genesieve.tl._clustering import find_clusters

if TYPE_CHECKING:
    from anndata import AnnData


def cluster(
    adata: AnnData,
    n_clusters: int | None = None,
    *,
    resolution: float | None = None,
    key: str = "ssnmf",
    random_state: Any = 0,
    n_jobs: int | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Cluster the cells of a fit on a graph of neighbours.

    Neighbours are found in the cells' usages and along the leading directions of the selected genes; of a fit with
    several batches, of values on their scales and of genes that are made to vary alike. Clusters agree
    with known cell types better than the program that a cell uses most does; programs say what a cluster is made of.
    `genesieve.tl.ssnmf` does this by itself; call it for another number of clusters.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`, and the values that it was fitted to.
    n_clusters
        How many; ``None``: as many as programs.
    resolution
        Resolution of Leiden's algorithm instead, which then decides how many.
    key
        Name of the fit.
    random_state
        Seed.
    n_jobs
        Threads; ``None`` or -1 uses every core there is.
    copy
        Return a copy with the result instead of working in place.

    Returns
    -------
    AnnData or None
        The copy with ``copy=True``. Sets ``obs["ssnmf_cluster"]`` (categorical, ``"0"`` is the largest),
        ``obs["ssnmf_cluster_confidence"]`` (0 to 1: by how much of itself a cell's tie to its own cluster exceeds that
        to the next), and in ``varm["ssnmf_directions"]`` and ``uns["ssnmf"]["clusters"]`` what new cells need to follow
        (`genesieve.tl.project`). Of more than 3,000 cells, a fifth are in the graph, but at least 3,000 and
        at most 10,000, and the others follow them.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 6, 200)
    >>> gs.tl.cluster(adata, 8)
    >>> adata.obs["ssnmf_cluster"].nunique()
    8
    """
    if n_clusters is not None and resolution is not None:
        raise ValueError(f"n_clusters must be None where a resolution is given, got {n_clusters!r}")
    if resolution is not None:
        check_number("resolution", resolution)
    adata = own(adata, copy=copy)
    fit = read_fit(adata, key)
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters, 1, adata.n_obs, why="the cells given")
    find_clusters(adata, fit, n_clusters, resolution, random_state=random_state, n_jobs=n_jobs)
    return adata if copy else None
