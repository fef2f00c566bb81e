"""Scales of the genes in every batch, estimated so that cells of one kind look alike in all batches.

With H the usages of the cells and W the weights of all genes, a batch's scale of a gene is the sum of the gene in the
batch over the sum that programs predict there. What differs between batches because their cells do is in H, and so in
the prediction; what is left is the batch. H, W and the scales are found in turn, from scales that make batches equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from genesieve.core import starts
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.scaled import Rows, Scaled, batch_sums, scaled, small_numbers
from genesieve.core.cells.sources import InMemory, Source
from genesieve.core.cells.threads import single_threaded_blas
from genesieve.core.nnls import nnls
from genesieve.core.objective import CellStep, RelativeOverlap, gram_of
from genesieve.core.weights import variation_weights

# Cells that scales and programs are found on in turn, and the rounds of it; then so many rounds on all cells.
SAMPLE_CELLS = 4000
ROUNDS = 15
LAST_ROUNDS = 1
# The penalty that usages are found under: a cell that may use all programs at once mixes them to follow what its batch
# does, and scales find the less of it. With half of it, that of a fit, programs that all cells share come and go
# from draw to draw, and scales take more of which types a batch has; twice as much changes little (docs/batches.md).
ORTHOGONALITY = 0.1
# Rounds before that one goes on from: programs follow what is left of a batch, so that each finds but a part of it.
MEMORY = 2
# Of the sum of squares of the moves, added before they are solved for: rounds may repeat each other to the last digit.
LEAST_PART = 1e-8
# Scales of a new batch are found with the programs as they are.
NEW_BATCH_ROUNDS = 10
# What is known of a scale before any cell is seen, to about a factor 1.3, is worth so many cells that show the gene.
PRIOR_CELLS = 12.0
# Scales further from 1, either way, are of genes that a batch hardly shows: to divide by them would make noise large.
FARTHEST_SCALE = 10.0
# Of what is seen of a gene: programs that predict less of it predict nothing, but for rounding.
LEAST_PREDICTED = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class BatchSums:
    """What is known of the batches before anything is fitted."""

    values: np.ndarray  # (batches, genes)
    squares: np.ndarray  # (genes,)
    sizes: np.ndarray  # (batches,): cells

    @classmethod
    def of(cls, source: Source, batch: np.ndarray, n_batches: int) -> BatchSums:
        """From one pass."""
        values, squares = source.total(partial(batch_sums, n_batches), Rows(None, batch))
        return cls(values, squares, np.bincount(batch, minlength=n_batches).astype(float))

    def raw_scales(self, predicted: np.ndarray, prior_cells: float = PRIOR_CELLS) -> np.ndarray:
        """Sums seen over sums predicted (batches, genes), towards 1 where little is seen."""
        total = self.values.sum(axis=0)
        typical = np.divide(self.squares, total, out=np.ones_like(total), where=total > 0)  # where a cell shows it
        predicted = predicted * gene_levels(total, predicted.sum(axis=0))  # or 1 would not be what all batches share
        return (self.values + prior_cells * typical) / (predicted + prior_cells * typical)

    def scales(self, predicted: np.ndarray, prior_cells: float = PRIOR_CELLS) -> np.ndarray:
        """Scales that take the sums predicted to those seen.

        Over a batch's genes scales are 1 on average, over a gene's batches their inverses are: values are multiplied
        by these, and a gene that only some batches show has to come down there rather than up, as noise, elsewhere.
        The averages are by what is predicted: the level of a gene is up to its programs, the depth of cells to usages.
        """
        raw = _centred(self.raw_scales(predicted, prior_cells), predicted, axis=1)
        return _bounded(1.0 / _centred(1.0 / raw, predicted, axis=0))


def estimate_scales(source: Source, batch: np.ndarray, rank: int, rng: np.random.Generator) -> np.ndarray:
    """Scales (batches, genes) of cells with numbered batches (cells,), from a factorisation of this rank."""
    batch = small_numbers(batch)
    sums = BatchSums.of(source, batch, int(batch.max()) + 1)
    scales = sums.scales(np.outer(sums.sizes / sums.sizes.sum(), sums.values.sum(axis=0)))
    chosen = np.sort(rng.choice(len(batch), min(SAMPLE_CELLS, len(batch)), replace=False))
    sample, of_sample = InMemory(source.rows(chosen)), batch[chosen]
    with single_threaded_blas():
        blocks = Blocks(Scaled(sample, of_sample, scales))
        weights = variation_weights(*blocks.moments(), baseline="mean")
        W = starts.nmf(blocks.weighted(weights), rank, rng, n_starts=1).W / weights[:, None]
        sample_sums = BatchSums.of(sample, of_sample, len(scales))
        acceleration = Acceleration()
        for _ in range(ROUNDS):
            W, found = _round(sample, of_sample, sample_sums, scales, W, weights)
            scales = acceleration.further(scales, found)
        for _ in range(LAST_ROUNDS if len(chosen) < len(batch) else 0):
            W, scales = _round(source, batch, sums, scales, W, weights)
    return scales


@dataclass(frozen=True, eq=False)
class Scaling:
    """How new cells are scaled: batches, their scales, and how much a gene's cells show beyond what is predicted."""

    batch: np.ndarray  # (cells,)
    scales: np.ndarray  # (batches, genes), NaN for a new batch
    levels: np.ndarray  # (genes,): sums seen over sums predicted in the fit

    def known(
        self, source: Source, genes: np.ndarray, W: np.ndarray, products_with: np.ndarray, step: CellStep
    ) -> Scaling:
        """The same with the scales of new batches, found from their cells and the programs W.

        ``genes`` are those of the cells (a mask), and of ``W`` and ``products_with``, what X is multiplied with for the
        step that finds usages: W under gene weights. On other genes new batches are as the fit is.
        """
        new, scales = np.isnan(self.scales).any(axis=1)[:, None], np.nan_to_num(self.scales, nan=1.0)
        if not new.any():
            return self
        sums, of_genes = BatchSums.of(source, self.batch, len(scales)), scales[:, genes]
        for _ in range(NEW_BATCH_ROUNDS):
            usages = _pass(source, self.batch, of_genes, products_with, step)[2]
            predicted = usages @ (W.T * self.levels[genes])
            found = _bounded(_centred(sums.raw_scales(predicted), predicted, axis=1))
            of_genes = np.where(new, found, of_genes)
        scales[:, genes] = of_genes
        return replace(self, scales=scales)

    def applied(
        self, source: Source, genes: np.ndarray, W: np.ndarray, products_with: np.ndarray, step: CellStep
    ) -> Source:
        """The cells on their scales; those of new batches are found first, as `known` has them."""
        return self.known(source, genes, W, products_with, step).on(source, genes)

    def on(self, source: Source, genes: np.ndarray) -> Source:
        """Cells that have some of the genes (a mask), on scales that are all known."""
        return Scaled(source, self.batch, self.scales[:, genes])


