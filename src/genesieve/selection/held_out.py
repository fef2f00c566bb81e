"""What directions of the cells predict that they have not seen: values of genes and cells held out.

Directions come from two thirds of the genes, the first of them is how deep the cells are. A gene of the last third is
regressed on them, every cell predicted from the coefficients of all others. What it gains over the plain prediction,
its mean at the depth of the cell, is no noise of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import f as fisher
from scipy.stats import false_discovery_control

from genesieve.core.cells.threads import side_by_side
from genesieve.selection.spectrum import leading
from genesieve.selection.standardise import TINY

PARTS = 3
# A cell that decides a direction by itself counts as no more than this in its own prediction.
MOST_LEVERAGE = 0.9
# Of the genes that earn a place, the share that may do so by chance. About as many are then let in wrongly as are left
# out wrongly, so that their number is near that of the genes that programs raise.
FALSE_DISCOVERIES = 0.2


class Gains(NamedTuple):
    """What the directions are worth to each gene (genes,)."""

    gain: np.ndarray  # share of the plain prediction's squared error on held-out cells that they save
    standard_error: np.ndarray
    p_value: np.ndarray  # of a gene that they say nothing about


class Errors(NamedTuple):
    """Held-out errors by number of directions (width,)."""

    error: np.ndarray  # squared, over that of the plain prediction
    standard_error: np.ndarray  # of the difference to the lowest


class Part(NamedTuple):
    """Some genes, and directions of the cells from all others."""

    genes: np.ndarray  # mask (genes,)
    basis: np.ndarray  # (cells, width), orthonormal


def parts_of(R: np.ndarray, width: int, rng: np.random.Generator, threads: int = 1) -> list[Part]:
    """The genes of standardised values R (cells, genes) in parts at random, each with at most so many directions."""
    part = rng.permutation(np.arange(R.shape[1]) % PARTS)
    draws = list(enumerate(rng.spawn(PARTS)))
    bases = side_by_side(lambda draw: _basis(R[:, part != draw[0]], width, draw[1]), draws, threads)
    return [Part(part == number, basis) for number, basis in enumerate(bases)]


def errors_of(R: np.ndarray, parts: list[Part], width: int) -> Errors:
    """The errors of one direction, two, and so on."""
    by_cell = np.zeros((R.shape[0], width))
    for genes, basis in parts:
        errors = _errors(R[:, genes], basis)
        by_cell += errors[:, np.minimum(np.arange(width), errors.shape[1] - 1)]  # if there are no more, the last
    total = by_cell.sum(axis=0)
    differences, scale = by_cell - by_cell[:, [int(np.argmin(total))]], max(total[0], TINY)
    return Errors(total / scale, differences.std(axis=0) * np.sqrt(len(R)) / scale)


def gains_of(R: np.ndarray, parts: list[Part], count: int) -> Gains:
    """What so many directions are worth to each gene."""
    gains = Gains(np.zeros(R.shape[1]), np.zeros(R.shape[1]), np.ones(R.shape[1]))
    for genes, basis in parts:
        if 1 < count <= basis.shape[1]:
            plain, full = _last(R[:, genes], basis[:, :1]), _last(R[:, genes], basis[:, :count])
            for values, found in zip(gains, _gains(plain, full, count), strict=True):
                values[genes] = found
    return gains


def adjusted(genes: Gains) -> np.ndarray:
    """The p-values of the genes after Benjamini and Hochberg."""
    return np.asarray(false_discovery_control(genes.p_value))


class _Residuals(NamedTuple):
    """What some directions leave of the values (cells, genes)."""

    in_sample: np.ndarray
    held_out: np.ndarray  # of every cell, from the coefficients of all others


def _basis(R: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """Orthonormal directions (cells, width): what a cell has of the mean of all cells, then the leading ones."""
    U = leading(R, min(width, R.shape[1] - 1), rng).U.copy()
    depth = R @ R.mean(axis=0)
    if depth.any():
        U[:, 0] = depth
    return np.asarray(np.linalg.qr(U)[0])


def _errors(values: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Squared errors of every cell held out (cells, width), with one direction, two, and so on.

    What directions leave of a cell v with coefficients C = U^T V is |v - u C|^2 = |v|^2 - 2 (v C^T) u + u (C C^T) u.
    """
    coefficients = U.T @ values  # (width, genes)
    cross, gram = (values @ coefficients.T).astype(np.float64), (coefficients @ coefficients.T).astype(np.float64)
    U = U.astype(np.float64)
    # the i-th direction adds twice what it shares with those before it, and itself
    shared = U * (2 * (U @ np.triu(gram, 1)) + U * np.diag(gram))
    squares = np.einsum("ij,ij->i", values, values, dtype=np.float64)[:, None]
    left = np.maximum(squares + np.cumsum(shared - 2 * cross * U, axis=1), 0.0)
    leverage = np.minimum(np.cumsum(U**2, axis=1), MOST_LEVERAGE)
    return np.asarray(left / (1.0 - leverage) ** 2)


def _last(values: np.ndarray, U: np.ndarray) -> _Residuals:
    """With all directions together."""
    left, leverage = values - U @ (U.T @ values), np.minimum((U**2).sum(axis=1), MOST_LEVERAGE)
    return _Residuals(left, left / (1.0 - leverage)[:, None])


def _gains(plain: _Residuals, full: _Residuals, count: int) -> Gains:
    """The gains of ``count`` directions over the first."""
    saved = plain.held_out**2 - full.held_out**2
    total = np.maximum((plain.held_out**2).sum(axis=0, dtype=np.float64), TINY)
    left, freedom = (full.in_sample**2).sum(axis=0, dtype=np.float64), max(len(saved) - count, 1)
    more = (plain.in_sample**2).sum(axis=0, dtype=np.float64) - left
    ratio = (more / (count - 1)) / np.maximum(left / freedom, TINY)
    return Gains(
        gain=saved.sum(axis=0, dtype=np.float64) / total,
        standard_error=saved.std(axis=0, dtype=np.float64) * np.sqrt(len(saved)) / total,
        p_value=fisher.sf(np.maximum(ratio, 0.0), count - 1, freedom),
    )
