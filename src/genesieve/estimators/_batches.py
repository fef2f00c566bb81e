"""Batches at the door of `SSNMF`: their names and numbers, and the scales that cells are read with.

``model`` is the estimator; its `batches_` and `batch_scales_` are set here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genesieve.core.batches import estimate_scales
from genesieve.core.cells.scaled import Scaled
from genesieve.core.cells.sources import Source


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches of some cells: names, sorted, and the number of each cell's."""

    names: np.ndarray  # (batches,), words, or None for one that has no name
    of_cell: np.ndarray  # (cells,)

    def scales(self, names: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The ``known`` scales (batches of a fit, genes) of these batches, NaN for those that the fit has not seen."""
        rows = dict(zip(names.tolist(), known, strict=True))
        unknown = np.full(known.shape[1], np.nan)
        return np.array([rows.get(name, unknown) for name in self.names.tolist()])


def one_new_batch(n_cells: int) -> Batches:
    """All cells in a batch that no fit knows."""
    return Batches(np.array([None], dtype=object), np.zeros(n_cells, dtype=np.uint8))


def read_batches(batches: Any, n_cells: int, name: str = "batches") -> Batches:
    """The batch of every cell, from labels of any kind."""
    if isinstance(batches, Batches):
        return batches
    labels = np.asarray(batches, dtype=object)
    if labels.ndim != 1 or len(labels) != n_cells:
        raise ValueError(f"{name} must be {n_cells} labels (one a cell), got an array of shape {labels.shape}")
    missing = np.asarray(pd.isna(labels))
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"{name} must name the batch of every cell, got {missing.sum()} missing values, the first at cell {first}"
        )
    names, of_cell = np.unique(labels.astype(str), return_inverse=True)
    return Batches(names, of_cell.ravel())


def scaled_by_batch(model: Any, source: Source, batches: Batches | None, rng: np.random.Generator) -> Source:
    """The source as a fit reads it: with more than one batch, the genes of each on their scales."""
    model.batches_ = None if batches is None else batches.names
    model.batch_scales_ = None if batches is None else np.ones((len(batches.names), source.shape[1]))
    if batches is None or len(batches.names) == 1:
        return source
    model.batch_scales_ = estimate_scales(source, batches.of_cell, model.n_components, rng)
    return Scaled(source, batches.of_cell, model.batch_scales_)


def scaling_of(model: Any, batches: Any, n_cells: int, genes: np.ndarray) -> dict[str, np.ndarray]:
    """The batches of new cells and their scales of some genes, as far as the fit knows them; nothing without labels."""
    if batches is None:
        return {}
    if model.batches_ is None:
        raise ValueError("batches must be None for a fit without batches, got labels")
    of_batch = read_batches(batches, n_cells)
    return {"batch": of_batch.of_cell, "scales": of_batch.scales(model.batches_, model.batch_scales_[:, genes])}
