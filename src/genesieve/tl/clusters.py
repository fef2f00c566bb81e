"""Clusters beside programs: on a graph of cells that looks at their usages and at the selected genes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from genesieve._anndata import own, read_values, select_genes
from genesieve._checks import check_integer, check_number
from genesieve._random import as_generator
from genesieve._slots.read import Fit, read_fit
from genesieve._slots.write import write_clusters
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.low_rank import leading_directions
from genesieve.core.cells.sources import InMemory, Source
from genesieve.core.cells.streamed import as_source
from genesieve.interpret.graph import (
    Clusters,
    choose_cells,
    graph_clusters,
    keep_some,
    n_directions,
    settled,
    together,
)
from genesieve.tl._batches import scaled_cells, scaling_for
from genesieve.tl._graph_cells import Sight

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

    Neighbours are found in the cells' usages and along the leading directions of the selected genes. Clusters agree
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
        (`genesieve.tl.project`). Of more than 20,000 cells, so many are in the graph and the others follow them.

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


def find_clusters(
    adata: AnnData,
    fit: Fit,
    n_clusters: int | None,
    resolution: float | None,
    *,
    known: Clusters | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    memory: float | None = None,
) -> None:
    """Find clusters and keep them with what new cells need to follow; ``known`` ones are only kept."""
    if not fit.selected.any():  # nothing to tell cells apart by
        write_clusters(adata, fit.key, Clusters(np.zeros(adata.n_obs, dtype=np.int64), np.zeros(adata.n_obs)))
        return
    seed = int(as_generator(random_state).integers(2**31))
    source = _selected(adata, fit, n_jobs, memory)
    directions = _directions(source, fit, seed, n_jobs)
    sight, chosen = Sight.of_fit(fit, directions), choose_cells(adata.n_obs, seed)
    some = source if len(chosen) == adata.n_obs else InMemory(source.rows(chosen), n_jobs=n_jobs)
    cells = sight.of(some, n_jobs=n_jobs)
    found = known or graph_clusters(
        cells, n_clusters or min(fit.rank, adata.n_obs), resolution=resolution, programs=sight.W.T, seed=seed
    )
    reference = keep_some(cells, found.labels if known is None else found.labels[chosen])
    if some is not source and known is None:
        found = settled(together(map(reference.follow, sight.each(source, n_jobs=n_jobs))), chosen, found)
    write_clusters(adata, fit.key, found, reference, directions)


def _selected(adata: AnnData, fit: Fit, n_jobs: int | None, memory: float | None) -> Source:
    """The cells of a fit on its selected genes, as the fit saw them."""
    X = select_genes(read_values(adata, **fit.values_from), fit.selected)
    source = as_source(X, n_jobs=n_jobs, memory=memory, rank=n_directions(fit.rank))
    every_gene = np.ones(int(fit.selected.sum()), dtype=bool)
    scaling = scaling_for(adata, fit, None, every_gene)
    return source if scaling is None else scaled_cells(source, fit, scaling, every_gene, every_gene)


def _directions(source: Source, fit: Fit, seed: int, n_jobs: int | None) -> np.ndarray:
    """The leading directions (selected genes, width) under the gene weights."""
    weights = None if fit.gene_weights is None else fit.gene_weights[fit.selected]
    blocks, every_gene = Blocks(source, gene_weights=weights, n_jobs=n_jobs), np.ones(source.shape[1], dtype=bool)
    return leading_directions(blocks, every_gene, n_directions(fit.rank), np.random.default_rng(seed))
