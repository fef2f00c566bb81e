"""Sparse k-means with bounded gene weights, as in sparcl, at the default bound, the best of ten starts."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.peers import ours
from benchmarks.quality.protocol import Cells

TITLE = "sparse k-means (l1)"
GROUP = "peer"
missing, versions = ours.missing, ours.versions


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    return ours.sparse_kmeans(data, n_clusters, seed, penalty="l1")
