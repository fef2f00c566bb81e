"""Labels of cells from their usages, and how sure each of them is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

RULES = ("argmax", "kmeans", "leiden")

# Nearest neighbours of a cell, scanpy's default, and the least share of them that joins two cells, Seurat's.
NEIGHBOURS = 15
LEAST_SHARED = 1 / 15
# A number of clusters is reached from so many times more, joined by how hard they are to tell apart: modularity alone
# would rather cut a large cluster in two than set a small one apart. Labels agree with known types as well from 2 to 4.
SPLIT = 3
# Beside their usages, cells are looked at along so many leading directions of the selected genes, times the number of
# programs: usages show some types but dimly. Together these count as much as the usages.
WIDTHS = (2, 4)
# Up to so many cells: finding neighbours along many directions takes time with the square of their number.
WIDE_CELLS = 50_000
# The least variance of a cluster in any direction, as a share of the variance of all cells: what programs leave of
# cells scatters too, and clusters of a few cells show too little. Labels agree as well from 0.02 to 0.2.
LEAST_SCATTER = 0.02
RESOLUTION_STEP = 1.35
RESOLUTION_STEPS = 12
LEIDEN_ITERATIONS = 5
# Rounds in which cells follow their neighbours, once clusters have been joined.
SETTLE_ROUNDS = 5
KMEANS_STARTS = 10
# Usages this far from 1, as some are without a gauge, have squares that leave single precision.
FAR = 1e15


class _View(NamedTuple):
    """Cells as points, and how much their distances count."""

    points: np.ndarray  # (cells, dimensions)
    weight: float


class Labelling(NamedTuple):
    """Labels with what they rest on."""

    labels: np.ndarray  # (cells,)
    confidence: np.ndarray  # (cells,), 0 to 1
    centers: np.ndarray | None  # (clusters, rank), mean usages at unit length; None where labels are programs


def label_cells(
    H: np.ndarray,
    rule: str,
    *,
    n_clusters: int | None = None,
    resolution: float | None = None,
    programs: np.ndarray | None = None,
    scores: np.ndarray | None = None,
    seed: int = 0,
) -> Labelling:
    """Label cells by usages H (cells, rank): the largest, or clusters of them by k-means or on a graph.

    Clusters look at the direction of a cell's usages, not at their size. There are ``n_clusters`` of them, by default
    as many as programs; on a graph a ``resolution`` may be given instead. ``programs`` (rank, genes) say which of them
    are alike; without, all differ alike. On a graph, ``scores`` (cells, directions) are a further look at cells, along
    the leading directions of the selected genes, the strongest first and as many as ``n_scores`` says.
    """
    if rule == "argmax":
        return Labelling(H.argmax(axis=1), margin(H), None)
    U = directions(H)
    n_clusters = min(n_clusters or H.shape[1], len(H))
    if rule == "kmeans":
        return _kmeans(U, n_clusters, seed)
    wider = [] if scores is None else [_View(scores[:, : width * H.shape[1]], 1 / len(WIDTHS)) for width in WIDTHS]
    return _leiden(U, n_clusters, resolution, programs, wider, seed)


def n_scores(rule: str, n_cells: int, rank: int) -> int:
    """Directions that a rule looks along beside the usages of so many cells; 0 if it does not."""
    return max(WIDTHS) * rank if rule == "leiden" and n_cells <= WIDE_CELLS else 0


def nearest(H: np.ndarray, centers: np.ndarray) -> Labelling:
    """Labels of further cells by the clusters of a fit: the centre of most similar direction."""
    U, C = directions(H), directions(centers)
    labels = (U @ C.T).argmax(axis=1)
    return Labelling(labels, _confidence(U, labels, centers), centers)


def margin(H: np.ndarray) -> np.ndarray:
    """By how much of itself a cell's largest usage exceeds the second."""
    if H.shape[1] == 1:
        return np.ones(len(H))
    second, first = np.partition(H.astype(np.float64), -2, axis=1)[:, -2:].T
    return np.asarray(1.0 - np.divide(second, first, out=np.ones_like(first), where=first > 0))


