"""Reading an AnnData at the door: which object to write to, its values and its genes."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from genesieve._checks import choices, listing
from genesieve._matrices import check_all_intact
from genesieve._slots.keys import KEPT
from genesieve._slots.read import Fit, check_anndata, read_column, read_log_base, read_preparation, table_of
from genesieve.core.cells.intact import check_intact
from genesieve.core.cells.scaled import ByBatch
from genesieve.core.cells.sources import floating
from genesieve.core.cells.streamed import Streamed, as_source, streamed
from genesieve.core.cells.transform import Transform

if TYPE_CHECKING:
    from anndata import AnnData

# Logged expression stays below this (2^30 transcripts of one gene); counts and linear values of whole cells do not.
MAX_LOGGED = 30.0
# Cells whose totals vary by less than this share were scaled to one depth, and not logged since.
EQUAL_TOTALS = 1e-3
# Counts are told by whole numbers; so many stored values are looked at.
LOOKED_AT = 1_000_000
# Of values outside memory these many cells are looked at, from the first to the last.
CELLS_LOOKED_AT = 500
# Names that are not there whose nearest spelling is looked up.
SPELT = 5

LOG_BASES = {"none": None, "ln(x + 1)": float(np.e), "log2(x + 1)": 2.0}
"""Logarithms by their names in ``uns``."""


def own(adata: AnnData, *, copy: bool = False) -> AnnData:
    """The object to write to: a copy if asked for, and a view made an object of its own."""
    check_anndata(adata)
    if adata.is_view:
        check_all_intact(adata)  # before it is cut
    if copy:
        if streamed(adata.X) is not None:
            raise ValueError("copy must be False for data outside memory, got True; adata.to_memory() is a copy")
        return adata.copy()
    if adata.is_view:
        adata._init_as_actual(adata.to_memory())  # as scanpy does; writing to a view would warn
    return adata


def read_values(adata: AnnData, *, layer: str | None = None, use_raw: bool = False, as_stored: bool = False) -> Any:
    """Cells x genes of ``X``, of a layer, or of ``raw`` on the genes of ``adata``; floating point, not negative.

    Values outside memory stay there: they come as `Streamed`, with what `genesieve.pp.prepare` found to be done to
    them unless they are wanted ``as_stored``, and are checked when they are read.
    """
    check_anndata(adata)
    if adata.is_view:
        check_all_intact(adata)
    recipe = None if as_stored or use_raw or layer is not None else pending_recipe(adata)
    X, place = _locate(adata, layer if recipe is None else recipe["layer"] or None, use_raw)
    if X is None:
        raise ValueError(f"{place} must hold values, got none")
    if 0 in X.shape:
        raise ValueError(f"adata must have cells and genes, got {X.shape[0]} cells x {X.shape[1]} genes")
    outside = streamed(X)
    if outside is not None:
        return outside if recipe is None else Streamed(outside.data, transform_of(recipe))
    check_intact(X, place)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{place} must hold real numbers, got values of type {X.dtype}")
    stored = stored_values(X)
    smallest = stored.min() if stored.size else 0
    if np.isnan(smallest):
        raise ValueError(f"{place} must not have missing values, got NaN")
    if not np.isfinite(stored.max(initial=0)):
        raise ValueError(f"{place} must be finite, got infinity")
    if smallest < 0:
        raw = "" if adata.raw is None or use_raw else "; use_raw=True takes those of adata.raw"
        raise ValueError(
            f"{place} must not be negative, got a minimum of {smallest:g}; scaled or centred values cannot be used,"
            f" pass an unscaled layer{choices('layers', adata.layers)}{raw}"
        )
    kind = floating(X.dtype)
    return X if X.dtype == kind else X.astype(kind)


def _locate(adata: AnnData, layer: str | None, use_raw: bool) -> tuple[Any, str]:
    """The matrix asked for, and its name for errors."""
    if use_raw and layer is not None:
        raise ValueError(f"layer must be None with use_raw=True, got {layer!r}")
    if use_raw:
        return _raw_values(adata), "adata.raw.X"
    if layer is None:
        return adata.X, "adata.X"
    if layer not in adata.layers:
        raise KeyError(f"layer {layer!r} is not in adata.layers{choices('layers', adata.layers)}")
    return adata.layers[layer], f"adata.layers[{layer!r}]"


def pending_recipe(adata: AnnData) -> dict[str, Any] | None:
    """What `genesieve.pp.prepare` left to be done to values as they are read; None if it left nothing."""
    recipe = read_preparation(adata)
    return recipe if bool(recipe.get("on_the_fly", False)) else None


def log_base(adata: AnnData) -> float:
    """The base of the logarithm of logged values, as the preparation or scanpy says it; e where nothing is said."""
    return LOG_BASES.get(str(read_preparation(adata).get("log", "none"))) or read_log_base(adata)


def transform_of(recipe: dict[str, Any]) -> Transform:
    """What a recipe of ``uns`` does to values."""
    return Transform(float(recipe["target_sum"]) or None, LOG_BASES[str(recipe["log"])])


def without_stream(adata: AnnData) -> AnnData:
    """The object itself, or where its values are outside memory, all of it but those."""
    if streamed(adata.X) is None:
        return adata
    parts = {name: dict(getattr(adata, name)) for name in ("obsm", "varm", "uns")}
    return type(adata)(obs=table_of(adata.obs), var=table_of(adata.var), **parts)


def kept_genes(adata: AnnData) -> np.ndarray:
    """Mask of the genes that `genesieve.pp.prepare` kept; where values are in memory, the others are gone."""
    if pending_recipe(adata) is None:
        return np.ones(adata.n_vars, dtype=bool)
    return table_of(adata.var)[KEPT].to_numpy(dtype=bool, copy=True)


def select_genes(X: Any, genes: np.ndarray) -> Any:
    """Some columns of X (indices or a mask), wherever its values are."""
    if isinstance(X, ByBatch):
        return ByBatch(select_genes(X.values, genes), X.batch, X.scales[:, genes])
    return X.select(genes) if isinstance(X, Streamed) else X[:, genes]


def read_part(
    adata: AnnData, cells: np.ndarray, genes: np.ndarray, *, layer: str | None = None, use_raw: bool = False
) -> Any:
    """Some cells (ascending) on some genes, in memory."""
    X = read_values(adata, layer=layer, use_raw=use_raw)
    return X.select(genes).source().rows(cells) if isinstance(X, Streamed) else X[cells][:, genes]


def read_fitted(adata: AnnData, fit: Fit) -> Any:
    """The values that a fit saw: with batches, each is divided by its batch's scale of its gene as it is read."""
    X = read_values(adata, **fit.values_from)
    if fit.batches is None:
        return X
    return ByBatch(X, _batch_numbers(adata, fit, fit.batches), fit.batch_scales.T)


