"""genesieve's own estimators, with the budget and defaults but for the options."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.quality.cells import Cells


def ssnmf(cells: Cells, n_clusters: int, seed: int, **options: Any) -> np.ndarray:
    """SSNMF; by default every cell is labelled by the program that it uses most."""
    import genesieve as gs

    return gs.SSNMF(n_clusters, n_genes=cells.budget(), random_state=seed, **options).fit(cells.X).labels_


def clusters(cells: Cells, n_clusters: int, seed: int) -> np.ndarray:
    """The clusters that `tl.ssnmf` gives beside the programs of the default fit."""
    from anndata import AnnData

    import genesieve as gs

    adata = AnnData(cells.X)
    gs.tl.ssnmf(adata, n_clusters, cells.budget(), random_state=seed)
    return np.asarray(adata.obs["ssnmf_cluster"].cat.codes)


def single_start(cells: Cells, n_clusters: int, seed: int) -> np.ndarray:
    """SSNMF from a single start: what the cost of the default fit is compared with."""
    from genesieve.core import placing

    with patch.object(placing, "CHOSEN_STARTS", 1):
        return ssnmf(cells, n_clusters, seed)


def sparse_kmeans(cells: Cells, n_clusters: int, seed: int, *, penalty: str) -> np.ndarray:
    """Sparse k-means, the best of ten starts: with the budget (l0), or at the default bound as in sparcl (l1)."""
    import genesieve as gs

    options = {"n_genes": cells.budget()} if penalty == "l0" else {}
    return gs.SparseKMeans(n_clusters, penalty=penalty, random_state=seed, **options).fit(cells.X).labels_


def published(cells: Cells, n_clusters: int, seed: int, *, name: str) -> np.ndarray:
    """A method of the paper, with its solver (maPALM) and settings: one start, argmax of the raw usages."""
    import genesieve as gs

    return gs.METHODS[name](n_clusters, n_genes=cells.budget(), random_state=seed).fit(cells.X).labels_
