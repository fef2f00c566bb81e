"""What a graph of cells looks at, read from values wherever they are: usages without a penalty, and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from genesieve._slots.read import Fit
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.sources import Source
from genesieve.core.objective import CellStep, Overlap, gram_of
from genesieve.interpret.graph import Cells
from genesieve.interpret.groups import directions as at_unit_length

T = TypeVar("T")


@dataclass(frozen=True)
class Sight:
    """How cells are seen on some genes: by programs W and along directions, both under the gene weights."""

    W: np.ndarray  # (genes, rank)
    directions: np.ndarray  # (genes, width)
    gene_weights: np.ndarray | None  # (genes,)
    gram: np.ndarray  # (rank, rank), W^T W over all genes that count
    unmeasured: np.ndarray | None = None  # (rank, width): scores that usages stand for on genes that were not measured

    @classmethod
    def of_fit(cls, fit: Fit, directions: np.ndarray) -> Sight:
        """On the selected genes, along directions of theirs."""
        weights = None if fit.gene_weights is None else fit.gene_weights[fit.selected]
        W = fit.weights[fit.selected].astype(np.float64)
        W = W if weights is None else W * weights[:, None]
        return cls(W, directions, weights, gram_of(W))

    def on(self, measured: np.ndarray, *, zero_elsewhere: bool) -> Sight:
        """The same where only some genes (a mask) are measured: others are zero, or as the programs predict."""
        W, weights = self.W[measured], None if self.gene_weights is None else self.gene_weights[measured]
        if zero_elsewhere:
            return Sight(W, self.directions[measured], weights, self.gram)
        predicted = self.W[~measured].T @ self.directions[~measured]
        return Sight(W, self.directions[measured], weights, gram_of(W), predicted)

    def of(self, source: Source, *, n_jobs: int | None = None) -> Cells:
        """All cells of a source, from one pass."""
        return self._cells(self._blocks(source, n_jobs).usages(self._products, self._step_and_scores))

    def each(self, source: Source, then: Callable[[Cells], T], *, n_jobs: int | None = None) -> Iterator[T]:
        """What ``then`` makes of every block of them, where the block is worked on."""
        blocks = self._blocks(source, n_jobs)
        return blocks.each_usages(self._products, self._step_and_scores, partial(_seen, self, then))

    @property
    def step(self) -> CellStep:
        """The step that finds usages without a penalty."""
        return Overlap().cell_step(self.gram)

    def _blocks(self, source: Source, n_jobs: int | None) -> Blocks:
        return Blocks(source, gene_weights=self.gene_weights, n_jobs=n_jobs)

    @property
    def _products(self) -> np.ndarray:
        """What cells are multiplied by (genes, rank + width)."""
        return np.hstack([self.W, self.directions])

    @property
    def _step_and_scores(self) -> CellStep:
        return partial(_usages_and_scores, self.step, self.W.shape[1])

    def _cells(self, seen: np.ndarray) -> Cells:
        H, scores = np.split(seen, [self.W.shape[1]], axis=1)
        return Cells(at_unit_length(H), scores if self.unmeasured is None else scores + H @ self.unmeasured)


def _seen(sight: Sight, then: Callable[[Cells], T], seen: np.ndarray) -> T:
    return then(sight._cells(seen))


def _usages_and_scores(step: CellStep, rank: int, H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Of the products of X with programs and directions: the usages, and the scores as they are."""
    return np.hstack([step(np.ascontiguousarray(H[:, :rank]), np.ascontiguousarray(cross[:, :rank])), cross[:, rank:]])
