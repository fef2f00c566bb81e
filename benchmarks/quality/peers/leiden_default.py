"""Leiden on PCA at scanpy's default resolution, with as many clusters as it finds: it is not told their number."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.peers import leiden_pca
from benchmarks.quality.protocol import Cells

TITLE = "Leiden on PCA, resolution 1"
GROUP = "peer"
missing, versions = leiden_pca.missing, leiden_pca.versions


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    return leiden_pca.leiden(data, seed)(1.0)
