"""Nearest points of very many queries among a few thousand, from matrix products that any thread can work on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genesieve.core.compiled import compiled

# Queries whose distances to all points are in memory at once: some megabytes, which the processor's cache holds.
QUERIES_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Voters:
    """Points with labels, which vote on those of others."""

    points: np.ndarray  # (points, dimensions)
    labels: np.ndarray  # (points,), from 0 on

    @cached_property
    def _lifted(self) -> np.ndarray:
        """What queries, with a one behind them, are multiplied by for half their squared distances.

        (dimensions + 1, points); what is the same for all points is left out.
        """
        return np.vstack([-self.points.T, 0.5 * np.einsum("ij,ij->i", self.points, self.points)])

    def vote(self, queries: np.ndarray, n: int, weight: float, votes: np.ndarray) -> None:
        """Add the weight to ``votes`` (queries, labels) for every one of the ``n`` nearest points of each query."""
        for first in range(0, len(queries), QUERIES_AT_ONCE):
            some = queries[first : first + QUERIES_AT_ONCE].astype(np.float64)
            distances = np.column_stack([some, np.ones(len(some))]) @ self._lifted
            _vote(distances, self.labels, weight, votes[first : first + len(some)], np.empty(n), np.empty(n, np.int64))


@compiled
def _vote(distances, labels, weight, votes, nearest, who):  # type: ignore[no-untyped-def]
    """``nearest`` and ``who`` are space for the nearest points of a query, in ascending order."""
    last = nearest.size - 1
    for i in range(distances.shape[0]):
        row, found, farthest = distances[i], 0, np.inf
        for j in range(row.size):
            distance = row[j]
            if distance < farthest:
                place = min(found, last)
                while place > 0 and distance < nearest[place - 1]:
                    nearest[place], who[place] = nearest[place - 1], who[place - 1]
                    place -= 1
                nearest[place], who[place] = distance, j
                found += 1
                farthest = nearest[last] if found > last else np.inf
        for place in range(min(found, last + 1)):
            votes[i, labels[who[place]]] += weight
