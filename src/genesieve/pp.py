"""Preparing expression values for the factorisation."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from genesieve._anndata import LOG_BASES, kind_of_values, own, read_values
from genesieve._checks import check_choice, check_integer, check_number
from genesieve._matrices import check_all_intact
from genesieve._slots.keys import KEPT, PREPARE
from genesieve._slots.read import check_anndata, read_preparation
from genesieve._slots.write import write_preparation
from genesieve.core.cells.blocks import Blocks, Survey
from genesieve.core.cells.streamed import Streamed, as_source
from genesieve.core.cells.transform import Transform

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["prepare", "prepare_like"]

logger = logging.getLogger(__name__)

VALUES = ("counts", "linear", "log")

# Genes seen in fewer cells are dropped. The paper's share suits full-length data, where a cell shows a third of all
# genes or more and those that few cells show are mostly noise (Pollen's clusters lose a quarter of their agreement with
# the known types without it). On UMI data, where a cell shows 3 to 6 %, any share drops the markers of the types that
# are rarer than it; there a small number of cells is asked for, and the budget sorts out the rest.
PAPER_SHARE = 0.3
UMI_CELLS = 10
SMALL_SHARE = 0.05  # of data with so few cells that it is less than that number
# Counts and linear values (TPM, RPKM) of cells that show at least this share of the genes are taken for full-length
# data; logged values may have lost their rare genes before.
FULL_LENGTH_DENSITY = 0.2

NEW_LAYER = "a new layer"


@dataclass(frozen=True)
class Recipe:
    """What is done to the values, step by step."""

    values: str
    looked: bool  # at the values, for their kind
    min_cells: float
    target_sum: float | None  # None: depth is left as it is
    log_base: float | None  # None: values are logged already
    preset: str = "none"

    @property
    def values_from(self) -> str:
        """Who said what the values are."""
        return "their looks" if self.looked else "the caller"

    @property
    def log(self) -> str:
        """The logarithm in words."""
        return next(name for name, base in LOG_BASES.items() if base == self.log_base)


def prepare(
    adata: AnnData,
    *,
    values: str = "auto",
    min_cells: float | None = None,
    target_sum: float | None = None,
    preset: str | None = None,
    layer: str | None = None,
    raw_layer: str | None = "raw",
    copy: bool = False,
) -> AnnData | None:
    """Drop rarely seen genes, normalise depth and take logarithms, as far as the values still need it.

    Counts are scaled to one depth and logged, linear values (TPM, RPKM) are logged, logged values are left alone. What
    was done is logged and kept in ``uns["genesieve_prepare"]``. Sparse values stay sparse.

    Values outside memory (a backed or lazy AnnData) are looked through once and left as they are: what there is to do
    to them is noted, and done whenever `genesieve.tl.ssnmf` and `genesieve.tl.project` read them. All genes stay, those
    to be used are marked in ``var["genesieve_kept"]``.

    Parameters
    ----------
    adata
        Cells x genes.
    values
        ``"counts"``, ``"linear"`` or ``"log"``; ``"auto"`` looks: whole numbers are counts, equal totals of all cells
        or values above 30 are linear, others are logged.
    min_cells
        Keep genes seen in at least this share of the cells (a float up to 1) or number of cells (an integer).
        ``None``: 0.3, the paper's, for counts and linear values where the typical cell shows at least a fifth of the
        genes (full-length data), and 10 cells otherwise (of fewer than 200 cells, 0.05), so that the markers of rare
        types stay.
    target_sum
        Depth to scale counts to; ``None`` takes the median over cells. It is set for counts only.
    preset
        ``"paper"`` does what the paper did: genes seen in at least 30 % of the cells, log2(x + 1), depth as it is.
    layer
        Layer to read; ``None`` reads ``X``. The result is written to ``X`` either way.
    raw_layer
        Layer to keep the values of ``X`` in, where they change; ``None`` keeps none. Values read from a layer stay
        in that layer.
    copy
        Return a prepared copy instead of working in place.

    Returns
    -------
    AnnData or None
        The copy with ``copy=True``.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.pp.prepare(adata)
    >>> adata.uns["genesieve_prepare"]["values"]
    'log'
    """
    check_choices(values, min_cells, target_sum, preset)
    adata = own(adata, copy=copy)
    X = read_values(adata, layer=layer, as_stored=True)
    survey = Blocks(as_source(X)).survey()
    recipe = _recipe(X, survey, values, min_cells, target_sum, preset)
    _follow(recipe, adata, X, _kept_genes(survey.seen, X.shape[0], recipe.min_cells), layer, raw_layer)
    write_preparation(adata, {**read_preparation(adata), **_quality(survey)})
    return adata if copy else None


def _quality(survey: Survey) -> dict[str, float]:
    """Depth and richness of the cells before anything was done to them."""
    low, median, high = np.quantile(survey.totals, [0.05, 0.5, 0.95])
    totals = {"total_low": float(low), "total_median": float(median), "total_high": float(high)}
    n_cells = len(survey.totals)
    return totals | {"genes_a_cell": float(survey.seen.sum() / n_cells), "empty_cells": int((survey.totals == 0).sum())}


def prepare_like(
    adata: AnnData,
    fitted: AnnData,
    *,
    values: str = "auto",
    layer: str | None = None,
    raw_layer: str | None = "raw",
    copy: bool = False,
) -> AnnData | None:
    """Prepare new cells exactly as those of a fit were, for `genesieve.tl.project`.

    Depth and logarithm are those that `prepare` found for the fit. All genes stay, as the fit has chosen already; genes
    that the new cells lack are for `genesieve.tl.project` to deal with. Values that are logged already are used as they
    are, with a warning where those of the fit were not. Values outside memory are left as they are, as by `prepare`.

    Parameters
    ----------
    adata
        New cells.
    fitted
        The AnnData of the fit, prepared by `prepare`, or a model that `genesieve.workflow.load_model` read.
    values
        What the new values are, as in `prepare`; ``"auto"`` looks.
    layer, raw_layer, copy
        As in `prepare`.

    Returns
    -------
    AnnData or None
        The copy with ``copy=True``.

    Examples
    --------
    >>> import genesieve as gs
    >>> old, new = (gs.datasets.demo()[cells].copy() for cells in (slice(600), slice(600, 700)))
    >>> gs.pp.prepare(old)
    >>> gs.tl.ssnmf(old, 6, 200)
    >>> gs.pp.prepare_like(new, old)
    >>> gs.tl.project(new, old)
    """
    check_choice("values", values, ["auto", *VALUES])
    check_anndata(fitted, "fitted")
    done = read_preparation(fitted)
    if not done:
        raise ValueError(f"fitted must have been prepared by gs.pp.prepare, got no {PREPARE!r} in its uns")
    adata = own(adata, copy=copy)
    X = read_values(adata, layer=layer, as_stored=True)
    kind, looked, fitted_kind = kind_of_values(X) if values == "auto" else values, values == "auto", str(done["values"])
    if kind not in (fitted_kind, "log"):
        raise ValueError(f"adata must hold {fitted_kind} values as those of the fit were, got {kind} ones")
    depth, base = float(done["target_sum"]) or None, LOG_BASES[str(done["log"])]
    if kind != fitted_kind:
        message = f"the model was fitted to {fitted_kind}, these values are logged already and used as they are"
        warnings.warn(message, UserWarning, stacklevel=2)
        depth = base = None
    recipe = Recipe(kind, looked, 0, depth, base, str(done["preset"]))
    _follow(recipe, adata, X, np.ones(adata.n_vars, dtype=bool), layer, raw_layer)
    return adata if copy else None


def _follow(recipe: Recipe, adata: AnnData, X: Any, kept: np.ndarray, layer: str | None, raw_layer: str | None) -> None:
    """Do to the values what the recipe says, or note it for when they are read."""
    if isinstance(X, Streamed):
        adata.var[KEPT] = kept
        where, how = ("X" if layer is None else f"layers[{layer!r}]"), {"on_the_fly": True, "layer": layer or ""}
    else:
        where, how = _apply(adata, X, recipe, kept, layer, raw_layer), {"on_the_fly": False}
    _record(adata, recipe, kept, where, how)


def _apply(adata: AnnData, X: Any, recipe: Recipe, kept: np.ndarray, layer: str | None, raw_layer: str | None) -> str:
    """Transform values in memory and drop genes; where the raw values are."""
    changes = recipe.log_base is not None
    where = _place_of_raw(adata, layer, raw_layer, changes)
    if not changes and layer is None:
        _keep_genes(adata, kept)
        return where
    raw = adata.X if where == NEW_LAYER else None
    adata.X = None  # AnnData takes long to choose genes of large values; here it is done as they are made
    new = _transform(X, recipe, kept)
    _keep_genes(adata, kept)
    adata.X = new
    if where == NEW_LAYER:
        adata.layers[raw_layer] = _on_genes(raw, kept)
        where = f"layers[{raw_layer!r}]"
    return where


def _keep_genes(adata: AnnData, kept: np.ndarray) -> None:
    if not kept.all():
        check_all_intact(adata)  # layers and others are cut, too
        adata._inplace_subset_var(kept)


def _on_genes(X: Any, kept: np.ndarray) -> Any:
    """Some columns of X, of the same storage."""
    if kept.all():
        return X
    return X[:, kept] if sparse.issparse(X) and X.format != "csr" else Transform(genes=np.flatnonzero(kept))(X)


def check_choices(values: str, min_cells: float | None, target_sum: float | None, preset: str | None) -> None:
    """Raise unless the choices of `prepare` are possible and go together."""
    check_choice("values", values, ["auto", *VALUES])
    check_choice("preset", preset, ["paper", None])
    if preset is not None and (min_cells is not None or target_sum is not None):
        raise ValueError(f"min_cells and target_sum must be None with preset={preset!r}")
    if isinstance(min_cells, Integral):
        check_integer("min_cells", min_cells, 0)
    elif min_cells is not None:
        check_number("min_cells", min_cells)
        if min_cells > 1:
            raise ValueError(f"min_cells must be a share of the cells (up to 1.0) or an integer, got {min_cells!r}")
    if target_sum is not None:
        check_number("target_sum", target_sum)
        if target_sum == 0:
            raise ValueError("target_sum must be above 0, got 0")


def _recipe(
    X: Any, survey: Survey, values: str, min_cells: float | None, target_sum: float | None, preset: str | None
) -> Recipe:
    looked, values = values == "auto", kind_of_values(X) if values == "auto" else values
    paper = preset == "paper"
    if min_cells is None:
        full_length = values != "log" and survey.seen.sum() >= FULL_LENGTH_DENSITY * X.shape[0] * X.shape[1]
        few = SMALL_SHARE if SMALL_SHARE * X.shape[0] < UMI_CELLS else UMI_CELLS
        min_cells = PAPER_SHARE if paper or full_length else few
    if target_sum is not None and values != "counts":
        raise ValueError(f"target_sum must be None unless the values are counts, got {target_sum} for {values} values")
    if values == "counts" and not paper:
        target_sum = _median_total(survey.totals) if target_sum is None else float(target_sum)
    base = None if values == "log" else 2.0 if paper else float(np.e)
    return Recipe(values, looked, min_cells, target_sum, base, preset or "none")


def _median_total(totals: np.ndarray) -> float:
    return float(np.median(totals[totals > 0])) if totals.any() else 1.0


def _kept_genes(seen: np.ndarray, n_cells: int, min_cells: float) -> np.ndarray:
    kept = seen >= min_cells if isinstance(min_cells, Integral) else seen / n_cells >= min_cells
    if not kept.any():
        raise ValueError(
            f"min_cells must leave genes, got {min_cells}: the most widely seen gene is in {seen.max()} of"
            f" {n_cells} cells"
        )
    return np.asarray(kept)


def _place_of_raw(adata: AnnData, layer: str | None, raw_layer: str | None, changes: bool) -> str:
    if not changes:
        return "X"
    if layer is not None:
        return f"layers[{layer!r}]"
    if raw_layer is None:
        return "nowhere"
    if raw_layer in adata.layers:
        raise ValueError(
            f"raw_layer must be a new layer, got {raw_layer!r}, which adata.layers has: start from it again with"
            f" layer={raw_layer!r}, or choose another name"
        )
    return NEW_LAYER


def _transform(X: Any, recipe: Recipe, kept: np.ndarray) -> Any:
    """New values for X on the genes kept, of the same storage; X itself stays as it is."""
    if recipe.log_base is None and kept.all():
        return X.copy()
    transform = Transform(recipe.target_sum, recipe.log_base, None if kept.all() else np.flatnonzero(kept))
    return transform(X.tocsr()).asformat(X.format) if sparse.issparse(X) else transform(X)


def _record(adata: AnnData, recipe: Recipe, kept: np.ndarray, where: str, how: dict[str, Any]) -> None:
    """Say what was done, or what is to be done as values are read, in ``uns`` and in the log."""
    if recipe.log_base is not None and not how["on_the_fly"]:
        adata.uns["log1p"] = {"base": recipe.log_base}  # where scanpy looks for it
    done = {
        "values": recipe.values,
        "values_from": recipe.values_from,
        "preset": recipe.preset,
        "min_cells": recipe.min_cells,
        "n_genes_given": len(kept),
        "n_genes_kept": int(kept.sum()),
        "target_sum": recipe.target_sum or 0.0,  # 0: depth as it was
        "log": recipe.log,
        "raw_values": where,
        **how,
    }
    write_preparation(adata, done)
    logger.info(describe(done))


def describe(done: dict[str, Any]) -> str:
    """What `prepare` did, or left to be done as values are read, from its record, in one line."""
    least, given, kept = done["min_cells"], done["n_genes_given"], done["n_genes_kept"]
    cells = f"{least} cells" if isinstance(least, Integral) else f"{100 * least:g}% of the cells"
    genes = (
        f"kept {kept:,} of {given:,} genes, those seen in at least {cells}" if kept < given else f"all {given:,} genes"
    )
    depth = f"depth scaled to {done['target_sum']:,.0f}" if done["target_sum"] else "depth as it was"
    log = "no further logarithm" if done["log"] == "none" else f"logarithm {done['log']}"
    guessed = done["values"] == "linear" and done["values_from"] != "the caller"
    hint = "; estimated or corrected counts need values='counts'" if guessed else ""  # they look like TPM
    kind = {"log": "logged", "linear": "linear (not logged)"}.get(done["values"], done["values"])
    return f"the values are {kind} (by {done['values_from']}); {genes}; {depth}; {log}{hint}"
