"""What the files of genesieve's own estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import package_versions
from benchmarks.quality.protocol import Cells


def missing() -> None:
    """It is what is measured."""


def versions() -> dict[str, str]:
    return package_versions("genesieve", "numpy", "scipy", "scikit-learn")


def ssnmf(data: Cells, n_clusters: int, seed: int, **options: Any) -> np.ndarray:
    """Labels of SSNMF with the budget, and defaults but for the options."""
    import genesieve as gs

    return gs.SSNMF(n_clusters, n_genes=data.budget(), random_state=seed, **options).fit(data.X).labels_


def sparse_kmeans(data: Cells, n_clusters: int, seed: int, **options: Any) -> np.ndarray:
    """Labels of sparse k-means, defaults but for the options."""
    import genesieve as gs

    return gs.SparseKMeans(n_clusters, random_state=seed, **options).fit(data.X).labels_


def published(name: str, data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    """Labels of one start of a method of the paper, with the paper's solver and settings."""
    import genesieve as gs

    model = gs.METHODS[name](n_clusters, n_genes=data.budget(), random_state=seed)
    return model.fit(data.X).labels_