def gene_levels(seen: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Sums seen over sums predicted (genes,), 1 where either is nothing."""
    return np.divide(seen, predicted, out=np.ones(len(seen)), where=(seen > 0) & (predicted > LEAST_PREDICTED * seen))


class Acceleration:
    """Anderson's, on the logarithms of scales: the mix of the last rounds that would have moved least."""

    def __init__(self) -> None:
        self._rounds: list[tuple[np.ndarray, np.ndarray]] = []  # what each found, and how far that is from its start

    def further(self, scales: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Where to go on from, after a round from ``scales`` that ``found`` others."""
        goal, move = np.log(found), np.log(found / scales)
        self._rounds = [*self._rounds[-MEMORY:], (goal.ravel(), move.ravel())]
        goals, moves = (np.diff(np.array(each), axis=0) for each in zip(*self._rounds, strict=True))
        gram = moves @ moves.T
        if not gram.any():  # the first round, or one that has nothing to move
            return found
        shares = np.linalg.solve(gram + LEAST_PART * np.trace(gram) * np.eye(len(gram)), moves @ move.ravel())
        return _bounded(np.exp(goal - (shares @ goals).reshape(goal.shape)))


def _round(
    source: Source, batch: np.ndarray, sums: BatchSums, scales: np.ndarray, W: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One pass: the best H for W, the best W for H, and the scales that both find."""
    step = RelativeOverlap(ORTHOGONALITY).cell_step(gram_of(W * weights[:, None]))
    cross, gram, usages = _pass(source, batch, scales, W * weights[:, None] ** 2, step)
    W = nnls(gram, cross, W)
    seen = sums.sizes[:, None] > 0  # a sample may lack a batch
    return W, np.where(seen, sums.scales(usages @ W.T), scales)


def _pass(
    source: Source, batch: np.ndarray, scales: np.ndarray, W: np.ndarray, step: CellStep
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """With H the step's from the products of scaled X with W: ``X^T H``, ``H^T H``, and the sums of H by batch."""
    factors = (1.0 / scales).astype(source.dtype)
    work: Callable[[Any, Any], Any] = partial(_usages_by_batch, W, step, factors)
    cross, gram, usages = source.total(work, Rows(None, batch))
    return cross, gram, usages


def _usages_by_batch(
    W: np.ndarray, step: CellStep, factors: np.ndarray, X: Any, rows: Rows
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = scaled(X, rows.batch, factors)
    products = X @ W
    H = step(np.zeros_like(products), products)
    members = np.equal.outer(np.arange(len(factors)), rows.batch).astype(np.float64)  # (batches, cells)
    return np.asarray(X.T @ H, dtype=np.float64), gram_of(H), members @ H


def _centred(scales: np.ndarray, weights: np.ndarray, *, axis: int) -> np.ndarray:
    """Scales over their weighted mean along an axis."""
    level, total = (scales * weights).sum(axis=axis, keepdims=True), weights.sum(axis=axis, keepdims=True)
    return scales / np.divide(level, total, out=np.ones_like(level), where=(total > 0) & (level > 0))


def _bounded(scales: np.ndarray) -> np.ndarray:
    return np.clip(scales, 1.0 / FARTHEST_SCALE, FARTHEST_SCALE)
