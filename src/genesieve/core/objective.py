"""The objective and what it asks of each block, in Gram form: the residual matrix is never formed.

With ``cross = X^T H`` (genes, rank) and ``gram = H^T H`` (rank, rank), half the squared residual is ``(||X||^2 - 2
<cross, W> + <W^T W, gram>) / 2``. A penalty on the overlap of programs adds a term that depends on H and W only
through ``gram`` and ``W^T W``; it says what its term is worth and how it changes the quadratic of each block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from genesieve.core.nnls import few_sweeps, nnls

# What rounding may do to an eigenvalue that is zero, relative to the largest.
ROUNDING = 1e-10

CellStep = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From the current rows of H and their rows of X W, both (cells, rank), to the new rows of H."""


def half_squared_residual(squared_norm: float, W: np.ndarray, cross: np.ndarray, gram: np.ndarray) -> float:
    """``||X - H W^T||^2 / 2`` from the sums of one pass."""
    W = W.astype(np.float64, copy=False)
    return float(0.5 * squared_norm - np.vdot(cross, W) + 0.5 * np.vdot(W.T @ W, gram))


def gradient(factor: np.ndarray, gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Gradient of the objective in either factor, Eq. 14."""
    return factor @ gram.astype(factor.dtype, copy=False) - cross


def gram_of(factor: np.ndarray) -> np.ndarray:
    """``factor^T factor`` in double precision."""
    factor = factor.astype(np.float64, copy=False)
    return factor.T @ factor


class Penalty(Protocol):
    """What an overlap penalty tells a solver. ``gram`` is ``H^T H`` and ``gene_gram`` is ``W^T W``."""

    def value(self, gram: np.ndarray, gene_gram: np.ndarray) -> float:
        """The penalty's part of the objective."""

    def cell_quadratic(self, gene_gram: np.ndarray) -> np.ndarray:
        """The (rank, rank) quadratic form of the objective in a row of H."""

    def gene_quadratic(self, gram: np.ndarray, gene_gram: np.ndarray) -> np.ndarray:
        """A quadratic form in a row of W that majorises the objective, tight at the W of ``gene_gram``."""

    def cell_step(self, gene_gram: np.ndarray) -> CellStep:
        """The exact minimiser over the rows of H."""

    def quick_cell_step(self, gene_gram: np.ndarray) -> CellStep:
        """A step that lowers the rows of H from where they are; the exact one where that is as quick, or better."""


@dataclass(frozen=True)
class Overlap:
    """The paper's penalty, Eq. 10: ``rho / 2`` times the sum over cells of ``(1^T h)^2 - ||h||^2``, plus a small ridge.

    ``rho`` is in units of ``W^T W``, so what it does depends on the scale of the factors.
    """

    rho: float = 0.0
    ridge: float = 0.0

    def value(self, gram: np.ndarray, gene_gram: np.ndarray) -> float:
        return float(0.5 * self.rho * _off_diagonal(gram).sum() + 0.5 * self.ridge * np.trace(gram))

    def cell_quadratic(self, gene_gram: np.ndarray) -> np.ndarray:
        rank = len(gene_gram)
        return gene_gram + self.rho * (1.0 - np.eye(rank)) + self.ridge * np.eye(rank)

    def gene_quadratic(self, gram: np.ndarray, gene_gram: np.ndarray) -> np.ndarray:
        return gram

    def cell_step(self, gene_gram: np.ndarray) -> CellStep:
        return exact_step(self.cell_quadratic(gene_gram))

    def quick_cell_step(self, gene_gram: np.ndarray) -> CellStep:
        return quick_step(self.cell_quadratic(gene_gram))


@dataclass(frozen=True)
class RelativeOverlap:
    """A penalty without scale: ``omega / 2`` times the sum over pairs ``a != b`` of ``||w_a|| ||w_b|| <h_a, h_b>``.

    Moving scale between W and H does not change it, so ``omega`` means the same on every data set: to a cell, two
    programs look as if the cosine between their gene vectors were larger by ``omega``. From ``omega = 1`` on, no cell
    gains by using two programs at once, and the minimum is a hard assignment.
    """

    omega: float = 0.0

    def value(self, gram: np.ndarray, gene_gram: np.ndarray) -> float:
        norms = np.sqrt(np.diag(gene_gram))
        return float(0.5 * self.omega * norms @ _off_diagonal(gram) @ norms)

    def cell_quadratic(self, gene_gram: np.ndarray) -> np.ndarray:
        norms = np.sqrt(np.diag(gene_gram))
        return gene_gram + self.omega * _off_diagonal(np.outer(norms, norms))

    def gene_quadratic(self, gram: np.ndarray, gene_gram: np.ndarray) -> np.ndarray:
        # ||w_a|| ||w_b|| <= (||w_a||^2 n_b / n_a + ||w_b||^2 n_a / n_b) / 2 at the current norms n: a ridge on each
        # program.
        norms = np.sqrt(np.diag(gene_gram))
        pull = _off_diagonal(gram) @ norms
        ridge = self.omega * np.divide(pull, norms, out=np.zeros_like(pull), where=norms > 0)
        return gram + np.diag(ridge)

    def cell_step(self, gene_gram: np.ndarray) -> CellStep:
        return exact_step(self.cell_quadratic(gene_gram))

    def quick_cell_step(self, gene_gram: np.ndarray) -> CellStep:
        return quick_step(self.cell_quadratic(gene_gram))


@dataclass(frozen=True)
class Orthogonal:
    """H exactly orthogonal: every cell uses one program, the limit of a growing penalty."""

    def value(self, gram: np.ndarray, gene_gram: np.ndarray) -> float:
        return 0.0

    def cell_quadratic(self, gene_gram: np.ndarray) -> np.ndarray:
        raise TypeError("an exactly orthogonal H has no quadratic form; use solver 'bcd'")

    def gene_quadratic(self, gram: np.ndarray, gene_gram: np.ndarray) -> np.ndarray:
        return gram

    def cell_step(self, gene_gram: np.ndarray) -> CellStep:
        return partial(_assign_rows, np.diag(gene_gram))

    def quick_cell_step(self, gene_gram: np.ndarray) -> CellStep:
        return self.cell_step(gene_gram)


PENALTIES: dict[str, type[Any]] = {kind.__name__: kind for kind in (Overlap, RelativeOverlap, Orthogonal)}


def pack_penalty(penalty: Any) -> dict[str, str | float]:
    """A penalty as plain types."""
    return {"kind": type(penalty).__name__, **{name: float(value) for name, value in vars(penalty).items()}}


def unpack_penalty(packed: dict[str, Any]) -> Penalty:
    """The penalty that `pack_penalty` wrote."""
    values = {name: float(value) for name, value in packed.items() if name != "kind"}
    return PENALTIES[str(packed["kind"])](**values)


def exact_step(quadratic: np.ndarray) -> CellStep:
    """Minimise the quadratic form over each row of H.

    The minimum of a convex form is one, so a warm start only saves time. Otherwise each row starts from its best single
    program and visits the largest first: it ends at a coordinate-wise minimum that depends on W and the cell alone, not
    on the way there nor on the order that programs are in.
    """
    return partial(_nnls_rows if _curvatures(quadratic)[0] > 0.0 else _nnls_rows_from_best, quadratic)


def quick_step(quadratic: np.ndarray) -> CellStep:
    """Lower the quadratic form over each row of H by a few sweeps, where it is convex but for rounding."""
    values = _curvatures(quadratic)
    return partial(_sweep_rows, quadratic) if values[0] > -ROUNDING * values[-1] else exact_step(quadratic)


def _curvatures(quadratic: np.ndarray) -> np.ndarray:
    """Eigenvalues in units of the programs, lest rounding of a large one decide the sign of a small one's."""
    scale = np.sqrt(np.diag(quadratic))
    scale = np.where(scale > 0, scale, 1.0)
    return np.linalg.eigvalsh(quadratic / scale / scale[:, None])


def _sweep_rows(quadratic: np.ndarray, H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    return few_sweeps(quadratic, cross, H, from_zero=not H.any())


def _nnls_rows(quadratic: np.ndarray, H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    return nnls(quadratic, cross, H)


def _nnls_rows_from_best(quadratic: np.ndarray, H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    order = np.argsort(-np.diag(quadratic), kind="stable")
    quadratic, cross, H = quadratic[np.ix_(order, order)], cross[:, order], H[:, order]
    best = _assign_rows(np.diag(quadratic), H, cross)
    return nnls(quadratic, cross, best, convex=False)[:, np.argsort(order)]


def _assign_rows(curvature: np.ndarray, H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Each cell to the one program that fits it best alone, the one with the largest ``(x . w) / ||w||``."""
    coefficient = np.divide(cross, curvature, out=np.zeros(cross.shape), where=curvature > 0)
    best = np.argmax(coefficient * np.sqrt(curvature), axis=1)  # the first of equals
    assigned = np.zeros_like(H)
    rows = np.arange(len(H))
    assigned[rows, best] = coefficient[rows, best]
    return assigned


def _off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix - np.diag(np.diag(matrix))
