"""A map of the cells: places on a plane where neighbours stay neighbours, for the eye.

The idea is UMAP's: cells attract their nearest neighbours and push others away. Attraction falls with distance as in
t-SNE, which needs no powers; a pull to the centre keeps groups together. The compiled step is kept between runs, so
that a map of some thousand cells costs about a second from the first call on.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from genesieve.core.compiled import compiled

NEIGHBOURS = 15  # scanpy's default
DIRECTIONS = 20  # leading ones of the expression: more add noise
# Rounds over all pairs of neighbours; many cells need fewer, as each has the same number of neighbours to find.
ROUNDS, FEWER_ROUNDS, MANY_CELLS = 200, 100, 8000
PUSHES = 5  # cells that a cell is pushed away from each time that it is drawn to one
LONGEST_STEP = 4.0
# All cells come nearer to the centre by this share in the first round, by less and less later: without it groups that
# share no neighbours drift apart until most of the canvas is empty (Pollen: 5 % of it used, 14 % so; PBMC 3k 16 and
# 45 %), and how many neighbours stay neighbours hardly changes.
GATHER = 0.1
SPREAD = 4.0  # standard deviation of the first coordinate to begin with
BISECTIONS = 24


def leading_directions(X: np.ndarray | sparse.sparray, n: int = DIRECTIONS) -> np.ndarray:
    """Cells (cells, n) along the leading directions of their expression X (cells, genes), centred."""
    from sklearn.utils.extmath import randomized_svd

    n = min(n + 1, *X.shape)
    U, sizes, _ = randomized_svd(X, n, n_iter=3, random_state=0)
    scores = U * sizes
    centred, lengths, _ = np.linalg.svd(scores - scores.mean(axis=0), full_matrices=False)
    return np.asarray((centred * lengths)[:, : max(n - 1, 1)])


def place(points: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """Places (cells, 2) of points (cells, dimensions), the first dimensions the leading ones; the same every time."""
    rng = np.random.default_rng(seed)
    edges = _neighbourhoods(np.asarray(points, dtype=np.float32))
    start = np.zeros((len(points), 2))
    width = min(2, points.shape[1])
    start[:, :width] = points[:, :width] / (np.std(points[:, 0]) or 1.0) * SPREAD
    start += rng.normal(scale=1e-3, size=start.shape)  # no two cells in one place
    order = rng.permutation(len(edges.data))
    rounds = ROUNDS if len(points) <= MANY_CELLS else FEWER_ROUNDS
    pairs = np.column_stack([edges.row, edges.col]).astype(np.int64)[order]
    _settle(start, pairs, edges.data[order] / edges.data.max(), rounds, np.uint64(2 * seed + 88_172_645_463_325_253))
    return start.astype(np.float32)  # as maps are kept


def _neighbourhoods(points: np.ndarray) -> sparse.coo_array:
    """How much pairs of cells (cells, cells) belong together, 0 to 1: more for near neighbours, seen from either."""
    from sklearn.neighbors import NearestNeighbors

    n, k = len(points), min(NEIGHBOURS, len(points) - 1)
    distances, indices = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points).kneighbors()
    strength = _strengths(distances.astype(np.float64))
    one_way = sparse.csr_array((strength.ravel(), (np.repeat(np.arange(n), k), indices.ravel())), shape=(n, n))
    both = one_way + one_way.T - one_way.multiply(one_way.T)
    return sparse.coo_array(both)


def _strengths(distances: np.ndarray) -> np.ndarray:
    """Fall from 1 at the nearest neighbour, at a pace that gives every cell the same sum (log2 of their number)."""
    gaps = distances - distances[:, :1]
    low, high = np.zeros((len(gaps), 1)), np.full((len(gaps), 1), np.inf)
    least = np.finfo(np.float32).tiny
    pace = np.maximum(gaps.mean(axis=1, keepdims=True), least)
    for _ in range(BISECTIONS):
        too_slow = np.exp(-gaps / pace).sum(axis=1, keepdims=True) > np.log2(gaps.shape[1] + 1)
        high, low = np.where(too_slow, pace, high), np.where(too_slow, low, pace)
        pace = np.maximum(np.where(np.isinf(high), 2 * pace, (low + high) / 2), least)
    return np.asarray(np.exp(-gaps / pace))


@compiled
def _draw(state):  # type: ignore[no-untyped-def]
    """The next state of a random sequence (xorshift)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@compiled
def _clipped(value, step):  # type: ignore[no-untyped-def]
    return min(LONGEST_STEP, max(-LONGEST_STEP, value)) * step


@compiled
def _settle(places, pairs, strengths, rounds, state):  # type: ignore[no-untyped-def]
    """Move cells towards their neighbours, as often as they belong together, and away from others, in shorter steps.

    After every round they gather around the centre.
    """
    n = np.uint64(len(places))
    for number in range(rounds):
        step = 1.0 - number / rounds
        for pair in range(len(pairs)):
            state = _draw(state)
            if (state >> np.uint64(11)) * 2.0**-53 >= strengths[pair]:
                continue
            i, j = pairs[pair]
            x, y = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
            pull = -2.0 / (1.0 + x * x + y * y)
            x, y = _clipped(pull * x, step), _clipped(pull * y, step)
            places[i, 0] += x
            places[i, 1] += y
            places[j, 0] -= x
            places[j, 1] -= y
            for _ in range(PUSHES):
                state = _draw(state)
                k = (state >> np.uint64(11)) % n
                x, y = places[i, 0] - places[k, 0], places[i, 1] - places[k, 1]
                squared = x * x + y * y
                push = 2.0 / ((0.001 + squared) * (1.0 + squared))  # none from itself
                places[i, 0] += _clipped(push * x, step)
                places[i, 1] += _clipped(push * y, step)
        for i in range(len(places)):
            places[i, 0] *= 1.0 - GATHER * step
            places[i, 1] *= 1.0 - GATHER * step
