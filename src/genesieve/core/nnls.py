"""Non-negative least squares for many rows that share one small Gram matrix.

Row by row, minimise ``x gram x / 2 - cross x`` over ``x >= 0``. Coordinate descent finds which coordinates are
positive, then a Cholesky solve on those finishes the row exactly. Every move lowers the row's objective, also where
the Gram matrix is not positive definite (a strong orthogonality penalty): there, a row ends at a coordinate-wise
minimum.

`nnls` solves rows to their end. `few_sweeps` lowers them by some coordinate sweeps, at a small part of the cost where
rows are wide; steps of a fit that are far from its end need no more.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from genesieve.core.compiled import compiled, compiled_part

# A row is settled when no coordinate moved by more than this part of the largest one (both in units of the fit).
TOLERANCE = 1e-8
# Ill-conditioned rows stop here; the Cholesky finish makes this a rarity.
MAX_SWEEPS = 200
# What is lost to rounding in a gradient, relative to its terms.
ROUNDING = 1e-12
# A Cholesky pivot below this part of its diagonal is no pivot: leave the row to coordinate descent.
SINGULAR = 1e-10
# Coordinate sweeps between attempts to finish a row by a Cholesky solve: supports rarely settle sooner.
SWEEPS_PER_ATTEMPT = 2
# Cholesky factors are kept for the next row with the same positive coordinates, as many as fit in this many values.
KEPT_VALUES = 1 << 16
# A set of coordinates is told by the bits of one number; where there are more coordinates, nothing is kept.
MOST_BITS = 62
# Coordinate sweeps over all rows before each is solved for itself, more of them where rows are wide: they cost little
# and find most of the positive coordinates, so that fewer are tried one by one.
NARROW = 24
FIRST_SWEEPS, FIRST_SWEEPS_OF_WIDE_ROWS = 4, 8
FIRST_SWEEPS_FROM_ZERO, FIRST_SWEEPS_OF_WIDE_ROWS_FROM_ZERO = 16, 32
# Coordinate sweeps of a step that need not be exact; of wide rows fewer do, whose sweeps cost the most.
FEW_SWEEPS = 6
FEW_SWEEPS_OF_WIDE_ROWS = 4
WIDE = 32
# Rows that are swept at once: enough to fill vectors, few enough to stay in the fastest cache.
ROWS_TOGETHER = 64
# Fewer rows are solved in the time that starting a thread takes.
ROWS_A_THREAD = 1000


def nnls(
    gram: np.ndarray,
    cross: np.ndarray,
    start: np.ndarray,
    *,
    tol: float = TOLERANCE,
    max_sweeps: int = MAX_SWEEPS,
    threads: int = 1,
    convex: bool = True,
) -> np.ndarray:
    """Solve every row of ``cross`` (rows, rank) against ``gram`` (rank, rank), warm-started at ``start``.

    Where the form is not ``convex``, which minimum a row ends in depends on the way there.
    """
    solution = np.array(start, dtype=cross.dtype, order="C")
    gram, cross = np.ascontiguousarray(gram, dtype=np.float64), np.ascontiguousarray(cross)
    sweeps = _first_sweeps(len(gram), solution, convex)

    def solve(cross: np.ndarray, solution: np.ndarray) -> None:
        if sweeps:
            _sweep_rows(cross, solution, sweeps, *_sweep_space(gram))
        _solve_rows(gram, cross, solution, tol, max_sweeps, *_row_space(len(gram)))

    _in_parts(solve, cross, solution, threads)
    return solution


def _first_sweeps(rank: int, start: np.ndarray, convex: bool) -> int:
    if rank > NARROW:
        return FIRST_SWEEPS_OF_WIDE_ROWS if start.any() else FIRST_SWEEPS_OF_WIDE_ROWS_FROM_ZERO
    if not convex:  # narrow rows go on from their best program by a solve
        return 0
    return FIRST_SWEEPS if start.any() else FIRST_SWEEPS_FROM_ZERO


def few_sweeps(
    gram: np.ndarray, cross: np.ndarray, start: np.ndarray, *, threads: int = 1, from_zero: bool = False
) -> np.ndarray:
    """Lower every row of ``cross`` (rows, rank) from ``start`` by a few sweeps over its coordinates.

    From zero it takes more of them, or where rows are narrow a solve, which is as quick.
    """
    if from_zero and len(gram) <= NARROW:
        return nnls(gram, cross, start, threads=threads)
    solution = np.array(start, dtype=np.float64, order="C")
    gram, cross = np.ascontiguousarray(gram, dtype=np.float64), np.ascontiguousarray(cross)
    sweeps = FEW_SWEEPS if len(gram) <= WIDE else FEW_SWEEPS_OF_WIDE_ROWS
    sweeps = FIRST_SWEEPS_OF_WIDE_ROWS_FROM_ZERO if from_zero else sweeps

    def lower(cross: np.ndarray, solution: np.ndarray) -> None:
        _sweep_rows(cross, solution, sweeps, *_sweep_space(gram))

    _in_parts(lower, cross, solution, threads)
    return solution.astype(cross.dtype, copy=False)


def _in_parts(work: Callable[..., None], cross: np.ndarray, solution: np.ndarray, threads: int) -> None:
    """Work on the rows of both, in as many parts as there are threads."""
    threads = min(threads, max(len(cross) // ROWS_A_THREAD, 1))
    if threads == 1:
        work(cross, solution)
        return
    edges = np.linspace(0, len(cross), threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda span: work(cross[span[0] : span[1]], solution[span[0] : span[1]]), pairwise(edges)))


# Compiled functions are handed the space that they work in: to make arrays of their own they would take half a second
# longer to compile.


def _row_space(rank: int) -> tuple[np.ndarray, ...]:
    """For `_solve_rows`: a row, its gradient, a trial, its positive coordinates, and Cholesky factors that are kept."""
    kept = 1 if rank > MOST_BITS else max(KEPT_VALUES // (rank * rank), 1)
    supports = np.zeros(kept, np.int64)  # whose factors are kept, by their bits
    vectors = (np.empty(rank) for _ in range(3))
    return *vectors, np.empty(rank, np.int64), supports, np.empty((kept, rank, rank))


def _sweep_space(gram: np.ndarray) -> tuple[np.ndarray, ...]:
    """For `_sweep_rows`: the Gram matrix, its columns a multiple of four, rows by coordinate, and their gradients."""
    rank = len(gram)
    width = (rank + 3) // 4 * 4
    padded = np.zeros((rank, width))
    padded[:, :rank] = gram
    return padded, np.zeros((width, ROWS_TOGETHER)), np.zeros(ROWS_TOGETHER), np.zeros((rank, ROWS_TOGETHER))


@compiled
def _solve_rows(  # type: ignore[no-untyped-def]
    gram, cross, solution, tol, max_sweeps, x, gradient, trial, support, supports, factors
):
    rows, rank = cross.shape
    for i in range(rows):
        for a in range(rank):
            x[a] = solution[i, a]
        for sweep in range(max_sweeps + 1):
            # Before the first sweep, too: most rows of a warm start keep their positive coordinates.
            if sweep % SWEEPS_PER_ATTEMPT == 0 and _finish(
                gram, cross[i], x, gradient, support, supports, factors, trial
            ):
                break
            if sweep == max_sweeps or _sweep(gram, x, gradient, tol):
                break
        for a in range(rank):
            solution[i, a] = x[a]


@compiled
def _sweep_rows(cross, solution, sweeps, padded, x, gradient, linear):  # type: ignore[no-untyped-def]
    """Sweep over the coordinates of all rows, as many together as ``x`` has columns: one coordinate fills vectors.

    Gradients are taken anew, four coordinates at a time, instead of being kept up to date: that would write as much as
    it reads. Rows do not depend on those beside them.
    """
    rows, rank = cross.shape
    together = gradient.size
    for first in range(0, rows, together):
        count = min(together, rows - first)
        for i in range(count):
            for a in range(rank):
                x[a, i], linear[a, i] = solution[first + i, a], cross[first + i, a]
        for _ in range(sweeps):
            for a in range(rank):
                _sweep_coordinate(padded[a], linear[a], x, gradient, a)
        for i in range(count):
            for a in range(rank):
                solution[first + i, a] = x[a, i]


@compiled_part
def _sweep_coordinate(row, linear, x, gradient, a):  # type: ignore[no-untyped-def]
    """Minimise over one coordinate of some rows, ``x`` (coordinates, rows); ``row`` is of the Gram matrix."""
    for i in range(gradient.size):
        gradient[i] = -linear[i]
    for b in range(0, row.size, 4):
        g0, g1, g2, g3 = row[b], row[b + 1], row[b + 2], row[b + 3]
        x0, x1, x2, x3 = x[b], x[b + 1], x[b + 2], x[b + 3]
        for i in range(gradient.size):
            gradient[i] = gradient[i] + g0 * x0[i] + g1 * x1[i] + g2 * x2[i] + g3 * x3[i]
    values, curvature = x[a], row[a]
    if curvature > 0.0:
        for i in range(gradient.size):
            values[i] = max(0.0, values[i] - gradient[i] / curvature)
    else:
        for i in range(values.size):
            values[i] = 0.0


@compiled_part
def _gradient(gram, cross, x, gradient):  # type: ignore[no-untyped-def]
    """Write ``x gram - cross`` to ``gradient``."""
    for a in range(x.size):
        gradient[a] = -cross[a]
    for b in range(x.size):
        if x[b] != 0.0:
            for a in range(x.size):
                gradient[a] += x[b] * gram[b, a]


@compiled_part
def _sweep(gram, x, gradient, tol):  # type: ignore[no-untyped-def]
    """Minimise over each coordinate in turn; True if none moved by more than ``tol``."""
    largest_move, largest = 0.0, 0.0
    for a in range(x.size):
        curvature = gram[a, a]
        value = max(0.0, x[a] - gradient[a] / curvature) if curvature > 0.0 else 0.0
        move = value - x[a]
        if move != 0.0:
            x[a] = value
            for b in range(x.size):
                gradient[b] += move * gram[a, b]
            largest_move = max(largest_move, move * move * curvature)
        largest = max(largest, value * value * curvature)
    return largest_move <= tol * tol * largest


@compiled_part
def _finish(gram, cross, x, gradient, support, supports, factors, trial):  # type: ignore[no-untyped-def]
    """Go to the minimum over the positive coordinates, dropping those that reach zero; True if it is the row's.

    Every move is towards the minimum of a convex face, so the row's objective never rises.
    """
    feasible = False
    while not feasible:
        size, bits = _positive(x, support)
        place = bits * 0x9E3779B1 % supports.size
        factor = factors[place]
        if x.size > MOST_BITS or supports[place] != bits:
            supports[place] = 0
            if not _cholesky(gram, support, size, factor):
                break
            supports[place] = bits
        _substitute(factor, cross, support, size, trial)
        feasible = _move_towards(trial, support, size, x)
    if feasible and _stays(gram, cross, x, support, size):
        return True
    _gradient(gram, cross, x, gradient)
    return False


@compiled_part
def _stays(gram, cross, x, support, size):  # type: ignore[no-untyped-def]
    """Whether no coordinate off the support wants to enter: its gradient is negative by no more than rounding."""
    if size == x.size:
        return True
    for a in range(x.size):
        if x[a] == 0.0:
            slope = -np.float64(cross[a])
            for i in range(size):
                slope += x[support[i]] * gram[a, support[i]]
            if slope < -ROUNDING * abs(cross[a]):
                return False
    return True


@compiled_part
def _positive(x, support):  # type: ignore[no-untyped-def]
    """Write the positive coordinates of ``x`` to ``support``; how many there are, and the first 62 as bits."""
    size, bits = 0, 0
    for a in range(x.size):
        if x[a] > 0.0:
            support[size] = a
            size += 1
            bits |= 1 << min(a, MOST_BITS)
    return size, bits


@compiled_part
def _move_towards(trial, support, size, x):  # type: ignore[no-untyped-def]
    """Move ``x`` to ``trial`` on its support, or to where the first coordinate reaches zero; True if all the way."""
    length, first = 1.0, -1
    for i in range(size):
        if trial[i] <= 0.0:
            reach = x[support[i]] / (x[support[i]] - trial[i])
            if reach <= length:
                length, first = reach, i
    for i in range(size):
        a = support[i]
        x[a] = trial[i] if first < 0 else max(0.0, x[a] + length * (trial[i] - x[a]))
    if first >= 0:
        x[support[first]] = 0.0
    return first < 0


@compiled_part
def _cholesky(gram, support, size, factor):  # type: ignore[no-untyped-def]
    """Cholesky factor of the Gram matrix on the support, in both triangles, its diagonal as reciprocals.

    False if the matrix is not safely positive definite.
    """
    for i in range(size):
        for j in range(i + 1):
            value = gram[support[i], support[j]]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i == j:
                if value <= SINGULAR * gram[support[i], support[i]]:
                    return False
                factor[i, i] = 1.0 / np.sqrt(value)
            else:
                factor[i, j] = factor[j, i] = value * factor[j, j]
    return True


@compiled_part
def _substitute(factor, cross, support, size, solution):  # type: ignore[no-untyped-def]
    """Forward, then backward substitution with the Cholesky factor, along its rows."""
    for i in range(size):
        solution[i] = cross[support[i]]
    for i in range(size):
        solution[i] *= factor[i, i]
        for k in range(i + 1, size):
            solution[k] -= factor[i, k] * solution[i]
    for i in range(size - 1, -1, -1):
        solution[i] *= factor[i, i]
        for k in range(i):
            solution[k] -= factor[i, k] * solution[i]
