"""genesieve with labels from k-means on the usages."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.peers import ours
from benchmarks.quality.protocol import Cells

TITLE = "genesieve, k-means labels"
GROUP = "genesieve"
missing, versions = ours.missing, ours.versions


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    return ours.ssnmf(data, n_clusters, seed, labels="kmeans")
