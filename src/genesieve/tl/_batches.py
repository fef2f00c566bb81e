"""Batches of the cells of an AnnData, and the scales that a fit knows for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genesieve._slots.keys import Keys
from genesieve._slots.read import Fit, read_column, table_of
from genesieve.core.batches import Scaling
from genesieve.core.cells.sources import Source
from genesieve.core.objective import gram_of
from genesieve.estimators._batches import Batches, one_new_batch, read_batches

if TYPE_CHECKING:
    from anndata import AnnData


def read_batch_column(adata: AnnData, batch_key: str, key: str | None = None) -> Batches:
    """The batch of every cell, or an error that says what is wrong with the column.

    ``key`` is that of the result, where labels are written.
    """
    if key is not None and batch_key in Keys(key).of_cells:
        raise ValueError(f"batch_key must not be a column that the result is written to, got {batch_key!r}")
    column = read_column(adata, batch_key, "batch_key must name a column").to_numpy(dtype=object)
    return read_batches(column, adata.n_obs, f"batch_key {batch_key!r}")


def scaling_for(adata: AnnData, fit: Fit, batch_key: str | None, scored: np.ndarray, key: str) -> Scaling | None:
    """How cells are scaled on some of the selected genes (a mask); None for a fit that knew no batches."""
    if fit.batches is None:
        if batch_key is not None:
            raise ValueError(f"batch_key must be None for a fit without batches, got {batch_key!r}")
        return None
    known, levels = fit.batch_scales[fit.selected][scored].T, fit.levels[fit.selected][scored]
    return _batches_of(adata, fit, batch_key, key).scaling(fit.batches, known, levels)


def with_new_batches(source: Source, fit: Fit, scaling: Scaling, scored: np.ndarray, measured: np.ndarray) -> Scaling:
    """The scaling with that of new batches, from cells with the selected genes that are ``scored`` and ``measured``."""
    W = (fit.weights[fit.selected] * fit.scale)[scored]
    weights = np.ones(len(W)) if fit.gene_weights is None else fit.gene_weights[fit.selected][scored]
    step = fit.penalty.cell_step(gram_of(W * weights[:, None]))
    return scaling.known(source, measured, W[measured], (W * weights[:, None] ** 2)[measured], step)


def _batches_of(adata: AnnData, fit: Fit, batch_key: str | None, key: str) -> Batches:
    of_fit = fit.params.get("batch_key")
    if batch_key is None and of_fit in table_of(adata.obs):
        batch_key = of_fit
    if batch_key is None:
        return one_new_batch(adata.n_obs)
    return read_batch_column(adata, batch_key, key)
