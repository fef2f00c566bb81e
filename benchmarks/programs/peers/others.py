"""Peers that are a call of a library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anndata import AnnData


def sklearn_nmf(adata: AnnData, rank: int, n_genes: int, seed: int) -> np.ndarray:
    """scikit-learn's NMF on scanpy's variable genes, its components at unit length as genesieve's are."""
    import scanpy as sc
    from sklearn.decomposition import NMF

    sc.pp.highly_variable_genes(adata, n_top_genes=n_genes)
    model = NMF(rank, random_state=seed, max_iter=400)
    usages = model.fit_transform(adata[:, adata.var["highly_variable"]].X)
    return usages * np.linalg.norm(model.components_, axis=1)
