"""The sets that W may live in: non-negative, with a budget of rows (l20), of entries a column (lc0) or of entries (l0).

A constraint knows three things: the nearest point of its set (``project``), whether a point is in it (``contains``),
and how to lower a quadratic over it (``best``, the W step). One that leaves genes out as a whole also knows what these
are worth without a program. To add one, see CONTRIBUTING.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from genesieve.core.nnls import few_sweeps, nnls
from genesieve.core.objective import gradient

# Projected steps of one W step, at most, and the relative change that ends them sooner.
MAX_STEPS = 100
STEP_TOLERANCE = 1e-4
# What rounding may take from the bound on a gene's gain.
BOUND_ROUNDING = 1e-6


class Constraint(Protocol):
    """A set of non-negative W (genes, rank)."""

    def project(self, W: np.ndarray) -> np.ndarray:
        """The nearest point of the set; ties go to the lower index."""

    def contains(self, W: np.ndarray) -> bool:
        """Whether W is in the set."""

    def best(
        self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray, *, threads: int = 1, exact: bool = True
    ) -> np.ndarray:
        """A point as low as can be had, never above a ``start`` in the set that spends the budget.

        What is lowered is ``<W gram, W> / 2 - <cross, W>``, less half of ``gain_outside(W)``. If not ``exact``, it need
        only be lower than ``start``, for less work.
        """

    def gain_outside(self, W: np.ndarray) -> float:
        """How much a baseline lowers the squared residual of the genes that W leaves to it."""

    def is_spent(self, W: np.ndarray) -> bool:
        """Whether W uses the whole budget, or more of it could only help."""


class NoBaseline:
    """Genes that no program explains are predicted by zero."""

    def gain_outside(self, W: np.ndarray) -> float:
        return 0.0

    def is_spent(self, W: np.ndarray) -> bool:
        return True


@dataclass(frozen=True)
class NonNegative(NoBaseline):
    """No budget: every gene is kept."""

    def project(self, W: np.ndarray) -> np.ndarray:
        return np.maximum(W, 0)

    def contains(self, W: np.ndarray) -> bool:
        return bool((W >= 0).all())

    def best(
        self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray, *, threads: int = 1, exact: bool = True
    ) -> np.ndarray:
        return (nnls if exact else few_sweeps)(gram, cross, start, threads=threads)


@dataclass(frozen=True)
class RowSparse:
    """At most ``n_genes`` rows that are not zero (l20); those of a mask ``required`` have their place for sure.

    ``baseline_gains`` (genes,) is what genes outside the budget gain by being predicted by a baseline, and so what a
    gene has to exceed for its place to pay; None is zero. The budget is spent all the same: on the best of the others.
    """

    n_genes: int
    required: np.ndarray | None = field(default=None, compare=False)
    baseline_gains: np.ndarray | None = field(default=None, compare=False)

    def project(self, W: np.ndarray) -> np.ndarray:
        W = np.maximum(W, 0)  # Proposition 2: clip first, then keep rows
        return W * self._keep((W.astype(np.float64) ** 2).sum(axis=1))[:, None]

    def contains(self, W: np.ndarray) -> bool:
        return bool((W >= 0).all() and self._keep(W.any(axis=1).astype(float))[W.any(axis=1)].all())

    def best(
        self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray, *, threads: int = 1, exact: bool = True
    ) -> np.ndarray:
        """The exact minimiser: genes are independent given H, so keep the budget's worth with the largest gain.

        A gene gains at most what it would without the bound at zero. So those with the most to gain are solved first,
        and of the others only who could gain more than the least of them. A gene that no cell with usages shows has no
        weights to give, and comes last.
        """
        baseline = np.zeros(len(cross)) if self.baseline_gains is None else self.baseline_gains
        most = np.where(cross.any(axis=1), gain_bounds(gram, cross) - baseline, -np.inf)
        first = self._keep(most)
        W, gains = np.zeros_like(cross), np.full(len(cross), -np.inf)

        def solve(rows: np.ndarray) -> None:
            W[rows] = (nnls if exact else few_sweeps)(gram, cross[rows], start[rows], threads=threads)
            gain = row_gains(gram, cross[rows], W[rows]) - baseline[rows]
            gains[rows] = np.where(W[rows].any(axis=1), gain, -np.inf)

        solve(first)
        solve(~first & (most >= gains[first].min(initial=np.inf)))
        return W * self._keep(gains)[:, None]

    def gain_outside(self, W: np.ndarray) -> float:
        return 0.0 if self.baseline_gains is None else float(self.baseline_gains[~W.any(axis=1)].sum())

    def is_spent(self, W: np.ndarray) -> bool:
        return self.gain_outside(W) == 0.0 or bool(np.count_nonzero(W.any(axis=1)) >= self.n_genes)

    def _keep(self, score: np.ndarray) -> np.ndarray:
        return largest(score, self.n_genes, self.required)


@dataclass(frozen=True)
class ColumnSparse(NoBaseline):
    """At most ``n_genes`` entries that are not zero in every column (lc0)."""

    n_genes: int

    def project(self, W: np.ndarray) -> np.ndarray:
        W = np.maximum(W, 0)
        return W * np.column_stack([largest(column, self.n_genes) for column in W.T])

    def contains(self, W: np.ndarray) -> bool:
        return bool((W >= 0).all() and np.count_nonzero(W, axis=0).max(initial=0) <= self.n_genes)

    def best(
        self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray, *, threads: int = 1, exact: bool = True
    ) -> np.ndarray:
        return projected_descent(self, gram, cross, start)


@dataclass(frozen=True)
class EntrySparse(NoBaseline):
    """At most ``n_entries`` entries that are not zero in all (l0)."""

    n_entries: int

    def project(self, W: np.ndarray) -> np.ndarray:
        W = np.maximum(W, 0)
        return W * largest(W.ravel(), self.n_entries).reshape(W.shape)

    def contains(self, W: np.ndarray) -> bool:
        return bool((W >= 0).all() and np.count_nonzero(W) <= self.n_entries)

    def best(
        self, gram: np.ndarray, cross: np.ndarray, start: np.ndarray, *, threads: int = 1, exact: bool = True
    ) -> np.ndarray:
        return projected_descent(self, gram, cross, start)


def largest(score: np.ndarray, count: int, required: np.ndarray | None = None) -> np.ndarray:
    """Mask of the ``count`` largest of a vector, those of a mask ``required`` first; of equals the lower index wins."""
    if required is not None:
        score = np.where(required, np.inf, score)
    if count >= score.size:
        return np.ones(score.size, dtype=bool)
    threshold = np.partition(score, score.size - count)[score.size - count] if count else np.inf
    mask = score > threshold
    ties = np.flatnonzero(score == threshold)
    mask[ties[: count - np.count_nonzero(mask)]] = True
    return mask


def row_gains(gram: np.ndarray, cross: np.ndarray, W: np.ndarray) -> np.ndarray:
    """How much each row of W lowers the squared residual, ``2 <g, w> - w gram w``."""
    W = W.astype(np.float64, copy=False)
    return np.einsum("ij,ij->i", 2.0 * cross - W @ gram, W)


def gain_bounds(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """No less than what any row of W, whatever its signs, lowers the squared residual by: ``g gram^-1 g``."""
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:  # some programs are combinations of others, or empty
        return np.full(len(cross), np.inf)
    return (solve_triangular(factor, cross.T, lower=True) ** 2).sum(axis=0) * (1.0 + BOUND_ROUNDING)


def projected_descent(constraint: Constraint, gram: np.ndarray, cross: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Projected gradient steps until they settle, each column measured in units of its own curvature.

    In those units a column's weight says how much it matters to the fit, whatever the scale shared between W and H, so
    the projection keeps the entries that count. The step 1/L makes every projected step a descent step.
    """
    curvature = np.sqrt(np.diag(gram))
    scale = np.where(curvature > 0, curvature, 1.0)
    gram, cross = gram / np.outer(scale, scale), cross / scale
    step = 1.0 / spectral_norm(gram)
    W = constraint.project(start * curvature)  # (genes, rank); a program that no cell uses has no claim to the budget
    for _ in range(MAX_STEPS):
        previous, W = W, constraint.project(W - step * gradient(W, gram, cross))
        if np.linalg.norm(W - previous) <= STEP_TOLERANCE * np.linalg.norm(previous):
            break
    return W / scale


def spectral_norm(gram: np.ndarray) -> float:
    """Largest eigenvalue in magnitude of a symmetric matrix, 1 where that is 0 (there, any step is as good)."""
    norm = float(np.abs(np.linalg.eigvalsh(gram)).max())
    return norm if norm > 0 else 1.0
