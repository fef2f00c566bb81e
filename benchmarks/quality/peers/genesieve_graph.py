"""genesieve with labels from Leiden on a graph of the usages."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.peers import ours
from benchmarks.quality.protocol import Cells

TITLE = "genesieve, graph labels"
GROUP = "genesieve"
missing, versions = ours.missing, ours.versions


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    return ours.ssnmf(data, n_clusters, seed, labels="leiden")
