"""How many directions of the cells stand out of the noise.

Random signs take every structure out of the deviations and leave their sizes, whatever cells and genes they are of: the
largest singular value of what is left is where noise ends (Hong, Sheng and Dobriban 2020). Directions above it are
taken out, the noise of the rest is made even again and its end found anew, until nothing more stands out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from genesieve.core.cells.threads import side_by_side
from genesieve.selection.standardise import TINY, bound_genes, equalise

SIGN_DRAWS = 2
# The largest singular value of noise scatters by about 0.63 (n^-1/2 + p^-1/2)^(1/3) (Johnstone 2001); a direction
# counts from so many of these above the mean of the draws.
SPREAD = 0.634
SPREADS_ABOVE = 5.0
ROUNDS = 4
# Directions looked at beyond those that stood out in the round before.
MARGIN = 8
# A search for directions goes so many steps, with a block of so many more than are looked for: what stands out is then
# found to a thousandth. Where noise ends has nothing around it and takes more, narrower steps; they end a twentieth of
# its scatter below it at most.
STEPS = 8
BLOCK_MARGIN = 8
STEPS_TO_END = 40


class Directions(NamedTuple):
    """Leading directions, the largest first."""

    U: np.ndarray  # (cells, width)
    sizes: np.ndarray  # (width,)
    V: np.ndarray  # (genes, width)


class Spectrum(NamedTuple):
    """Sizes of the leading directions; the first is how deep the cells are."""

    sizes: np.ndarray  # (width,)
    end_of_noise: float
    n_above: int  # directions that stand out
    rows: np.ndarray  # (cells,): what values were multiplied with for it
    columns: np.ndarray  # (genes,)


def spectrum(R: np.ndarray, most: int, rng: np.random.Generator, threads: int = 1) -> Spectrum:
    """The directions of standardised values R (cells, genes) that stand out, at most so many.

    R is made even again, and at last no gene is left beyond the others by far.
    """
    most = min(most, min(R.shape) - 1)
    above, width = 1, min(most, 2 * MARGIN)
    all_rows, all_columns = (np.ones(size, dtype=R.dtype) for size in R.shape)
    found = leading(R, width, rng)
    for number in range(ROUNDS):
        noise = _without(R, found, above)
        if number:
            rows, columns = (factors.astype(np.float32) for factors in equalise(noise))
            for values in (R, noise):
                multiply(values, rows, columns)
            all_rows, all_columns = all_rows * rows, all_columns * columns
            found = leading(R, width, rng)
        end = end_of_noise(noise, rng, threads)
        last, above = above, max(above, int((found.sizes > end).sum()))
        if above in (last, most):
            break
        width = min(most, above + MARGIN)
    columns = bound_genes(R).astype(np.float32)
    R *= columns
    return Spectrum(found.sizes, end, above, all_rows, all_columns * columns)


def multiply(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    """Multiply every row and every column in place."""
    values *= columns
    values *= rows[:, None]


def leading(R: np.ndarray, width: int, rng: np.random.Generator) -> Directions:
    """The leading singular vectors and values."""
    if 3 * width >= min(R.shape):  # so few that all are as cheap
        U, sizes, V = np.linalg.svd(R, full_matrices=False)
        return Directions(U[:, :width], sizes[:width], V[:width].T)
    return _search(R, width, width + BLOCK_MARGIN, STEPS, rng)


def end_of_noise(R: np.ndarray, rng: np.random.Generator, threads: int = 1) -> float:
    """Where the singular values of noise of the same sizes as R end."""

    def largest_of(draw: np.random.Generator) -> float:
        signs = draw.integers(0, 2, size=R.shape, dtype=np.int8)
        return float(_search(np.where(signs, R, -R), 1, 1, STEPS_TO_END, draw).sizes[0])

    largest = side_by_side(largest_of, rng.spawn(SIGN_DRAWS), threads)
    spread = SPREAD * sum(size**-0.5 for size in R.shape) ** (1 / 3) * np.sqrt(np.mean(R**2))
    return float(np.mean(largest) + SPREADS_ABOVE * spread)


def _search(R: np.ndarray, width: int, block: int, steps: int, rng: np.random.Generator) -> Directions:
    """Leading directions in the span of a random block and what R makes of it, step by step (Musco and Musco 2015)."""
    image = rng.standard_normal((R.shape[1], block)).astype(R.dtype)
    basis, images = np.zeros((len(R), 0), R.dtype), np.zeros((R.shape[1], 0), R.dtype)
    for _ in range(min(steps, max(min(R.shape) // block, 1))):
        new = R @ image
        for _ in range(2):  # once more for what rounding has left
            new = np.linalg.qr(new - basis @ (basis.T @ new))[0]
        image = R.T @ new
        basis, images = np.hstack([basis, new]), np.hstack([images, image])
    squares, rotation = np.linalg.eigh((images.T @ images).astype(np.float64))
    sizes, rotation = np.sqrt(np.maximum(squares, 0.0))[::-1][:width], rotation[:, ::-1][:, :width].astype(R.dtype)
    V = images @ rotation / np.maximum(sizes, TINY)
    return Directions(basis @ rotation, sizes.astype(R.dtype), V.astype(R.dtype))


def _without(R: np.ndarray, found: Directions, count: int) -> np.ndarray:
    U, sizes, V = (part[..., :count] for part in found)
    return np.asarray(R - (U * sizes) @ V.T)
