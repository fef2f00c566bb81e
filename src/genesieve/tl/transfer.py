"""Taking programs elsewhere: to new cells."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import check_unique_genes, kind_of_values, own, read_values, select_genes
from genesieve._checks import check_choice, listing
from genesieve._slots.read import Fit, read_fit, table_of
from genesieve._slots.write import write_cell_fit, write_projection
from genesieve.core.batches import Scaling
from genesieve.core.cells.streamed import as_source
from genesieve.core.schedule import score_cells
from genesieve.estimators._batches import Batches, one_new_batch
from genesieve.interpret.cell_fit import FOREIGN, agreement_by_group, explained_by_cell
from genesieve.interpret.labels import label_cells, nearest
from genesieve.tl.fit import read_batch_column

if TYPE_CHECKING:
    from anndata import AnnData

logger = logging.getLogger(__name__)

ENOUGH_GENES = 0.5  # share of the model's genes below which a projection is warned of
MANY_POOR = 0.2  # share of new cells that programs may describe poorly without a word; of the fit's own it is below 1 %


def project(
    adata: AnnData,
    model: AnnData,
    *,
    key: str = "ssnmf",
    key_added: str | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    missing: str = "error",
    batch_key: str | None = None,
    n_jobs: int | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Score new cells with the programs of a fit.

    Genes are matched by name, and only the selected ones are needed. The new values must be prepared as those of the
    fit were.

    Parameters
    ----------
    adata
        New cells.
    model
        An AnnData with a fit, from `genesieve.tl.ssnmf`.
    key
        Name of the fit in ``model``.
    key_added
        Name of the slots in ``adata``; ``None`` takes ``key``.
    layer, use_raw
        Which values of ``adata`` to read, as in `genesieve.tl.ssnmf`.
    missing
        What to do about selected genes that ``adata`` lacks: ``"error"``; ``"zero"``, they were measured and not seen
        (say, dropped by a filter); ``"ignore"``, they were not measured: cells are scored by the other genes.
    batch_key
        For a fit that knew batches, the column of ``adata.obs`` with those of the new cells. Batches of the fit have
        their scales from there; those of a new batch are found from its cells and the programs. ``None``: the column of
        the fit's name, if there is one, else all new cells are one new batch.
    n_jobs
        Threads; ``None`` or -1 uses every core there is.
    copy
        Return a copy with the result instead of working in place.

    Returns
    -------
    AnnData or None
        The copy with ``copy=True``. Sets ``obsm["X_ssnmf"]``, ``obs["ssnmf"]`` (for a fit with cluster labels, the
        cluster whose mean usages are most alike), ``obs["ssnmf_confidence"]``, and in ``uns["ssnmf"]`` what
        `genesieve.tl.outliers` needs. How well the programs describe a cell is in ``obs["ssnmf_explained"]``, the
        share of its expression of the selected genes that they reproduce, and ``obs["ssnmf_poor_fit"]`` marks cells
        with less of it than nearly all of those of the fit, and cells with a label whose mean expression correlates by
        less than 0.4 with what the programs predict (not for fits with batches).

    Warns
    -----
    UserWarning
        If more than half of the model's genes are missing, or more than a fifth of the cells are poorly described:
        new types get the label of the least unlike program, whatever they are.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> old, new = adata[:600].copy(), adata[600:].copy()
    >>> gs.tl.ssnmf(old, 4, 50)
    >>> gs.tl.project(new, old)
    >>> new.obsm["X_ssnmf"].shape
    (100, 4)
    """
    check_choice("missing", missing, ["error", "zero", "ignore"])
    fit = read_fit(model, key, name="model")
    adata = own(adata, copy=copy)
    for name, data in (("model", model), ("adata", adata)):
        check_unique_genes(data, name)
    genes = model.var_names[fit.selected]
    columns = adata.var_names.get_indexer(genes)  # -1: not there
    there = columns >= 0
    _check_missing(adata, genes, there, missing)
    X = read_values(adata, layer=layer, use_raw=use_raw)
    _check_same_kind(X, fit)
    scored = there if missing == "ignore" else np.ones(len(there), dtype=bool)
    H = score_cells(
        select_genes(X, columns[there]),
        fit.weights[fit.selected][scored],
        measured=there[scored],
        scale=fit.scale,
        penalty=fit.penalty,
        gene_weights=None if fit.gene_weights is None else fit.gene_weights[fit.selected][scored],
        scaling=_scaling(adata, fit, batch_key, scored, key_added or key),
        n_jobs=n_jobs,
    )
    found = label_cells(H, "argmax") if fit.centers is None else nearest(H, fit.centers)
    write_projection(adata, key_added or key, fit, H, found)
    _tell_fit(adata, key_added or key, fit, X, columns, H)
    return adata if copy else None


