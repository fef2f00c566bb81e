"""genesieve, with its defaults but for the options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anndata import AnnData


def ssnmf(adata: AnnData, rank: int, n_genes: int, seed: int, **options: Any) -> np.ndarray:
    import genesieve as gs

    model = gs.SSNMF(rank, n_genes=n_genes, random_state=seed, **options)
    return model.fit_transform(adata.X)
