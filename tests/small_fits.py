"""Small data and fits of them that tests of the front share."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

import genesieve as gs
from genesieve import tl

STORAGES = [np.asarray, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array]
TABLES = ["top_genes", "markers", "biclusters", "bicluster_sizes", "enrichment", "panel"]
SETS = {"first": [f"g{i}" for i in range(30)], "second": [f"g{i}" for i in range(60, 90)]}


def make(store=np.asarray, *, draw=gs.datasets.synthetic, seed: int = 0) -> ad.AnnData:
    data = draw(random_state=seed)
    adata = ad.AnnData(store(data.X))
    adata.var_names = [f"g{i}" for i in range(adata.n_vars)]
    adata.obs["class"] = pd.Categorical(data.labels.astype(str))
    return adata


def fitted(store=np.asarray, **options) -> ad.AnnData:
    adata = make(store)
    tl.ssnmf(adata, 3, 120, **options)
    return adata


def interpreted() -> ad.AnnData:
    adata = fitted()
    tl.top_genes(adata, 5)
    tl.markers(adata, 5)
    tl.biclusters(adata)
    tl.outliers(adata)
    tl.enrich(adata, SETS)
    tl.panel(adata, 20)
    return adata


def values(table: pd.DataFrame) -> dict[str, list]:
    return {name: table[name].tolist() for name in table}
