"""X seen through its leading directions: enough to place programs by, at a small part of the cost of a pass.

Programs lie close to the span of the leading singular vectors, and what a fit needs of X, its products with W and H,
is nearly the same there. So most iterations are done on a rough X, ``scores @ directions.T``, which no one forms; the
last ones on X itself.
"""

from __future__ import annotations

import numpy as np

from genesieve.core.cells.blocks import Blocks, Sweep
from genesieve.core.constraints import largest
from genesieve.core.objective import CellStep, gram_of

# Extra directions and rounds of the subspace iteration behind a truncated SVD.
SVD_OVERSAMPLING = 10
SVD_ROUNDS = 6


class Rough(Blocks):
    """``scores`` (cells, width) times the orthonormal ``directions`` (genes, width), transposed.

    ``squared_norm`` is of X itself, so that objectives on both can be compared.
    """

    def __init__(self, scores: np.ndarray, directions: np.ndarray, squared_norm: float, *, n_jobs: int | None) -> None:
        super().__init__(scores, n_jobs=n_jobs)
        self.shape = (len(scores), len(directions))
        self.directions = directions
        self.squared_norm = squared_norm

    def sweep(self, W: np.ndarray, H: np.ndarray | None, step: CellStep) -> Sweep:
        new_H, cross, gram = super().sweep(self.directions.T @ W, H, step)
        return Sweep(new_H, self.directions @ cross, gram)

    def usages(self, W: np.ndarray, step: CellStep) -> np.ndarray:
        return super().usages(self.directions.T @ W, step)

    def part(self, cells: np.ndarray, n_genes: int, required: np.ndarray | None = None) -> tuple[Blocks, np.ndarray]:
        scores = self._source.rows(cells)
        squares = np.einsum("ij,ij->i", self.directions @ gram_of(scores), self.directions)
        genes = np.flatnonzero(largest(squares, n_genes, required))
        return Rough(scores, self.directions[genes], float(squares[genes].sum()), n_jobs=self.n_jobs), genes

    def worst_cell(self, W: np.ndarray, solved_W: np.ndarray, step: CellStep) -> np.ndarray:
        scores = super().worst_cell(self.directions.T @ W, self.directions.T @ solved_W, step)
        return np.maximum(self.directions @ scores, 0)


def rough(blocks: Blocks, directions: np.ndarray) -> Rough:
    """X on the span of orthonormal directions (genes, width): half a pass."""
    return Rough(blocks.usages(directions, products), directions, blocks.squared_norm, n_jobs=blocks.n_jobs)


def subspace(blocks: Blocks, directions: np.ndarray) -> np.ndarray:
    """One step of subspace iteration: an orthonormal basis of ``X^T X`` times the directions (genes, width)."""
    return np.linalg.qr(blocks.sweep(directions, None, products).cross)[0]


def svd(blocks: Blocks, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading singular triplets by subspace iteration: each sweep with H = X W gives X^T X W."""
    width = min(rank + SVD_OVERSAMPLING, *blocks.shape)
    basis = np.linalg.qr(rng.standard_normal((blocks.shape[1], width)))[0]  # (genes, width)
    for _ in range(SVD_ROUNDS):
        basis = subspace(blocks, basis)
    sweep = blocks.sweep(basis, None, products)
    squares, rotation = np.linalg.eigh(sweep.gram)
    squares, rotation = squares[::-1][:rank], rotation[:, ::-1][:, :rank]
    scale = np.sqrt(np.maximum(squares, 0.0))
    left = (blocks.usages(basis, products) if sweep.H is None else sweep.H) @ rotation
    return np.divide(left, scale, out=np.zeros_like(left), where=scale > 0), scale, basis @ rotation


def products(H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """The step of a pass that only multiplies: H = X W."""
    return cross
