"""The methods: a data set and a number of genes in, the names of the genes out; with the known types or without."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from itertools import zip_longest
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness.peers import Peer, packages
from benchmarks.panels.cells import TYPES, VARIABLE
from benchmarks.panels.ranking import ranking

if TYPE_CHECKING:
    from anndata import AnnData

RANK = 10  # programs of our fits
FREE, LABELLED = "without labels", "with labels"


def ours(adata: AnnData, n_genes: int, **options: Any) -> list[str]:
    import genesieve as gs

    gs.tl.ssnmf(adata, RANK, min(2000, adata.n_vars), clusters=False)  # as `genesieve panel` does
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
    """The start of a ranking that is made once for all sizes; `benchmarks.panels.job` knows what it took."""
    return ranking(adata.uns["data"], adata.uns["n_cells"]).genes[:n_genes]


def triku(adata: AnnData, n_genes: int) -> list[str]:
    import scanpy as sc
    import triku as package

    sc.pp.pca(adata)
    sc.pp.neighbors(adata)
    package.tl.triku(adata, n_features=n_genes, use_raw=False, verbose="error")
    return adata.var_names[np.argsort(-adata.var["triku_distance"].to_numpy(), kind="stable")[:n_genes]].tolist()


def forest(adata: AnnData, n_genes: int) -> list[str]:
    """Its markers of every type first, then its further genes of every type in turn."""
    import nsforest

    each = -(-2 * n_genes // adata.obs[TYPES].nunique())  # twice an even share: types share genes
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        adata = nsforest.pp.prep_medians(adata, TYPES)
        adata = nsforest.pp.prep_binary_scores(adata, TYPES)
        found = nsforest.nsforesting.NSForest(
            adata, TYPES, n_top_genes=each, n_binary_genes=each, n_jobs=1, output_folder=f"{folder}/"
        )
    ranked = [*_in_turn(found["NSForest_markers"]), *_in_turn(found["binary_genes"])]
    return list(dict.fromkeys(ranked))[:n_genes]


def scmer(adata: AnnData, n_genes: int) -> list[str]:
    import scanpy as sc
    import scmer as package

    sc.pp.highly_variable_genes(adata, n_top_genes=min(VARIABLE, adata.n_vars), flavor="cell_ranger")
    adata = adata[:, adata.var["highly_variable"]].copy()
    values = adata.X.toarray()
    model = package.UmapL1.tune(n_genes, values, perplexity=100.0, n_threads=1, verbosity=0)  # as its tutorial does
    weights = np.abs(np.asarray(model.w)).ravel()
    return adata.var_names[np.argsort(-weights, kind="stable")[:n_genes]].tolist()


def _in_turn(lists: Iterable[list[str]]) -> list[str]:
    """The first of every list, then the second of every list, and so on."""
    return [gene for row in zip_longest(*lists) for gene in row if gene is not None]


def _selected(table: Any) -> list[str]:
    return table.index[table["selection"]].tolist()


def _labelled(adata: AnnData, n_genes: int) -> list[str]:
    return ours(adata, n_genes, labels=TYPES)


PEERS: dict[str, Peer] = {
    "panel": Peer("`gs.tl.panel`", FREE, ours, packages("genesieve")),
    "ssnmf": Peer("`SSNMF(n_genes=k)`", FREE, budget, packages("genesieve")),
    "pca": Peer("Spapros' PCA loadings", FREE, loadings, packages("spapros")),
    "hvg": Peer("scanpy's variable genes", FREE, variable, packages("scanpy")),
    "triku": Peer("triku", FREE, triku, packages("triku")),
    "scmer": Peer("scMER", FREE, scmer, packages("scmer")),
    "random": Peer("random genes", FREE, at_random, packages("numpy")),
    "panel_labels": Peer("`gs.tl.panel(labels=)`", LABELLED, _labelled, packages("genesieve")),
    "spapros": Peer("Spapros", LABELLED, whole, packages("spapros")),
    "de": Peer("Spapros' DE genes", LABELLED, differential, packages("spapros")),
    "nsforest": Peer("NS-Forest", LABELLED, forest, packages("nsforest")),
    "cosg": Peer("COSG", LABELLED, cosg, packages("cosg")),
}
