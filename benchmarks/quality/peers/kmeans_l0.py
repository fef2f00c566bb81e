"""Sparse k-means with an exact number of genes, the best of ten starts."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.peers import ours
from benchmarks.quality.protocol import Cells

TITLE = "sparse k-means (l0)"
GROUP = "peer"
missing, versions = ours.missing, ours.versions


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    return ours.sparse_kmeans(data, n_clusters, seed, penalty="l0", n_genes=data.budget())