def _tell_fit(adata: AnnData, key: str, fit: Fit, X: Any, columns: np.ndarray, H: np.ndarray) -> None:
    """Keep how well the programs describe the new cells beside those of the fit, and warn where that is poorly."""
    there = columns >= 0
    if there.mean() < ENOUGH_GENES:
        message = (
            f"cells are scored by {there.sum()} of the model's {len(there)} genes: usages and labels rest on little"
        )
        warnings.warn(message, UserWarning, stacklevel=3)
    usual = fit.record.get("usual_fit")
    if usual is None:  # of a fit with batches, or of an older version
        return
    W = fit.weights[fit.selected][there]
    weights = None if fit.gene_weights is None else fit.gene_weights[fit.selected][there]
    source = as_source(select_genes(X, columns[there]))
    explained = explained_by_cell(source, W, H, weights)
    agreement = agreement_by_group(source, W, H, H.argmax(axis=1), weights)[H.argmax(axis=1)]
    poor = (explained < float(usual["low"])) | (agreement < FOREIGN)
    write_cell_fit(adata, key, explained, poor)
    if poor.mean() > MANY_POOR:
        _warn_poor(poor, agreement, explained, usual)


def _warn_poor(poor: np.ndarray, agreement: np.ndarray, explained: np.ndarray, usual: dict[str, Any]) -> None:
    """Say that labels of many cells mean little."""
    foreign = agreement[agreement < FOREIGN]
    means = (
        f": the mean expression of cells with one label correlates by {foreign.max():.2f} at most with what the"
        " programs predict, that of the fit's own by 0.95 and more"
        if len(foreign)
        else ""
    )
    message = (
        f"the programs do not describe {poor.mean():.0%} of the new cells, and their labels are not to be relied on;"
        f" types that the fit has not seen, or values prepared otherwise{means}; median share explained"
        f" {np.median(explained):.2f}, in the fit {float(usual['median']):.2f}"
    )
    warnings.warn(message, UserWarning, stacklevel=4)


def _scaling(adata: AnnData, fit: Fit, batch_key: str | None, scored: np.ndarray, key: str) -> Scaling | None:
    """How new cells are scaled on the genes scored; None for a fit that knew no batches."""
    if fit.batches is None:
        if batch_key is not None:
            raise ValueError(f"batch_key must be None for a fit without batches, got {batch_key!r}")
        return None
    known, levels = fit.batch_scales[fit.selected][scored].T, fit.levels[fit.selected][scored]
    return _batches_of(adata, fit, batch_key, key).scaling(fit.batches, known, levels)


def _batches_of(adata: AnnData, fit: Fit, batch_key: str | None, key: str) -> Batches:
    of_fit = fit.params.get("batch_key")
    if batch_key is None and of_fit in table_of(adata.obs):
        batch_key = of_fit
    if batch_key is None:
        return one_new_batch(adata.n_obs)
    return read_batch_column(adata, batch_key, key)


def _check_missing(adata: AnnData, genes: pd.Index, there: np.ndarray, missing: str) -> None:
    if not there.any():
        raise ValueError(
            f"adata must have the model's genes, got none of its {len(genes)} selected ones: the model has names like"
            f" {listing(genes[:3])}, adata like {listing(adata.var_names[:3])}"
        )
    if there.all():
        return
    lacking = (
        f"adata lacks {np.count_nonzero(~there)} of the model's {len(genes)} selected genes: {listing(genes[~there])}"
    )
    if missing == "error":
        raise ValueError(
            f"{lacking}; if gs.pp.prepare dropped them, prepare with min_cells=0; pass missing='zero' if they were"
            " measured and not seen, missing='ignore' if not measured"
        )
    logger.info("%s; missing=%r", lacking, missing)


def _check_same_kind(X: Any, fit: Fit) -> None:
    values, fitted = kind_of_values(X), fit.params.get("values", "log")
    if values != fitted:
        message = f"the model was fitted to {fitted} values, the new ones look like {values}; prepare them alike"
        warnings.warn(message, UserWarning, stacklevel=3)