def directions(H: np.ndarray) -> np.ndarray:
    """Rows at unit length; empty ones stay so."""
    largest = float(H.max(initial=0.0))
    if largest > 0 and not 1 / FAR < largest < FAR:
        H = H / largest
    lengths = np.linalg.norm(H, axis=1, keepdims=True)
    return np.asarray(np.divide(H, lengths, out=np.zeros_like(H), where=lengths > 0))


def _confidence(U: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """By how much of itself a cell's cosine distance to the nearest other centre exceeds that to its own, or 0."""
    if len(centers) == 1:
        return np.ones(len(U))
    distances = np.maximum(1.0 - U.astype(np.float64) @ directions(centers).T, 0.0)  # (cells, clusters)
    rows = np.arange(len(U))
    own = distances[rows, labels]
    distances[rows, labels] = np.inf
    other = distances.min(axis=1)
    return np.asarray(np.maximum(1.0 - np.divide(own, other, out=np.ones(len(U)), where=other > 0), 0.0))


def _kmeans(U: np.ndarray, n_clusters: int, seed: int) -> Labelling:
    from sklearn.cluster import KMeans

    model = KMeans(n_clusters, n_init=KMEANS_STARTS, random_state=seed).fit(U)
    labels = _by_size(model.labels_.astype(np.int64))  # of equally good starts, rounding decides which is kept
    centers = _centers(U, labels)
    return Labelling(labels, _confidence(U, labels, centers), centers)


def _leiden(
    U: np.ndarray,
    n_clusters: int,
    resolution: float | None,
    programs: np.ndarray | None,
    wider: list[_View],
    seed: int,
) -> Labelling:
    graph = _graph([_View(U, 1.0), *wider])
    clusters_at = _communities(graph, seed)
    if resolution is not None:
        labels = clusters_at(resolution)
    else:
        labels = _join_alike(U, _split(clusters_at, min(SPLIT * n_clusters, len(U))), SPLIT * n_clusters)
        labels = _join([_View(U if programs is None else U @ _root(programs), 1.0), *wider], labels, n_clusters)
        labels = _settle(graph, labels)
    labels = _by_size(labels)
    centers = _centers(U, labels)
    return Labelling(labels, _confidence(U, labels, centers), centers)


def _graph(views: list[_View]) -> sparse.csr_array:
    """Cells (cells, cells) that share nearest neighbours, by how many they share in each view."""
    return sum(view.weight * _shared_neighbours(view.points) for view in views)


def _shared_neighbours(points: np.ndarray) -> sparse.csr_array:
    """The share of nearest neighbours (cells, cells) that is in the lists of both."""
    from sklearn.neighbors import kneighbors_graph

    n_neighbours = min(NEIGHBOURS, len(points) - 1)
    lists = sparse.csr_array(kneighbors_graph(points, n_neighbours) if n_neighbours else (len(points), len(points)))
    lists = lists + sparse.eye_array(len(points), format="csr")  # a cell is its own neighbour
    shared = sparse.coo_array(lists @ lists.T)
    weights = shared.data / (2 * (n_neighbours + 1) - shared.data)
    kept = (shared.row != shared.col) & (weights >= LEAST_SHARED)
    return sparse.csr_array((weights[kept], (shared.row[kept], shared.col[kept])), shape=shared.shape)


def _communities(graph: sparse.csr_array, seed: int) -> Callable[[float], np.ndarray]:
    """Leiden's clusters of a graph, by resolution."""
    import igraph

    edges = sparse.coo_array(sparse.triu(graph))
    network = igraph.Graph(graph.shape[0], np.column_stack([edges.row, edges.col]))

    def at(resolution: float) -> np.ndarray:
        igraph.set_random_number_generator(random.Random(seed))
        try:
            found = network.community_leiden(
                "modularity", weights=edges.data, resolution=resolution, n_iterations=LEIDEN_ITERATIONS
            )
        finally:
            igraph.set_random_number_generator(random)  # its own choice
        return np.array(found.membership, dtype=np.int64)

    return at


def _split(clusters_at: Callable[[float], np.ndarray], n_clusters: int) -> np.ndarray:
    """At least so many clusters if a high resolution gives them."""
    labels = clusters_at(1.0)
    for step in range(1, RESOLUTION_STEPS):
        if labels.max() + 1 >= n_clusters:
            break
        labels = clusters_at(RESOLUTION_STEP**step)
    return labels


def _root(programs: np.ndarray) -> np.ndarray:
    """Coordinates (rank, rank) of the programs that keep their lengths and angles."""
    W = programs.astype(np.float64)
    squares, axes = np.linalg.eigh(W @ W.T)
    return np.asarray(axes * np.sqrt(np.maximum(squares, 0.0)))


def _join(views: list[_View], labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Join the two clusters that are hardest to tell apart, again and again, to ``n_clusters``.

    Over all views counts the product of how far apart they are in each, so that units do not matter.
    """
    seen = [_Clusters.of(view.points.astype(np.float64), labels) for view in views]

    def separations(cluster: int) -> np.ndarray:
        each = [clusters.separations(cluster) ** view.weight for clusters, view in zip(seen, views, strict=True)]
        return np.asarray(np.prod(each, axis=0))

    apart = np.array([separations(cluster) for cluster in range(labels.max() + 1)])
    for _ in range(len(apart) - n_clusters):
        kept, gone = np.unravel_index(apart.argmin(), apart.shape)
        for clusters in seen:
            clusters.join(int(kept), int(gone))
        apart[gone] = apart[:, gone] = np.inf
        apart[kept] = apart[:, kept] = np.where(np.isinf(apart[kept]), np.inf, separations(int(kept)))
        labels = np.where(labels == gone, kept, labels)
    return np.unique(labels, return_inverse=True)[1]


@dataclass(frozen=True)
class _Clusters:
    """What telling clusters apart takes; joined ones have theirs without a look at the cells."""

    sizes: np.ndarray  # (clusters,)
    means: np.ndarray  # (clusters, rank)
    scatters: np.ndarray  # (clusters, rank, rank), covariances, the least scatter included

    @classmethod
    def of(cls, P: np.ndarray, labels: np.ndarray) -> _Clusters:
        means = _centers(P, labels)
        least = max(LEAST_SCATTER * P.var(axis=0).sum(), np.finfo(np.float32).tiny) * np.eye(P.shape[1])
        apart = [P[labels == cluster] - mean for cluster, mean in enumerate(means)]
        return cls(np.bincount(labels), means, np.array([rest.T @ rest / len(rest) + least for rest in apart]))

    def separations(self, cluster: int) -> np.ndarray:
        """Squared distance from a cluster to the others in units of their mean scatter; to itself infinite."""
        gaps = self.means - self.means[cluster]
        scaled = np.linalg.solve((self.scatters + self.scatters[cluster]) / 2, gaps[:, :, None])[:, :, 0]
        distances = (gaps * scaled).sum(axis=1)
        distances[cluster] = np.inf
        return np.asarray(distances)

    def join(self, kept: int, gone: int) -> None:
        """Let a cluster take in another."""
        size, gap = self.sizes[kept] + self.sizes[gone], self.means[gone] - self.means[kept]
        share = self.sizes[gone] / size
        scatter = (1 - share) * self.scatters[kept] + share * self.scatters[gone]
        self.scatters[kept] = scatter + share * (1 - share) * np.outer(gap, gap)
        self.means[kept] += share * gap
        self.sizes[kept] = size


def _join_alike(U: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Join clusters by the mean cosine between them until ``n_clusters`` are left: rough, but quick for many."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    if labels.max() + 1 <= n_clusters:
        return labels
    C = directions(_centers(U, labels))
    distances = np.maximum(1.0 - C @ C.T, 0.0)
    tree = linkage(squareform(distances, checks=False), "average")
    return np.asarray(cut_tree(tree, n_clusters)[labels, 0])


def _centers(U: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array([U[labels == cluster].mean(axis=0) for cluster in range(labels.max() + 1)])


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


def _by_size(labels: np.ndarray) -> np.ndarray:
    """The same clusters, the largest first."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.asarray(np.argsort(order, kind="stable")[labels])
