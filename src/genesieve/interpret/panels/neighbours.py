"""Whether cells that are near each other by all genes are near by a panel, too: what maps and clusters rest on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Leading directions that tell how near cells are, as many as maps are usually drawn by.
NEIGHBOUR_DIRECTIONS = 50
# A neighbour is among so many nearest cells; it is compared with one of those that come next.
NEAREST = 15
NEXT = 60
# Triplets at most, and values (triplets x genes) at most that are held of them.
TRIPLETS = 10_000
VALUES = 20_000_000
# Distances that are in memory at a time.
DISTANCES = 4_000_000
# Differences of squared distances are counted as clear from about this share of the mean squared distance on.
CLEAR = 0.05


@dataclass(frozen=True)
class Triplets:
    """Cells, each with one of its nearest cells and one of those that come next; all are numbers (triplets,)."""

    cell: np.ndarray
    near: np.ndarray
    next: np.ndarray


@dataclass(frozen=True)
class Nearness:
    """What every gene says about triplets."""

    margins: np.ndarray  # (triplets, genes): squared distance to the next cell less that to the near one
    spread: np.ndarray  # (genes,): mean squared distance in a triplet
    kinds: np.ndarray  # (triplets,): the type of the cell, -1 where it is not known


def draw_triplets(scores: np.ndarray, rng: np.random.Generator, *, n_triplets: int = TRIPLETS) -> Triplets:
    """Triplets of cells, by their places (cells, directions) along the leading directions."""
    n_cells = len(scores)
    n_next = min(NEXT, n_cells - 1)
    n_near = min(NEAREST, n_next - 1)
    if n_near < 1:
        nothing = np.zeros(0, dtype=np.int64)
        return Triplets(nothing, nothing, nothing)
    cells = rng.permutation(np.resize(rng.permutation(n_cells), n_triplets)) if n_triplets else np.zeros(0, np.int64)
    near, following = np.empty_like(cells), np.empty_like(cells)
    lengths = (scores**2).sum(axis=1)
    at_once = max(1, DISTANCES // n_cells)
    for start in range(0, len(cells), at_once):
        some = cells[start : start + at_once]
        distances = lengths - 2 * scores[some] @ scores.T  # without what is the same for all cells of a row
        distances[np.arange(len(some)), some] = np.inf
        order = _nearest(distances, n_next)
        rows = np.arange(len(some))
        near[start : start + at_once] = order[rows, rng.integers(0, n_near, len(some))]
        following[start : start + at_once] = order[rows, rng.integers(n_near, n_next, len(some))]
    return Triplets(cells, near, following)


def nearness(
    triplets: Triplets, kinds: np.ndarray, values_of: Callable[[np.ndarray], np.ndarray], n_genes: int
) -> Nearness:
    """What genes say about triplets (as many as there is room for), by dense values of cells of given numbers.

    ``kinds`` (cells,) are types of cells, -1 where it is not known.
    """
    room = min(len(triplets.cell), max(1, VALUES // max(n_genes, 1)))
    margins = np.empty((room, n_genes), dtype=np.float32)
    spread = np.zeros(n_genes)
    at_once = max(1, DISTANCES // max(n_genes, 1))
    for start in range(0, room, at_once):
        part = slice(start, min(start + at_once, room))
        own = values_of(triplets.cell[part])
        near = (own - values_of(triplets.near[part])) ** 2
        following = (own - values_of(triplets.next[part])) ** 2
        margins[part] = following - near
        spread += 0.5 * (following.sum(axis=0, dtype=np.float64) + near.sum(axis=0, dtype=np.float64))
    return Nearness(margins, spread / max(room, 1), kinds[triplets.cell[:room]])


class NeighboursKept:
    """The share of triplets that a panel orders as all genes do; a margin that is not clear counts in part.

    A margin counts relative to the mean squared distance by the same genes, as what is nearest does not depend on
    the scale of distances.
    """

    def __init__(self, of: Nearness, *, clear: float = CLEAR) -> None:
        self._of, self._clear = of, clear
        self._margins = np.zeros(len(of.margins), dtype=np.float32)
        self._spread = 0.0

    def share(self) -> float:
        """The share kept; one half of the triplets where nothing is known."""
        return float(self._by_triplet(self._margins, self._spread).mean()) if len(self._margins) else 0.5

    def gains(self) -> np.ndarray:
        """By how much the share would rise with each gene, to first order (genes,); 0 where there is no panel yet."""
        of = self._of
        if not len(of.margins) or not self._spread:
            return np.zeros(len(of.spread))
        right = self._by_triplet(self._margins, self._spread)
        slopes = (right * (1 - right) / len(right)).astype(np.float32)
        towards = (slopes @ of.margins).astype(np.float64) - float(slopes @ self._margins) * of.spread / self._spread
        return np.asarray(towards / (self._clear * (self._spread + of.spread)))

    def add(self, gene: int) -> tuple[float, int]:
        """Take a gene into the panel: by how much the share rises, and for the cells of which type most."""
        before = self._by_triplet(self._margins, self._spread)
        self._margins = self._margins + self._of.margins[:, gene]
        self._spread += float(self._of.spread[gene])
        gained = self._by_triplet(self._margins, self._spread) - before
        known = self._of.kinds >= 0
        if not known.any():
            return float(gained.mean()) if len(gained) else 0.0, -1
        by_kind = np.bincount(self._of.kinds[known], weights=gained[known])
        return float(gained.mean()), int(by_kind.argmax())

    def _by_triplet(self, margins: np.ndarray, spread: float) -> np.ndarray:
        """How right the order of every triplet is, from 0 to 1."""
        if not spread:
            return np.full(len(margins), 0.5)
        return np.asarray(0.5 * (1 + np.tanh(margins.astype(np.float64) / (2 * self._clear * spread))))


def _nearest(distances: np.ndarray, n: int) -> np.ndarray:
    """Numbers of the nearest cells of every row, the nearest first."""
    near = np.argpartition(distances, n - 1, axis=1)[:, :n]
    order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(near, order, axis=1))
