"""The methods: a data set and a number of genes in, the names of the genes out; with the known types or without."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness.peers import Missing, Peer, packages
from benchmarks.panels.cells import TYPES, VARIABLE

if TYPE_CHECKING:
    from anndata import AnnData

RANK = 10  # programs of our fits
# Where Spapros keeps what it has done, so that a run that was stopped goes on; its seconds are then of the last part.
SAVED = "GENESIEVE_SPAPROS_FOLDER"
FREE, LABELLED = "without labels", "with labels"


def ours(adata: AnnData, n_genes: int, **options: Any) -> list[str]:
    import genesieve as gs

    gs.tl.ssnmf(adata, RANK, min(2000, adata.n_vars))
    return gs.tl.panel(adata, n_genes, **options)["gene"].tolist()


def budget(adata: AnnData, n_genes: int) -> list[str]:
    import genesieve as gs

    gs.tl.ssnmf(adata, RANK, n_genes)
    return adata.var_names[adata.var["ssnmf_selected"]].tolist()


def loadings(adata: AnnData, n_genes: int) -> list[str]:
    import spapros

    return _selected(spapros.se.select_pca_genes(adata, n_genes, inplace=False, verbosity=0))


def differential(adata: AnnData, n_genes: int) -> list[str]:
    import spapros

    found = spapros.se.select_DE_genes(adata, n_genes, obs_key=TYPES, per_group=False, inplace=False, verbosity=0)
    return _selected(found)[:n_genes]


def variable(adata: AnnData, n_genes: int) -> list[str]:
    import scanpy as sc

    sc.pp.highly_variable_genes(adata, n_top_genes=n_genes)
    return adata.var_names[adata.var["highly_variable"]].tolist()


def cosg(adata: AnnData, n_genes: int) -> list[str]:
    import cosg as package
    import pandas as pd

    package.cosg(adata, key_added="cosg", groupby=TYPES, n_genes_user=n_genes)
    ranked = pd.DataFrame(adata.uns["cosg"]["names"]).to_numpy().ravel()  # the best of every type, then the second, ...
    return list(dict.fromkeys(ranked.tolist()))[:n_genes]


def at_random(adata: AnnData, n_genes: int) -> list[str]:
    return np.random.default_rng(0).choice(adata.var_names, n_genes, replace=False).tolist()


def whole(adata: AnnData, n_genes: int) -> list[str]:
    import scanpy as sc
    import spapros

    sc.pp.highly_variable_genes(adata, n_top_genes=min(VARIABLE, adata.n_vars), flavor="cell_ranger")
    folder = os.environ.get(SAVED)
    place = None if folder is None else str(Path(folder) / f"{adata.uns['data']}_{adata.n_obs}_{n_genes}")
    selector = spapros.se.ProbesetSelector(adata, celltype_key=TYPES, n=n_genes, verbosity=0, n_jobs=1, save_dir=place)
    selector.select_probeset()
    return _selected(selector.probeset)


def _selected(table: Any) -> list[str]:
    return table.index[table["selection"]].tolist()


def absent(reason: str) -> Any:
    """The versions of a peer that could not be run, with the reason."""

    def versions() -> dict[str, str]:
        raise Missing(reason)

    return versions


def _labelled(adata: AnnData, n_genes: int) -> list[str]:
    return ours(adata, n_genes, labels=TYPES)


PEERS: dict[str, Peer] = {
    "panel": Peer("`gs.tl.panel`", FREE, ours, packages("genesieve")),
    "ssnmf": Peer("`SSNMF(n_genes=k)`", FREE, budget, packages("genesieve")),
    "pca": Peer("Spapros' PCA loadings", FREE, loadings, packages("spapros")),
    "hvg": Peer("scanpy's variable genes", FREE, variable, packages("scanpy")),
    "random": Peer("random genes", FREE, at_random, packages("numpy")),
    "panel_labels": Peer("`gs.tl.panel(labels=)`", LABELLED, _labelled, packages("genesieve")),
    "spapros": Peer("Spapros", LABELLED, whole, packages("spapros")),
    "de": Peer("Spapros' DE genes", LABELLED, differential, packages("spapros")),
    "cosg": Peer("COSG", LABELLED, cosg, packages("cosg")),
}
