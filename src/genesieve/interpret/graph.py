"""Clusters of cells on a graph of neighbours, seen in their usages and along the leading directions of their genes.

Cells are joined by the neighbours that they share in each of these views. Leiden cuts the graph into more clusters than
asked for; those hardest to tell apart are joined, and cells then settle among their neighbours. Other cells follow the
clusters of the nearest cells, in the same views.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from genesieve.interpret.groups import by_size, margin
from genesieve.interpret.joining import View, join, join_alike, root
from genesieve.interpret.neighbours import Voters

# Nearest neighbours of a cell, scanpy's default, and the least share of them that joins two cells, Seurat's.
NEIGHBOURS = 15
LEAST_SHARED = 1 / 15
# A number of clusters is reached from so many times more, joined by how hard they are to tell apart: modularity alone
# would rather cut a large cluster in two than set a small one apart. Labels agree with known types as well from 2 to 4.
SPLIT = 3
# Beside their usages, cells are looked at along so many leading directions of the selected genes, times the number of
# programs: usages show some types but dimly. Together these count as much as the usages.
WIDTHS = (2, 4)
# The graph is of this share of the cells, drawn evenly, but at least and at most of so many; the others follow their
# nearest. A graph of all of 14,000 cells took eight times as long as the fit, and its clusters were no better.
GRAPH_SHARE = 0.2
GRAPH_CELLS = (3000, 10_000)
# Cells that a fit keeps, so that new ones can follow them, at most.
KEPT_CELLS = 3000
# How far equal points are moved, relative to the largest coordinate: less than cells ever differ, more than rounding.
APART = 1e-5
RESOLUTION_STEP = 1.35
RESOLUTION_STEPS = 12
LEIDEN_ITERATIONS = 5
# While the resolution is looked for: the number of clusters is that of many iterations, or next to it.
SEARCH_ITERATIONS = 1
# Rounds in which cells follow their neighbours, once clusters have been joined.
SETTLE_ROUNDS = 5


class Clusters(NamedTuple):
    """A cluster for every cell, those with most cells of the graph first, and how sure it is."""

    labels: np.ndarray  # (cells,)
    confidence: np.ndarray  # (cells,), 0 to 1


@dataclass(frozen=True)
class Cells:
    """What the graph looks at: the directions of usages, and the leading directions of the selected genes."""

    usages: np.ndarray  # (cells, rank), rows at unit length or zero
    scores: np.ndarray | None = None  # (cells, directions), the strongest first

    def __len__(self) -> int:
        return len(self.usages)

    def __getitem__(self, cells: np.ndarray) -> Cells:
        return Cells(self.usages[cells], None if self.scores is None else self.scores[cells])

    @property
    def views(self) -> list[View]:
        """Usages, and narrow and wide scores."""
        if self.scores is None:
            return [View(self.usages, 1.0)]
        rank = self.usages.shape[1]
        return [View(self.usages, 1.0), *(View(self.scores[:, : width * rank], 1 / len(WIDTHS)) for width in WIDTHS)]


@dataclass(frozen=True)
class Reference:
    """Cells with their clusters, which others follow."""

    cells: Cells
    labels: np.ndarray  # (cells,)
    n_clusters: int

    def follow(self, others: Cells) -> Clusters:
        """Clusters of other cells: where most of the nearest cells are, over all views."""
        votes, k = np.zeros((len(others), self.n_clusters)), min(NEIGHBOURS, len(self.cells))
        for voters, mine, theirs in zip(self._voters, self.cells.views, others.views, strict=True):
            voters.vote(theirs.points, k, mine.weight, votes)
        return Clusters(votes.argmax(axis=1), margin(votes))

    @cached_property
    def _voters(self) -> list[Voters]:
        """The cells in every view."""
        points = (_told_apart(view.points.astype(np.float64)) for view in self.cells.views)
        return [Voters(np.ascontiguousarray(each), self.labels) for each in points]


def n_directions(rank: int) -> int:
    """Leading directions that a graph looks along beside the usages of so many programs."""
    return max(WIDTHS) * rank


def graph_clusters(
    cells: Cells,
    n_clusters: int,
    *,
    resolution: float | None = None,
    programs: np.ndarray | None = None,
    seed: int = 0,
) -> Clusters:
    """Clusters on a graph of all cells, or of some of many, which the others follow.

    There are ``n_clusters`` of them, unless a ``resolution`` is given. ``programs`` (rank, genes) say which of them are
    alike; without, all differ alike.
    """
    chosen = choose_cells(len(cells), seed)
    if len(chosen) == len(cells):
        return _cluster(cells, n_clusters, resolution, programs, seed)
    found = _cluster(cells[chosen], n_clusters, resolution, programs, seed)
    reference = keep_some(cells[chosen], found.labels)
    return settled(reference.follow(cells), chosen, found)


def choose_cells(n_cells: int, seed: int) -> np.ndarray:
    """The cells of the graph: all, or some drawn evenly, in their order."""
    least, most = GRAPH_CELLS
    size = min(max(round(GRAPH_SHARE * n_cells), least), most)
    if n_cells <= size:
        return np.arange(n_cells)
    return np.sort(np.random.default_rng(seed).choice(n_cells, size, replace=False))


def together(parts: Iterable[Clusters]) -> Clusters:
    """Clusters of blocks of cells as one."""
    return Clusters(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def settled(followers: Clusters, chosen: np.ndarray, found: Clusters) -> Clusters:
    """Clusters of all cells: what followed, and what was found for the cells of the graph."""
    followers.labels[chosen], followers.confidence[chosen] = found
    return followers


def keep_some(cells: Cells, labels: np.ndarray) -> Reference:
    """A reference of at most some thousand cells: an even share of every cluster, small ones whole."""
    n_clusters = int(labels.max()) + 1
    each = max(NEIGHBOURS, KEPT_CELLS // n_clusters)
    members = [np.flatnonzero(labels == cluster) for cluster in range(n_clusters)]
    spread = [of[np.arange(min(each, len(of))) * len(of) // min(each, len(of))] for of in members if len(of)]
    kept = np.sort(np.concatenate(spread))
    return Reference(cells[kept], labels[kept], n_clusters)


# ------------------------------------------------------------------------------------------------ its parts


def _cluster(
    cells: Cells, n_clusters: int, resolution: float | None, programs: np.ndarray | None, seed: int
) -> Clusters:
    U, graph = cells.usages, _graph(cells.views)
    clusters_at = _communities(graph, seed)
    if resolution is not None:
        labels = clusters_at(resolution, LEIDEN_ITERATIONS)
    else:
        labels = join_alike(U, _split(clusters_at, min(SPLIT * n_clusters, len(U))), SPLIT * n_clusters)
        views = [View(U if programs is None else U @ root(programs), 1.0), *cells.views[1:]]
        labels = _settle(graph, join(views, labels, n_clusters))
    labels = by_size(labels)
    votes = graph @ np.eye(labels.max() + 1)[labels]  # (cells, clusters)
    rest = np.where(np.arange(votes.shape[1]) == labels[:, None], 0.0, votes).max(axis=1)
    own = votes[np.arange(len(votes)), labels]
    ahead = 1.0 - np.divide(rest, own, out=np.full(len(own), float(votes.shape[1] > 1)), where=own > 0)
    return Clusters(labels, np.maximum(ahead, 0.0))


def _graph(views: list[View]) -> sparse.csr_array:
    """Cells (cells, cells) that share nearest neighbours, by how many they share in each view."""
    return sum(view.weight * _shared_neighbours(view.points) for view in views)


def _shared_neighbours(points: np.ndarray) -> sparse.csr_array:
    """The share of nearest neighbours (cells, cells) that is in the lists of both."""
    n_cells = len(points)
    lists = np.column_stack([_nearest(points, min(NEIGHBOURS, n_cells - 1)), np.arange(n_cells)])
    ends, size = np.arange(n_cells + 1) * lists.shape[1], lists.shape[1]  # a cell is its own neighbour
    members = sparse.csr_array((np.ones(lists.size), lists.ravel(), ends), shape=(n_cells, n_cells))
    shared = sparse.coo_array(members @ members.T)
    weights = shared.data / (2 * size - shared.data)
    kept = (shared.row != shared.col) & (weights >= LEAST_SHARED)
    return sparse.csr_array((weights[kept], (shared.row[kept], shared.col[kept])), shape=shared.shape)


def _nearest(points: np.ndarray, n: int, queries: np.ndarray | None = None) -> np.ndarray:
    """The nearest points (queries, n) of every query; of the points themselves, their own left out, without queries."""
    from sklearn.neighbors import NearestNeighbors

    if n == 0:
        return np.zeros((len(points), 0), dtype=np.int64)
    model = NearestNeighbors(n_neighbors=n, algorithm="brute").fit(_told_apart(points.astype(np.float64)))
    return np.asarray(model.kneighbors(queries, return_distance=False))


def _told_apart(points: np.ndarray) -> np.ndarray:
    """Points of which no more are equal than a cell has neighbours: else the same few would be everyone's nearest.

    Cells that use one program alone are equal in usages, and there may be thousands of them.
    """
    rows = np.ascontiguousarray(points).view(np.dtype((np.void, points.itemsize * points.shape[1]))).ravel()
    _, number, counts = np.unique(rows, return_inverse=True, return_counts=True)
    equal = counts[number.ravel()] > NEIGHBOURS
    noise = np.random.default_rng(0).standard_normal((int(equal.sum()), points.shape[1]))
    points[equal] += APART * np.abs(points).max(initial=0.0) * noise
    return points


def _communities(graph: sparse.csr_array, seed: int) -> Callable[[float, int], np.ndarray]:
    """Leiden's clusters of a graph, by resolution and iterations."""
    import igraph

    edges = sparse.coo_array(sparse.triu(graph))
    network = igraph.Graph(graph.shape[0], np.column_stack([edges.row, edges.col]))

    def at(resolution: float, n_iterations: int) -> np.ndarray:
        igraph.set_random_number_generator(random.Random(seed))
        try:
            found = network.community_leiden(
                "modularity", weights=edges.data, resolution=resolution, n_iterations=n_iterations
            )
        finally:
            igraph.set_random_number_generator(random)  # its own choice
        return np.array(found.membership, dtype=np.int64)

    return at


