"""Batches at the door of `SSNMF`: their names and numbers, and the scales that cells are read with.

``model`` is the estimator; its `batches_`, `batch_scales_` and `gene_levels_` are set here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genesieve._checks import check_different_as_text
from genesieve.core.batches import Scaling, estimate_scales, gene_levels
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.scaled import Scaled
from genesieve.core.cells.sources import Source


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches of some cells: names, sorted, and the number of each cell's."""

    names: np.ndarray  # (batches,), words, or None for one that has no name
    of_cell: np.ndarray  # (cells,)

    def check_sizes(self) -> None:
        """Raise if most batches are single cells, as where the names of cells are taken for batches."""
        if len(self.names) > len(self.of_cell) / 2:
            raise ValueError(
                f"batches must have several cells each, got {len(self.names)} batches of {len(self.of_cell)} cells,"
                f" like {str(self.names[0])!r}"
            )

    def scaling(self, names: np.ndarray, known: np.ndarray, levels: np.ndarray) -> Scaling:
        """By the ``known`` scales (batches of a fit, genes) and levels; batches that the fit has not seen have none."""
        rows = dict(zip(names.tolist(), known, strict=True))
        unknown = np.full(known.shape[1], np.nan)
        scales = np.array([rows.get(name, unknown) for name in self.names.tolist()])
        return Scaling(self.of_cell, scales, levels)


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
    check_different_as_text(labels, name)
    names, of_cell = np.unique(labels.astype(str), return_inverse=True)
    return Batches(names, of_cell.ravel())


def scaled_by_batch(model: Any, source: Source, batches: Batches | None, rng: np.random.Generator) -> Source:
    """The source as a fit reads it: with more than one batch, the genes of each on their scales."""
    model.batches_ = None if batches is None else batches.names
    model.batch_scales_ = None if batches is None else np.ones((len(batches.names), source.shape[1]))
    if batches is None or len(batches.names) == 1:
        return source
    batches.check_sizes()
    model.batch_scales_ = estimate_scales(source, batches.of_cell, model.rank_, rng)
    return Scaled(source, batches.of_cell, model.batch_scales_)


def note_levels(model: Any, blocks: Blocks, H: np.ndarray) -> None:
    """Set what the scales of a new batch are measured by, once the fit is there."""
    model.gene_levels_ = None
    if model.batches_ is not None:
        seen, usages = blocks.moments().mean, H.mean(axis=0, dtype=np.float64)
        model.gene_levels_ = gene_levels(seen, usages @ model.components_)


def scaling_of(model: Any, batches: Any, n_cells: int, genes: np.ndarray) -> Scaling | None:
    """How new cells are scaled on some genes; None without labels."""
    if batches is None:
        return None
    if model.batches_ is None:
        raise ValueError("batches must be None for a fit without batches, got labels")
    scales, levels = model.batch_scales_[:, genes], model.gene_levels_[genes]
    return read_batches(batches, n_cells).scaling(model.batches_, scales, levels)
