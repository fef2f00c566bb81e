"""scikit-learn's k-means on all genes, the best of ten starts."""

from __future__ import annotations

import numpy as np

from benchmarks.peers import missing_module, package_versions
from benchmarks.quality.protocol import Cells

TITLE = "k-means"
GROUP = "peer"
STARTS = 10


def missing() -> str | None:
    return missing_module("sklearn", "scikit-learn")


def versions() -> dict[str, str]:
    return package_versions("scikit-learn")


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=STARTS, random_state=seed).fit(data.dense()).labels_
