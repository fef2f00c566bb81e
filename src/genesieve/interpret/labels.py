"""Labels of cells from their usages, and how sure each of them is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from genesieve.interpret.graph import Cells, graph_clusters
from genesieve.interpret.groups import by_size, centers_of, directions, margin

RULES = ("argmax", "kmeans", "leiden")

KMEANS_STARTS = 10


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
    the leading directions of the selected genes, the strongest first and as many as ``n_directions`` of `graph` says.
    """
    if rule == "argmax":
        return Labelling(H.argmax(axis=1), margin(H), None)
    U = directions(H)
    n_clusters = min(n_clusters or H.shape[1], len(H))
    if rule == "kmeans":
        return _kmeans(U, n_clusters, seed)
    found = graph_clusters(Cells(U, scores), n_clusters, resolution=resolution, programs=programs, seed=seed)
    return Labelling(*found, centers_of(U, found.labels))


def nearest(H: np.ndarray, centers: np.ndarray) -> Labelling:
    """Labels of further cells by the clusters of a fit: the centre of most similar direction."""
    U, C = directions(H), directions(centers)
    labels = (U @ C.T).argmax(axis=1)
    return Labelling(labels, _confidence(U, labels, centers), centers)


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
    labels = by_size(model.labels_.astype(np.int64))  # of equally good starts, rounding decides which is kept
    centers = centers_of(U, labels)
    return Labelling(labels, _confidence(U, labels, centers), centers)
