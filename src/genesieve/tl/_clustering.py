"""Finding clusters of the cells of a fit on a graph, wherever their values are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from genesieve._anndata import read_fitted, select_genes
from genesieve._random import as_generator
from genesieve._slots.read import Fit
from genesieve._slots.write import write_clusters
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.low_rank import leading_directions
from genesieve.core.cells.sources import InMemory, Source
from genesieve.core.cells.streamed import as_source
from genesieve.core.weights import even_weights
from genesieve.interpret.graph import (
    Clusters,
    choose_cells,
    graph_clusters,
    keep_some,
    n_directions,
    settled,
    together,
)
from genesieve.interpret.groups import places_by_size
from genesieve.tl._graph_cells import Sight

if TYPE_CHECKING:
    from anndata import AnnData


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
        found = settled(together(sight.each(source, reference.follow, n_jobs=n_jobs)), chosen, found)
        places = places_by_size(found.labels, reference.n_clusters)  # those of the graph's cells were in another order
        found = found._replace(labels=places[found.labels])
        reference = replace(reference, labels=places[reference.labels])
    write_clusters(adata, fit.key, found, reference, directions)


def _selected(adata: AnnData, fit: Fit, n_jobs: int | None, memory: float | None) -> Source:
    """The cells of a fit on its selected genes, as the fit saw them."""
    X = select_genes(read_fitted(adata, fit), fit.selected)
    return as_source(X, n_jobs=n_jobs, memory=memory, rank=n_directions(fit.rank))


def _directions(source: Source, fit: Fit, seed: int, n_jobs: int | None) -> np.ndarray:
    """The leading directions (selected genes, width) under the gene weights; with batches, of genes that vary alike.

    Those are given so that values under the gene weights have the right products with them.
    """
    weights = None if fit.gene_weights is None else fit.gene_weights[fit.selected]
    blocks, every_gene = Blocks(source, gene_weights=weights, n_jobs=n_jobs), np.ones(source.shape[1], dtype=bool)
    width, rng = n_directions(fit.rank), np.random.default_rng(seed)
    if fit.batches is None or len(fit.batches) == 1:
        return leading_directions(blocks, every_gene, width, rng)
    even = even_weights(blocks.moments().variance)
    directions = leading_directions(blocks.weighted(even), every_gene, width, rng) * even[:, None]
    if weights is None:
        return directions
    return np.divide(directions, weights[:, None], out=np.zeros_like(directions), where=weights[:, None] > 0)
