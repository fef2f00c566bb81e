"""Joining clusters that are hard to tell apart, as cells show them from one or several sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from genesieve.interpret.groups import centers_of, directions

# The least variance of a cluster in any direction, as a share of the variance of all cells: what programs leave of
# cells scatters too, and clusters of a few cells show too little. Labels agree as well from 0.02 to 0.2.
LEAST_SCATTER = 0.02


class View(NamedTuple):
    """Cells as points, and how much their neighbours count."""

    points: np.ndarray  # (cells, dimensions)
    weight: float


def root(programs: np.ndarray) -> np.ndarray:
    """Coordinates (rank, rank) of the programs that keep their lengths and angles."""
    W = programs.astype(np.float64)
    squares, axes = np.linalg.eigh(W @ W.T)
    return np.asarray(axes * np.sqrt(np.maximum(squares, 0.0)))


def join(views: list[View], labels: np.ndarray, n_clusters: int) -> np.ndarray:
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
        means = centers_of(P, labels)
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


def join_alike(U: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Join clusters by the mean cosine between them until ``n_clusters`` are left: rough, but quick for many."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    if labels.max() + 1 <= n_clusters:
        return labels
    C = directions(centers_of(U, labels))
    distances = np.maximum(1.0 - C @ C.T, 0.0)
    tree = linkage(squareform(distances, checks=False), "average")
    return np.asarray(cut_tree(tree, n_clusters)[labels, 0])
