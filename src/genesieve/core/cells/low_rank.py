"""X on its leading directions: enough to place programs by, at a small part of the cost of a pass.

Programs lie close to the span of the leading singular vectors, and what a fit needs of X, its products with W and H,
is nearly the same there. So most iterations are done on a low-rank X, ``scores @ directions.T``, which no one forms;
the last ones on X itself.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from genesieve.core.cells.blocks import FROM_ZERO, Blocks, Cells, NoUsages, Sweep, Usages
from genesieve.core.cells.sampling import WHOLE_CELLS, sample
from genesieve.core.cells.sources import InMemory
from genesieve.core.cells.threads import single_threaded_blas
from genesieve.core.constraints import largest
from genesieve.core.objective import CellStep, gram_of, half_squared_residual

# Directions beyond the rank; they are found from a sample of cells. More of either hardly help.
EXTRA_DIRECTIONS = 24
# Where X has fewer cells or genes than so many times its directions, there is too little to gain by them.
LEAST_SAVING = 4
# On more directions than these rows are most of a step, and products must save twice as much.
FEW_DIRECTIONS = 40
# A row has few values here and much to solve: blocks are smaller than those of X, so that all threads have one.
CELLS_A_BLOCK = 500
MOST_BLOCKS = 8
# Steps of subspace iteration from random directions, and from directions near by: what is left the last passes mend.
# Thorough ones go on, on all cells, until seeds hardly differ: fits of two rough approximations end in other minima,
# however many there are of them (docs/programs.md).
ROUNDS, ROUNDS_FROM_NEAR, THOROUGH_ROUNDS = 2, 1, 10
# Extra directions and rounds of the subspace iteration behind a truncated SVD.
SVD_OVERSAMPLING = 10
SVD_ROUNDS = 6


class LowRank:
    """Cells whose X is ``scores`` (cells, width) times the orthonormal ``directions`` (genes, width), transposed.

    ``squared_norm`` and ``baseline_gains`` are of X itself, so that objectives on both can be compared.
    """

    def __init__(
        self,
        scores: np.ndarray,
        directions: np.ndarray,
        *,
        squared_norm: float,
        baseline_gains: np.ndarray,
        threads: int,
    ) -> None:
        least_blocks = min(len(scores) // CELLS_A_BLOCK, MOST_BLOCKS)
        self._scores = scores
        self._blocks = Blocks(InMemory(scores, n_jobs=threads, least_blocks=least_blocks), n_jobs=threads)
        self.directions, self.threads = directions, threads
        self.squared_norm, self.baseline_gains = squared_norm, baseline_gains
        self.shape, self.dtype = (len(scores), len(directions)), scores.dtype

    def sweep(self, W: np.ndarray, H: Usages, step: CellStep) -> Sweep:
        new_H, cross, gram = self._blocks.sweep(self.directions.T @ W, H, step)
        return Sweep(new_H, self.directions @ cross, gram)

    def usages(self, W: np.ndarray, step: CellStep) -> np.ndarray:
        return self._blocks.usages(self.directions.T @ W, step)

    def squared_residual(self, W: np.ndarray, sweep: Sweep) -> float:
        return 2.0 * half_squared_residual(self.squared_norm, W, sweep.cross, sweep.gram)

    def worst_cell(self, W: np.ndarray, solved_W: np.ndarray, step: CellStep) -> np.ndarray:
        scores = self._blocks.worst_cell(self.directions.T @ W, self.directions.T @ solved_W, step)
        return np.maximum(self.directions @ scores, 0)

    def on_one_thread(self) -> LowRank:
        cells = copy(self)
        cells.threads, cells._blocks = 1, self._blocks.on_one_thread()
        return cells

    def two_ways(self) -> LowRank:
        return self

    def part(self, cells: np.ndarray, n_genes: int, required: np.ndarray | None = None) -> tuple[LowRank, np.ndarray]:
        if len(cells) == self.shape[0] and n_genes >= self.shape[1]:
            return self, np.arange(self.shape[1])
        scores = self._scores[cells]
        squares = np.einsum("ij,ij->i", self.directions @ gram_of(scores), self.directions)
        genes = np.flatnonzero(largest(squares, n_genes, required))
        part = LowRank(
            scores,
            self.directions[genes],
            squared_norm=float(squares[genes].sum()),
            baseline_gains=self.baseline_gains[genes] * (len(cells) / self.shape[0]),  # about: X is not at hand
            threads=self.threads,
        )
        return part, genes


def low_rank_approximation(
    cells: Cells, rank: int, rng: np.random.Generator, *, near: np.ndarray | None = None, thorough: bool = False
) -> Cells:
    """X on its leading directions, or as it is where it is so already or so small that there is nothing to gain.

    The directions are those of some cells, roughly; ``thorough`` ones are of all cells, nearly the same for all seeds.
    ``near`` are directions to set out from.
    """
    width = rank + EXTRA_DIRECTIONS
    least_saving = LEAST_SAVING if width <= FEW_DIRECTIONS else 2 * LEAST_SAVING
    if isinstance(cells, LowRank) or least_saving * width >= min(cells.shape):
        return cells
    some = cells if thorough else sample(cells, rng, n_genes=cells.shape[1]).cells
    rounds = ROUNDS_FROM_NEAR if near is not None else THOROUGH_ROUNDS if thorough else ROUNDS
    directions = rng.standard_normal((cells.shape[1], width)) if near is None else near
    for _ in range(rounds):
        directions = subspace(some, directions)
    return project(cells, directions)


def project(cells: Cells, directions: np.ndarray) -> LowRank:
    """X on the span of orthonormal directions (genes, width): half a pass."""
    return LowRank(
        cells.usages(directions, products),
        directions,
        squared_norm=cells.squared_norm,
        baseline_gains=cells.baseline_gains,
        threads=cells.threads,
    )


def subspace(cells: Cells, directions: np.ndarray) -> np.ndarray:
    """One step of subspace iteration: an orthonormal basis of ``X^T X`` times the directions (genes, width)."""
    return np.linalg.qr(cells.sweep(directions, FROM_ZERO, products).cross)[0]


def svd(
    cells: Cells, rank: int, rng: np.random.Generator, *, basis: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading singular triplets by subspace iteration: each sweep with H = X W gives X^T X W.

    An orthonormal ``basis`` (genes, width) that holds them is taken as it is.
    """
    if basis is None:
        width = min(rank + SVD_OVERSAMPLING, *cells.shape)
        basis = np.linalg.qr(rng.standard_normal((cells.shape[1], width)))[0]  # (genes, width)
        for _ in range(SVD_ROUNDS):
            basis = subspace(cells, basis)
    sweep = cells.sweep(basis, FROM_ZERO, products)
    squares, rotation = np.linalg.eigh(sweep.gram)
    squares, rotation = squares[::-1][:rank], rotation[:, ::-1][:, :rank]
    scale = np.sqrt(np.maximum(squares, 0.0))
    left = (cells.usages(basis, products) if isinstance(sweep.H, NoUsages) else sweep.H) @ rotation
    return np.divide(left, scale, out=np.zeros_like(left), where=scale > 0), scale, basis @ rotation


def explained(cells: Cells, rank: int, rng: np.random.Generator) -> np.ndarray:
    """The sum of squares of every gene (genes,) that the ``rank`` leading directions explain."""
    _, scale, directions = svd(cells, rank, rng, basis=cells.directions if isinstance(cells, LowRank) else None)
    return np.asarray(((directions * scale).astype(np.float64) ** 2).sum(axis=1))


def products(H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """The step of a pass that only multiplies: H = X W."""
    return cross


def leading_directions(cells: Cells, genes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """The leading singular directions (genes, n) of some genes (a mask), the strongest first; of a sample of cells."""
    many = sample(cells, rng, n_cells=WHOLE_CELLS, n_genes=int(genes.sum()), required=genes)
    with single_threaded_blas():
        return many.embed(svd(many.cells, n, rng)[2])


def leading_scores(cells: Cells, genes: np.ndarray, n_directions: int, rng: np.random.Generator) -> np.ndarray:
    """Cells (cells, directions) along these directions."""
    return cells.usages(leading_directions(cells, genes, n_directions, rng), products)
