"""Cells as their neighbours see them: principal components, a graph of neighbours, and its clusterings."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

COMPONENTS, GRAPH_NEIGHBOURS = 50, 15
NEIGHBOURS = (5, 10, 15, 20, 25, 30)  # each with the cell itself, as the evaluator counts
COARSE, FINE = (5, 20), (21, 60)  # clusters
RESOLUTIONS = np.geomspace(0.15, 60.0, 70)


@dataclass(frozen=True)
class Space:
    """Cells as their neighbours see them."""

    near: np.ndarray  # (cells, 31), nearest first: the cell itself
    clusterings: dict[int, np.ndarray]  # by their number of clusters

    @classmethod
    def of(cls, X: np.ndarray) -> Space:
        near, distances = _nearest(_components(X), max(NEIGHBOURS) + 1)
        graph = _graph(near[:, 1:GRAPH_NEIGHBOURS], distances[:, 1:GRAPH_NEIGHBOURS])
        return cls(near, _clusterings(graph))

    def clusters(self, n: int) -> np.ndarray:
        """The clustering whose number of clusters is nearest to n."""
        return self.clusterings[min(self.clusterings, key=lambda found: (abs(found - n), found))]


def _components(X: np.ndarray) -> np.ndarray:
    centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    n = min(COMPONENTS, min(centred.shape) - 1)
    wide = centred.shape[1] > centred.shape[0]
    values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    leading = vectors[:, ::-1][:, :n]
    return np.asarray(leading * np.sqrt(np.maximum(values[::-1][:n], 0.0)) if wide else centred @ leading)


def _nearest(points: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest cells of every cell and their distances, the cell itself first."""
    squares = (points**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0)
    np.fill_diagonal(distances, -1.0)
    near = np.argsort(distances, axis=1, kind="stable")[:, :n]
    return near, np.sqrt(np.maximum(np.take_along_axis(distances, near, axis=1), 0.0))


def _graph(near: np.ndarray, distances: np.ndarray) -> Any:
    """The fuzzy graph of UMAP: weights fall from 1 at the nearest cell, and add up to the same for every cell."""
    import igraph

    n_cells, n_near = near.shape
    beyond = distances - distances.min(axis=1, keepdims=True)
    weights = np.exp(-beyond / _widths(beyond, np.log2(n_near + 1))[:, None])
    ends = np.arange(0, n_cells * n_near + 1, n_near)
    directed = sparse.csr_array((weights.ravel(), near.ravel(), ends), shape=(n_cells, n_cells))
    back = directed.T.tocsr()
    edges = sparse.triu(directed + back - directed.multiply(back), 1).tocoo()
    pairs = list(zip(edges.row.tolist(), edges.col.tolist(), strict=True))
    return igraph.Graph(n=n_cells, edges=pairs, edge_attrs={"weight": edges.data.tolist()})


def _widths(beyond: np.ndarray, total: float) -> np.ndarray:
    """For every cell the width at which its weights add up to the total, by halving intervals."""
    least, most, width = np.zeros(len(beyond)), np.full(len(beyond), np.inf), np.ones(len(beyond))
    for _ in range(48):
        large = np.exp(-beyond / width[:, None]).sum(axis=1) > total
        least, most = np.where(large, least, width), np.where(large, width, most)
        width = np.where(np.isinf(most), 2 * width, (least + np.where(np.isinf(most), 0.0, most)) / 2)
    return width


def _clusterings(graph: Any) -> dict[int, np.ndarray]:
    import igraph

    found: dict[int, np.ndarray] = {}
    for resolution in RESOLUTIONS:
        random.seed(0)
        igraph.set_random_number_generator(random)
        options = {"objective_function": "modularity", "weights": "weight", "n_iterations": 2}
        labels = np.array(graph.community_leiden(resolution=resolution, **options).membership)
        found.setdefault(int(labels.max()) + 1, labels)
        if labels.max() > FINE[1] + 4:
            break
    return found
