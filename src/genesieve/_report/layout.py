"""The cell map: which cells it shows, and where they stand."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from genesieve._checks import listing

if TYPE_CHECKING:
    from anndata import AnnData

EMBEDDINGS = {
    "X_umap": "UMAP",
    "X_tsne": "t-SNE",
    "X_draw_graph_fa": "force-directed graph",
    "X_diffmap": "diffusion map",
}
FEWEST_FOR_UMAP = 15  # scanpy's number of neighbours; fewer cells have no neighbourhoods to speak of
LEAST_OF_GROUP = 50  # cells shown of a small group, if it has them, so that it can be seen


@dataclass(frozen=True)
class Layout:
    """Places of the cells shown."""

    places: np.ndarray  # (cells shown, 2)
    title: str


def choose_cells(group: np.ndarray, strength: np.ndarray, most: int) -> np.ndarray:
    """About ``most`` cells by group, strongest first; small groups keep more than their share."""
    order = np.lexsort((-strength, group))
    if len(order) <= most:
        return order
    _, start, size = np.unique(group[order], return_index=True, return_counts=True)
    least = np.minimum(size, max(1, min(LEAST_OF_GROUP, most // len(size))))
    rest = max(most - least.sum(), 0) * (size - least) / max((size - least).sum(), 1)
    quota = least + np.floor(rest).astype(int)
    left = max(most - int(quota.sum()), 0)
    quota[np.argsort(np.floor(rest) - rest, kind="stable")[:left]] += 1  # to those that rounding took most from
    # Evenly along the falling strength, so that weak and strong cells are both there.
    places = [first + np.arange(n) * of // n for first, of, n in zip(start, size, quota, strict=True)]
    return order[np.concatenate(places)]


def place_cells(adata: AnnData, usages: np.ndarray, shown: np.ndarray, basis: str | None) -> Layout:
    """Coordinates of the cells shown: the embedding asked for, one that is there, or one of the usages."""
    name: str | None
    if basis is not None:
        name = basis if basis in adata.obsm else f"X_{basis}"
        if name not in adata.obsm:
            raise KeyError(
                f"basis must name a slot of adata.obsm, got {basis!r}; adata.obsm has {listing(list(adata.obsm))}"
            )
    else:
        name = next((name for name in EMBEDDINGS if name in adata.obsm), None)
    if name is None:
        return embed(usages[shown])
    stored = np.asarray(adata.obsm[name], dtype=np.float64)
    if stored.ndim != 2 or stored.shape[1] < 2:
        raise ValueError(f"basis must have at least 2 columns, got adata.obsm[{name!r}] of shape {stored.shape}")
    return Layout(stored[shown, :2], f"{EMBEDDINGS.get(name, name.removeprefix('X_'))} from adata.obsm[{name!r}]")


def embed(usages: np.ndarray) -> Layout:
    """A UMAP of the usages, or their principal components where cells or programs are too few for one."""
    directions = normalize(np.asarray(usages, dtype=np.float32))  # what a cell does, whatever its depth
    if len(usages) <= FEWEST_FOR_UMAP or usages.shape[1] < 2:
        n = min(2, *usages.shape)
        differ = np.ptp(usages, axis=0).any()  # or there are no components
        places = PCA(n, random_state=0).fit_transform(usages) if differ else np.zeros((len(usages), n))
        return Layout(np.pad(places, ((0, 0), (0, 2 - n))), "principal components of the usages")
    return Layout(_umap(directions), "UMAP of the usages")


def _umap(directions: np.ndarray) -> np.ndarray:
    import scanpy as sc  # takes seconds to load, and most reports have an embedding already
    from anndata import AnnData

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads and seeds, which mean nothing to a reader
        scratch = AnnData(obs={"cell": np.arange(len(directions)).astype(str)}, obsm={"usages": directions})
        # Exact neighbours: the approximate ones that scanpy takes for many cells fail with the newest pynndescent.
        sc.pp.neighbors(scratch, use_rep="usages", random_state=0, transformer="sklearn")
        sc.tl.umap(scratch, random_state=0)
    return np.asarray(scratch.obsm["X_umap"])
