"""scikit-learn's NMF from its default start, cells labelled by the largest usage.

Its components are brought to unit length first, as genesieve's are: without that the argmax hangs on an arbitrary
scale.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers import missing_module, package_versions
from benchmarks.quality.protocol import Cells

TITLE = "scikit-learn NMF"
GROUP = "peer"
MAX_ITER = 1000  # scikit-learn's 200 end before its tolerance on some of the sets


def missing() -> str | None:
    return missing_module("sklearn", "scikit-learn")


def versions() -> dict[str, str]:
    return package_versions("scikit-learn")


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    from sklearn.decomposition import NMF

    model = NMF(n_clusters, max_iter=MAX_ITER, random_state=seed)
    usages = model.fit_transform(data.X)  # (cells, clusters)
    return (usages * np.linalg.norm(model.components_, axis=1)).argmax(axis=1)