def read_fitted_part(adata: AnnData, fit: Fit, cells: np.ndarray, genes: np.ndarray) -> Any:
    """Some cells (ascending) on some genes, in memory, as the fit saw them."""
    return on_scales(adata, fit, read_part(adata, cells, genes, **fit.values_from), cells, genes)


def on_scales(adata: AnnData, fit: Fit, X: Any, cells: np.ndarray, genes: np.ndarray) -> Any:
    """Values of some cells on some genes, divided by the scales of their batches where the fit knew any."""
    if fit.batches is None:
        return X
    of_cells = _batch_numbers(adata, fit, fit.batches)[cells]
    return as_source(ByBatch(X, of_cells, fit.batch_scales.T[:, genes])).rows(np.arange(len(cells)))


def _batch_numbers(adata: AnnData, fit: Fit, names: np.ndarray) -> np.ndarray:
    """The batch of every cell (cells,), as the fit numbers them."""
    column = str(fit.params["batch_key"])
    labels = read_column(adata, column, "the batches of the fit must be in a column").astype(str)
    numbers = pd.Index(names).get_indexer(pd.Index(labels))
    if (numbers < 0).any():
        raise ValueError(
            f"adata.obs[{column!r}] must have the batches of the fit, {listing(names.tolist())}, got"
            f" {listing(sorted(set(labels[numbers < 0])))}"
        )
    return numbers


def _raw_values(adata: AnnData) -> Any:
    if adata.raw is None:
        raise ValueError("adata.raw must be set to use use_raw=True, got None")
    check_intact(adata.raw.X, "adata.raw.X")  # before genes are chosen
    missing = adata.var_names.difference(adata.raw.var_names)
    if len(missing):
        raise ValueError(f"adata.raw must have all genes of adata, but lacks {listing(missing)}")
    outside = streamed(adata.raw.X)
    if outside is not None:
        return outside.select(adata.raw.var_names.get_indexer(adata.var_names))
    return adata.raw[:, adata.var_names].X


def stored_values(X: Any) -> np.ndarray:
    """The values of a dense matrix, or those that a sparse one stores."""
    return X.data if sparse.issparse(X) else np.asarray(X)


def kind_of_values(X: Any) -> str:
    """``"counts"``, ``"linear"`` or ``"log"``, by how the values look."""
    if isinstance(X, Streamed):
        X = X.some_cells(CELLS_LOOKED_AT)
    stored = stored_values(X)
    some = stored.ravel()[:LOOKED_AT]
    if np.array_equal(some, np.rint(some)):
        return "counts"
    totals = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    equal = len(totals) > 1 and totals.std() <= EQUAL_TOTALS * totals.mean()
    return "linear" if equal or stored.max() > MAX_LOGGED else "log"


def check_unique_genes(adata: AnnData, name: str = "adata") -> None:
    """Raise if gene names repeat: tables, gene sets and new data find genes by name."""
    if not adata.var_names.is_unique:
        repeated = adata.var_names[adata.var_names.duplicated()].unique()
        raise ValueError(
            f"{name}.var_names must be unique, got {listing(repeated)} more than once;"
            f" call {name}.var_names_make_unique()"
        )


def _spelling(missing: list[str], names: Any) -> str:
    """The nearest names to some that are not there, for the end of an error message."""
    by_letters = {str(name).upper(): str(name) for name in names}
    near = {gene: get_close_matches(gene.upper(), by_letters, 1) for gene in missing[:SPELT]}
    said = ", ".join(f"{by_letters[found[0]]!r} for {gene!r}" for gene, found in near.items() if found)
    return f"; nearest: {said}" if said else ""


def find_genes(adata: AnnData, genes: str | Iterable[str], name: str) -> np.ndarray:
    """Mask of the named genes; all must be there."""
    wanted = [genes] if isinstance(genes, str) else [str(gene) for gene in genes]
    unknown = unknown_genes(adata, wanted)
    if unknown:
        raise ValueError(f"{name} must be genes of adata, got {unknown}")
    return np.asarray(adata.var_names.isin(wanted))


def unknown_genes(adata: AnnData, genes: Iterable[str]) -> str:
    """Those of the names that no gene has, with the nearest spelling, for a message; empty where all are there."""
    missing = [gene for gene in map(str, genes) if gene not in adata.var_names]
    if not missing:
        return ""
    there = f"which adata.var_names (like {listing(adata.var_names[:3])}) does not have"
    return f"{listing(missing)}, {there}{_spelling(missing, adata.var_names)}"
