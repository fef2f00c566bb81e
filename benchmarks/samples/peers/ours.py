"""genesieve: programs of each sample grouped, and all cells in one fit beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anndata import AnnData

Programs = tuple[np.ndarray, np.ndarray]


def metaprograms(adata: AnnData, budget: int, ranks: tuple[int, ...], seed: int) -> Programs:
    """Profiles as the table of gene confidence has them."""
    import genesieve as gs

    table = gs.tl.metaprograms(adata, "sample", ranks, budget, random_state=seed)
    genes = adata.uns["ssnmf_metaprograms_gene_confidence"]
    profiles = np.zeros((len(table), adata.n_vars))
    profiles[genes["program"].astype(int), adata.var_names.get_indexer(genes["gene"])] = genes["profile"]
    return profiles, table["n_samples"].to_numpy()


def one_fit(
    adata: AnnData, budget: int, ranks: tuple[int, ...], seed: int, *, batch_key: str | None = None
) -> Programs:
    """As many programs as are planted, of all cells; a program is in the samples whose cells use it."""
    import genesieve as gs

    rank = adata.obsm["true_usages"].shape[1]
    gs.tl.ssnmf(adata, rank, budget, batch_key=batch_key, random_state=seed)
    gs.tl.gene_scores(adata)
    used = adata.obsm["X_ssnmf"].argmax(axis=1)
    of_sample = adata.obs["sample"].astype("category").cat.codes.to_numpy()
    # A program is in a sample if one in a hundred of its cells uses it most.
    share = np.array(
        [np.bincount(used[of_sample == s], minlength=rank) / (of_sample == s).sum() for s in set(of_sample)]
    )
    return np.maximum(adata.varm["ssnmf_scores"].T, 0.0), (share >= 0.01).sum(axis=0)
