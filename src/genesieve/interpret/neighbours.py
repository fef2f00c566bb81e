"""Nearest points of very many queries among a few thousand, from matrix products that any thread can work on.

Products in single precision find nearly all of them. Where their rounding leaves open which points are nearest, those
in question are looked at again in double precision, so the answer is the same on any processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genesieve.core.compiled import compiled, compiled_part

# Queries whose distances to all points are in memory at once: some megabytes, which the processor's cache holds.
QUERIES_AT_ONCE = 256
# Points that are passed over together where none of them is near enough: they fill the processor's vectors.
POINTS_AT_ONCE = 32
# Roundings that a product may have beyond one for each dimension: of its factors, of the last sum and of the bound.
MORE_ROUNDINGS = 8


@dataclass(frozen=True, eq=False)
class Voters:
    """Points with labels, which vote on those of others."""

    points: np.ndarray  # (points, dimensions)
    labels: np.ndarray  # (points,), from 0 on

    @cached_property
    def _scale(self) -> float:
        """The largest coordinate: in its units, single precision holds the squares of points of any size."""
        return float(np.abs(self.points).max(initial=0.0)) or 1.0

    @cached_property
    def _scaled(self) -> np.ndarray:
        """The points in units of it."""
        return np.ascontiguousarray(self.points.astype(np.float64) / self._scale)

    @cached_property
    def _halves(self) -> np.ndarray:
        """Half the squares of the points (points,)."""
        return np.asarray(0.5 * np.einsum("ij,ij->i", self._scaled, self._scaled))

    @cached_property
    def _lifted(self) -> np.ndarray:
        """What queries, with a one behind them, are multiplied by for half their squared distances.

        (dimensions + 1, points), single precision; what is the same for all points is left out.
        """
        return np.vstack([-self._scaled.T, self._halves]).astype(np.float32)

    def vote(self, queries: np.ndarray, n: int, weight: float, votes: np.ndarray) -> None:
        """Add the weight to ``votes`` (queries, labels) for every one of the ``n`` nearest points of each query."""
        space = np.empty(n, np.float32), np.empty(len(self.points), np.int64), np.empty(len(self.points))
        for first in range(0, len(queries), QUERIES_AT_ONCE):
            some = queries[first : first + QUERIES_AT_ONCE].astype(np.float64) / self._scale
            with np.errstate(over="ignore", invalid="ignore"):  # beyond single precision, all are looked at again
                rough = np.column_stack([some, np.ones(len(some))]).astype(np.float32) @ self._lifted
            about = self.labels, weight, votes[first : first + len(some)]
            _vote(rough, self._rounding(some), some, self._scaled, self._halves, *about, *space)

    def _rounding(self, queries: np.ndarray) -> np.ndarray:
        """How far a rough distance of every query may be off."""
        longest = np.sqrt(2.0 * self._halves.max(initial=0.0))
        sizes = longest * np.linalg.norm(queries, axis=1) + 0.5 * longest**2
        return np.asarray((queries.shape[1] + MORE_ROUNDINGS) * np.finfo(np.float32).eps * sizes)


@compiled
def _vote(  # type: ignore[no-untyped-def]
    rough, rounding, queries, points, halves, labels, weight, votes, nearest, candidates, distances
):
    """The last three are space: for the nearest rough distances, for points in question and for their distances."""
    n = nearest.size
    for i in range(rough.shape[0]):
        n_candidates = _candidates(rough[i], 2.0 * rounding[i], nearest, candidates)
        if n_candidates > n:  # rounding leaves open which
            for k in range(n_candidates):
                j = candidates[k]
                distances[k] = halves[j]
                for a in range(queries.shape[1]):
                    distances[k] -= queries[i, a] * points[j, a]
            _to_the_front(distances[:n_candidates], candidates, n)
        for k in range(min(n, n_candidates)):
            votes[i, labels[candidates[k]]] += weight


@compiled_part
def _candidates(row, slack, nearest, candidates):  # type: ignore[no-untyped-def]
    """Write the points that may be among the nearest, in their order, and how many they are.

    What is not above the bound stays, so that distances that are no number are looked at again.
    """
    kept, found, last, bound = 0, 0, nearest.size - 1, np.float32(np.inf)
    for first in range(0, row.size, POINTS_AT_ONCE):
        some, near = row[first : first + POINTS_AT_ONCE], np.int32(0)
        for k in range(some.size):
            near += np.int32(not (some[np.uint64(k)] > bound))
        if near == 0:
            continue
        for j in range(first, first + some.size):
            distance = row[j]
            if distance > bound:
                continue
            candidates[kept], kept = j, kept + 1
            if found > last and not (distance < nearest[last]):
                continue
            place = min(found, last)
            while place > 0 and distance < nearest[place - 1]:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place], found = distance, found + 1
            if found > last:
                bound = np.float32(nearest[last] + slack)
    left = 0
    for k in range(kept):
        candidates[left] = candidates[k]
        left += not (row[candidates[k]] > bound)
    return left


@compiled_part
def _to_the_front(distances, candidates, n):  # type: ignore[no-untyped-def]
    """Bring the ``n`` candidates with the least distances to the front; of equal ones those that come first."""
    for place in range(n):
        least = place
        for k in range(place + 1, distances.size):
            if distances[k] < distances[least] or (
                distances[k] == distances[least] and candidates[k] < candidates[least]
            ):
                least = k
        distances[place], distances[least] = distances[least], distances[place]
        candidates[place], candidates[least] = candidates[least], candidates[place]
