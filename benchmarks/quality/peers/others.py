"""scikit-learn's methods."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.cells import Cells

KMEANS_STARTS = 10
NMF_ITERATIONS = 1000  # scikit-learn's 200 end before its tolerance on some of the sets


def kmeans(cells: Cells, n_clusters: int, seed: int) -> np.ndarray:
    """k-means on all genes, the best of ten starts."""
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=KMEANS_STARTS, random_state=seed).fit(cells.dense()).labels_


def sklearn_nmf(cells: Cells, n_clusters: int, seed: int) -> np.ndarray:
    """NMF from its default start, cells labelled by the largest usage.

    Its components are brought to unit length first, as genesieve's are: without that the argmax hangs on an arbitrary
    scale.
    """
    from sklearn.decomposition import NMF

    model = NMF(n_clusters, max_iter=NMF_ITERATIONS, random_state=seed)
    usages = model.fit_transform(cells.X)  # (cells, clusters)
    return (usages * np.linalg.norm(model.components_, axis=1)).argmax(axis=1)
