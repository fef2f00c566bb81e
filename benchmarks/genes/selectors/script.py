"""Run by the Python that has the selectors: reads cells.h5ad in a folder, writes the order of all genes there."""

import sys
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import scanpy as sc

warnings.simplefilter("ignore")


def seurat_v3(adata: ad.AnnData, seed: int) -> np.ndarray:
    """The variance of standardised counts; values without counts are taken back from the logarithm."""
    sc.pp.highly_variable_genes(adata, flavor="seurat_v3", layer="counts", n_top_genes=adata.n_vars)
    return -adata.var["variances_norm"].to_numpy()


def triku(adata: ad.AnnData, seed: int) -> np.ndarray:
    """The distance of a gene's counts among neighbours from what chance gives."""
    import triku as tk  # type: ignore[import-not-found]

    neighbours(adata, seed)
    tk.tl.triku(adata)
    return -np.nan_to_num(adata.var["triku_distance"].to_numpy(), nan=-np.inf)


def cosg(adata: ad.AnnData, seed: int) -> np.ndarray:
    """The best place of a gene in the list of any Leiden cluster."""
    import cosg as package  # type: ignore[import-not-found]

    neighbours(adata, seed)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False, random_state=seed)
    package.cosg(adata, groupby="leiden", n_genes_user=adata.n_vars, key_added="cosg")
    names = np.array([list(row) for row in adata.uns["cosg"]["names"]])  # (places, clusters)
    place = np.full(adata.n_vars, len(names))
    for column in names.T:
        np.minimum.at(place, adata.var_names.get_indexer(column), np.arange(len(names)))
    return place


def neighbours(adata: ad.AnnData, seed: int) -> None:
    """Scanpy's graph of the cells, by its defaults."""
    sc.pp.pca(adata, random_state=seed)
    sc.pp.neighbors(adata, random_state=seed)


def main(folder: Path, selector: str, seed: int) -> None:
    adata = ad.read_h5ad(folder / "cells.h5ad")
    rank = {"seurat_v3": seurat_v3, "triku": triku, "cosg": cosg}[selector](adata, seed)
    np.save(folder / "order.npy", np.argsort(rank, kind="stable"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