def _split(clusters_at: Callable[[float, int], np.ndarray], n_clusters: int) -> np.ndarray:
    """About so many clusters or more, at the lowest step of the resolution that gives them, or at the last."""
    too_few, enough, step = -1, RESOLUTION_STEPS - 1, 0
    while enough - too_few > 1:
        found = clusters_at(RESOLUTION_STEP**step, SEARCH_ITERATIONS).max() + 1
        too_few, enough = (too_few, step) if found >= n_clusters else (step, enough)
        ahead = math.ceil(math.log(n_clusters / found, RESOLUTION_STEP))  # counts grow about as it does
        step = min(max(step + ahead, too_few + 1), enough - 1)
    return clusters_at(RESOLUTION_STEP**enough, LEIDEN_ITERATIONS)


def _settle(graph: sparse.csr_array, labels: np.ndarray) -> np.ndarray:
    """Let cells go where most of their neighbours are, some times, as long as no cluster is left empty."""
    n_clusters = labels.max() + 1
    for _ in range(SETTLE_ROUNDS):
        votes = graph @ np.eye(n_clusters)[labels]  # (cells, clusters)
        moved = np.where(votes.any(axis=1), votes.argmax(axis=1), labels)
        if len(np.unique(moved)) < n_clusters:
            break
        labels = moved
    return labels
