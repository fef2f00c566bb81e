"""How well programs describe single cells: the share of a cell's expression that they reproduce."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from genesieve.core.cells.sources import Source
from genesieve.core.objective import gram_of

# So many cells of a fit are looked at for what is usual, and those that only this share of them is below.
USUAL_CELLS = 2000
POOR_SHARE = 0.01
# Programs know the cells of their fit a little better than others of the same kind: poor begins so much further down,
# as a share of the way from the median to that cell in a hundred, and at most at this share of it.
ALLOWANCE, LARGEST_POOR = 0.5, 0.75
# The mean of so many cells with one label shows what noise hides in each of them: how far it correlates with the mean
# that programs predict. Cells of a fit are above 0.95, on a hundred genes too; blood of another laboratory was at 0.5
# to 0.9 on a model of blood, pancreas and leukaemia at 0.0 to 0.5 (docs/python.md).
GROUP_CELLS, FOREIGN = 10, 0.4


def explained_by_cell(
    source: Source, W: np.ndarray, H: np.ndarray, gene_weights: np.ndarray | None = None
) -> np.ndarray:
    """The share (cells,) of every cell's sum of squares that ``H W^T`` reproduces, under the weights of the fit.

    0 where programs say nothing about a cell, below it where they say what is wrong; a cell without expression has 0.
    """
    work = partial(_explained, np.asarray(W, dtype=np.float64), gene_weights)
    return np.concatenate(list(source.each(work, H)))


def _explained(W: np.ndarray, weights: np.ndarray | None, X: Any, H: np.ndarray) -> np.ndarray:
    squared = np.ones(len(W)) if weights is None else np.asarray(weights, dtype=np.float64) ** 2
    H = H.astype(np.float64)
    norms = (X.power(2) if sparse.issparse(X) else X**2) @ squared
    cross = np.einsum("ij,ij->i", X @ (W * squared[:, None]), H)
    fitted = np.einsum("ij,ij->i", H @ gram_of(W * np.sqrt(squared)[:, None]), H)
    return np.asarray(np.divide(2.0 * cross - fitted, norms, out=np.zeros(len(H)), where=norms > 0))


def agreement_by_group(
    source: Source, W: np.ndarray, H: np.ndarray, group: np.ndarray, gene_weights: np.ndarray | None = None
) -> np.ndarray:
    """For every group of cells (cells,), how its mean correlates over genes with what ``H W^T`` predicts for it.

    NaN for a group that is too small to tell.
    """
    members = np.equal.outer(group, np.arange(group.max(initial=-1) + 1)).astype(np.float64)  # (cells, groups)
    weights = np.ones(len(W)) if gene_weights is None else np.asarray(gene_weights, dtype=np.float64)
    (sums,) = source.total(_sums_by_group, members)
    seen, predicted = sums * weights[:, None], (W @ (H.T @ members)) * weights[:, None]  # (genes, groups)
    enough = members.sum(axis=0) >= GROUP_CELLS
    return np.where(enough, _correlations(seen, predicted), np.nan)


def _sums_by_group(X: Any, members: np.ndarray) -> tuple[np.ndarray]:
    return (np.asarray(X.T @ members, dtype=np.float64),)


def _correlations(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Of columns with each other; 0 where one does not vary."""
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    sizes = np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=0)
    return np.asarray(np.divide((A * B).sum(axis=0), sizes, out=np.zeros(A.shape[1]), where=sizes > 0))


def usual_fit(explained: np.ndarray) -> dict[str, float]:
    """What is usual among the cells of a fit: the median, and ``low``, below which hardly one of them would be."""
    median, low = np.quantile(explained, [0.5, POOR_SHARE])
    return {"median": float(median), "low": float(min(low - ALLOWANCE * (median - low), LARGEST_POOR * median))}


def evenly_spread(n_cells: int) -> np.ndarray:
    """Some cells from the first to the last, ascending."""
    return np.unique(np.linspace(0, n_cells - 1, min(n_cells, USUAL_CELLS)).astype(np.int64))
