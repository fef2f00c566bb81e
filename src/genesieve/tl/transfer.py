"""Taking programs elsewhere: to new cells."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import check_unique_genes, kind_of_values, own, read_values, select_genes
from genesieve._checks import check_choice, listing
from genesieve._slots.read import Fit, read_fit
from genesieve._slots.write import write_cell_fit, write_projection
from genesieve.core.batches import Scaling
from genesieve.core.cells.streamed import as_source
from genesieve.core.usages import score_cells
from genesieve.interpret.cell_fit import FOREIGN, agreement_by_group, explained_by_cell
from genesieve.interpret.graph import Clusters, together
from genesieve.interpret.labels import Labelling, label_cells, nearest
from genesieve.tl._batches import scaling_for, with_new_batches
from genesieve.tl._graph_cells import Sight

if TYPE_CHECKING:
    from anndata import AnnData

logger = logging.getLogger(__name__)

ENOUGH_GENES = 0.5  # share of the model's genes below which a projection is warned of
FEWEST_GENES = 2  # a program, of those that new cells have: with fewer, none of them counts as well described
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
        The copy with ``copy=True``. Sets ``obsm["X_ssnmf"]``, ``obs["ssnmf"]`` (for a fit with k-means labels, the
        cluster whose mean usages are most alike), ``obs["ssnmf_confidence"]``, and in ``uns["ssnmf"]`` what
        `genesieve.tl.outliers` needs. For a fit with clusters, ``obs["ssnmf_cluster"]`` is the cluster of most of the
        nearest cells of the fit, in usages and along the leading directions of the selected genes, and
        ``obs["ssnmf_cluster_confidence"]`` by how much of itself it is ahead of the next. How well the programs
        describe a cell is in ``obs["ssnmf_explained"]``, the share of its expression of the selected genes that they
        reproduce, and ``obs["ssnmf_poor_fit"]`` marks cells with less of it than nearly all of those of the fit, and
        cells with a label whose mean expression correlates by less than 0.4 with what the programs predict (not for
        fits with batches); all of them where there are fewer than two genes a program to tell by.

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
    scaling, values = scaling_for(adata, fit, batch_key, scored, key_added or key), select_genes(X, columns[there])
    if scaling is not None:
        scaling = with_new_batches(as_source(values, n_jobs=n_jobs), fit, scaling, scored, there[scored])
    H = score_cells(
        values,
        fit.weights[fit.selected][scored],
        measured=there[scored],
        scale=fit.scale,
        penalty=fit.penalty,
        gene_weights=None if fit.gene_weights is None else fit.gene_weights[fit.selected][scored],
        scaling=scaling,
        n_jobs=n_jobs,
    )
    clusters = _follow(fit, values, there, scaling, missing, n_jobs)
    write_projection(adata, key_added or key, fit, H, _labels(fit, H, clusters), clusters)
    _tell_fit(adata, key_added or key, fit, X, columns, H)
    return adata if copy else None


def _follow(
    fit: Fit, values: Any, there: np.ndarray, scaling: Scaling | None, missing: str, n_jobs: int | None
) -> Clusters | None:
    """Clusters of new cells: those of the nearest cells of the fit, as its graph looked at them; None without.

    ``values`` are those of the selected genes that are ``there``.
    """
    reference = fit.reference
    if reference is None:
        return None
    sight = Sight.of_fit(fit, fit.directions[fit.selected])
    source = as_source(values, n_jobs=n_jobs)
    if scaling is not None:
        source = scaling.on(source, there[there] if missing == "ignore" else there)
    sight = sight.on(there, zero_elsewhere=missing == "zero")
    return together(sight.each(source, reference.follow, n_jobs=n_jobs))


def _labels(fit: Fit, H: np.ndarray, clusters: Clusters | None) -> Labelling:
    """Labels by the rule of the fit."""
    if fit.centers is None:
        return label_cells(H, "argmax")
    if clusters is not None and fit.params.get("labels") == "leiden":
        return Labelling(*clusters, fit.centers)
    return nearest(H, fit.centers)


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
    too_few = there.sum() < FEWEST_GENES * fit.rank  # programs could describe anything so well
    poor = (explained < float(usual["low"])) | (agreement < FOREIGN) | too_few
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
