"""The cell map: which cells it shows, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from genesieve._anndata import read_fitted_part
from genesieve._checks import listing
from genesieve._slots.read import Fit
from genesieve.interpret.maps import leading_directions, place

if TYPE_CHECKING:
    from anndata import AnnData
    from matplotlib.axes import Axes

EMBEDDINGS = {
    "X_umap": "UMAP",
    "X_tsne": "t-SNE",
    "X_draw_graph_fa": "force-directed graph",
    "X_diffmap": "diffusion map",
}
FEWEST_FOR_MAP = 16  # a cell and its neighbours; fewer cells have no neighbourhoods to speak of
MAP_TITLE = "map of the cells by their selected genes: neighbours are alike, long distances mean little"
MOST_SHOWN = 20_000  # cells; more hide each other
MARGIN = 0.04  # around the cells, as a share of their extent
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


def cells_to_show(
    adata: AnnData, fit: Fit, group: np.ndarray, strength: np.ndarray, most: int, basis: str | None
) -> np.ndarray:
    """Cells chosen by group, of a map that was kept among those that it has: another choice would need another map."""
    kept = None if basis is not None or has_embedding(adata) or most > MOST_SHOWN else fit.cell_map
    there = np.arange(len(group)) if kept is None else np.flatnonzero(np.isfinite(kept).all(axis=1))
    there = there if len(there) else np.arange(len(group))
    return np.asarray(there[choose_cells(group[there], strength[there], most)])


def has_embedding(adata: AnnData) -> bool:
    """Whether there is an embedding that maps are drawn on."""
    return any(name in adata.obsm for name in EMBEDDINGS)


def place_cells(adata: AnnData, fit: Fit, shown: np.ndarray, basis: str | None) -> Layout:
    """Coordinates of the cells shown: the embedding asked for, the map or an embedding that is there, or a new map."""
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
        return map_cells(adata, fit, shown)
    stored = np.asarray(adata.obsm[name], dtype=np.float64)
    if stored.ndim != 2 or stored.shape[1] < 2:
        raise ValueError(f"basis must have at least 2 columns, got adata.obsm[{name!r}] of shape {stored.shape}")
    return Layout(stored[shown, :2], f"{EMBEDDINGS.get(name, name.removeprefix('X_'))} that came with the data")


def map_cells(adata: AnnData, fit: Fit, shown: np.ndarray) -> Layout:
    """The map that was kept, if it has these cells, or one of their expression, or where that is gone, of usages."""
    kept = fit.cell_map
    if kept is not None and np.isfinite(kept[shown]).all():
        return Layout(kept[shown], MAP_TITLE)
    if len(shown) <= FEWEST_FOR_MAP:
        return _components(fit.usages[shown])
    points = _expression(adata, fit, shown)
    if points is not None:
        return Layout(place(points), MAP_TITLE)
    if fit.rank < 2:
        return _components(fit.usages[shown])
    return Layout(place(leading_directions(normalize(fit.usages[shown].astype(np.float64)))), "map of the usages")


def _expression(adata: AnnData, fit: Fit, shown: np.ndarray) -> np.ndarray | None:
    """Cells along the leading directions of the selected genes, weighted as in the fit; None where values are gone."""
    genes = np.flatnonzero(fit.selected)
    rows = np.sort(shown)
    try:
        X = read_fitted_part(adata, fit, rows, genes)
    except (ValueError, KeyError):  # a result without values, or with others than those of the fit
        return None
    weights = np.ones(len(genes)) if fit.gene_weights is None else fit.gene_weights[genes]
    X = sparse.csr_array(X).multiply(weights[None]).tocsr() if sparse.issparse(X) else np.asarray(X) * weights
    if min(X.shape) < 2 or not np.ptp(leading := leading_directions(X), axis=0).any():
        return None
    return np.asarray(leading[np.searchsorted(rows, shown)])


def _components(usages: np.ndarray) -> Layout:
    """Principal components, where cells or programs are too few for neighbourhoods."""
    n = min(2, *usages.shape)
    differ = np.ptp(usages, axis=0).any()  # or there are no components
    places = PCA(n, random_state=0).fit_transform(usages) if differ else np.zeros((len(usages), n))
    return Layout(np.pad(places, ((0, 0), (0, 2 - n))), "principal components of the usages")


def square(ax: Axes, places: np.ndarray) -> None:
    """Limits that hold the places (cells, 2) in a square: no later layout widens them, and the canvas is used."""
    there = places[np.isfinite(places).all(axis=1)]
    low, high = (there.min(axis=0), there.max(axis=0)) if len(there) else (np.zeros(2), np.ones(2))
    half = max(float((high - low).max()) / 2, float(np.finfo(np.float32).tiny)) * (1 + MARGIN)
    middle = (low + high) / 2
    ax.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    ax.set_aspect("equal", adjustable="box")
