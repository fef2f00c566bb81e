"""genesieve, with its defaults but for the options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anndata import AnnData


USED = "used"  # the column of the genes that a fit selected


def ssnmf(adata: AnnData, rank: int, n_genes: int, seed: int, **options: Any) -> np.ndarray:
    import genesieve as gs

    model = gs.SSNMF(rank, n_genes=n_genes, random_state=seed, **options)
    usages = model.fit_transform(adata.X)
    adata.var[USED] = model.get_support()
    return usages
