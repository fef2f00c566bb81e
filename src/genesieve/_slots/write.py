"""Writing a fit and what was found in it, as plain types that every file format holds."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._colors import distinct_colors, matching_colors
from genesieve._slots.keys import PREPARE, Keys
from genesieve._slots.read import Fit, read_projection
from genesieve.core.objective import gram_of, pack_penalty
from genesieve.estimators._parameters import RECORDED
from genesieve.estimators.ssnmf import SSNMF
from genesieve.interpret.genes import selected_genes
from genesieve.interpret.graph import Clusters, Reference
from genesieve.interpret.labels import Labelling
from genesieve.interpret.outliers import Outliers
from genesieve.selection.choose import Selection

if TYPE_CHECKING:
    from anndata import AnnData

BUDGETS = {"rows": "_l20", "columns": "_lc0", "entries": "_l0", None: ""}


def write_fit(adata: AnnData, key: str, model: SSNMF, H: np.ndarray, given: np.ndarray, source: dict[str, Any]) -> None:
    """Fill the slots of a fit; ``source`` says where the values came from. What an older fit led to is removed."""
    keys = Keys(key)
    _forget(adata, keys)
    weights = np.zeros((adata.n_vars, H.shape[1]), dtype=model.components_.dtype)
    weights[given] = model.components_.T
    adata.varm[keys.weights] = weights
    adata.var[keys.selected] = selected_genes(weights)
    adata.var[keys.given] = given
    if model.gene_weights_ is not None:
        gene_weights = np.zeros(adata.n_vars)
        gene_weights[given] = model.gene_weights_
        write_gene_weights(adata, key, gene_weights)
    if model.batches_ is not None:
        scales, levels = np.ones((adata.n_vars, len(model.batches_))), np.ones(adata.n_vars)
        scales[given], levels[given] = model.batch_scales_.T, model.gene_levels_
        write_batch_scales(adata, key, scales, levels)
    _write_usages(adata, keys, H, Labelling(model.labels_, model.confidence_, model.cluster_centers_))
    arrays = {"cluster_centers": model.cluster_centers_, "stability": model.stability_}
    batches = {} if model.batches_ is None else {"batches": np.asarray(model.batches_, dtype=str)}
    variation = getattr(model, "explained_variation_", None)
    adata.uns[keys.fit] = {
        **{name: array for name, array in arrays.items() if array is not None},
        **batches,
        "params": {**_pack_params(model), **source},
        "objective": float(model.objective_),
        "history": {name: np.asarray(course) for name, course in model.history_.items()},
        "method": _method(model),
        "gene_gram": gram_of(model.components_.T),
        "converged": bool(model.converged_),
        "reconstruction_err": float(model.reconstruction_err_),
        "explained": float(model.explained_),
        **({"explained_variation": float(variation)} if variation is not None else {}),
    }


def write_usual_fit(adata: AnnData, key: str, usual: dict[str, float]) -> None:
    """Keep how well programs describe the cells of the fit, which new cells are held against."""
    adata.uns[Keys(key).fit]["usual_fit"] = usual


def write_cell_fit(adata: AnnData, key: str, explained: np.ndarray, poor: np.ndarray) -> None:
    """Keep how well programs describe new cells, and which of them they hardly describe."""
    adata.obs[Keys(key).explained] = explained
    adata.obs[Keys(key).poor_fit] = poor


def write_gene_weights(adata: AnnData, key: str, gene_weights: np.ndarray) -> None:
    """Keep the weights of the genes in the fit."""
    adata.var[Keys(key).gene_weights] = gene_weights


def write_batch_scales(adata: AnnData, key: str, scales: np.ndarray, levels: np.ndarray) -> None:
    """Keep the scales of the genes in the batches of a fit (genes, batches), and what new ones are measured by."""
    adata.varm[Keys(key).batch_scales] = scales
    adata.var[Keys(key).levels] = levels


def write_scores(adata: AnnData, key: str, scores: np.ndarray, p_values: np.ndarray | None) -> None:
    """Keep how much every gene belongs to every program; markers of other scores are removed."""
    keys = Keys(key)
    _forget_scores(adata, keys)
    adata.uns.pop(keys.markers, None)
    adata.varm[keys.scores] = scores
    if p_values is not None:
        adata.varm[keys.score_p_values] = p_values


def write_map(adata: AnnData, key: str) -> np.ndarray:
    """Room for where cells stand on the map, kept as scanpy keeps embeddings; NaN for those that are not shown."""
    adata.obsm[Keys(key).cell_map] = np.full((adata.n_obs, 2), np.nan, dtype=np.float32)
    return np.asarray(adata.obsm[Keys(key).cell_map])


def write_clusters(
    adata: AnnData,
    key: str,
    found: Clusters,
    reference: Reference | None = None,
    directions: np.ndarray | None = None,
) -> None:
    """Keep the clusters of the cells, and what new cells follow: cells along ``directions`` of the selected genes."""
    keys = Keys(key)
    _forget_clusters(adata, keys)
    _write_cluster_columns(adata, keys, found, reference)
    if reference is None or directions is None:
        return
    write_directions(adata, key, directions)
    adata.uns[keys.fit]["clusters"] = {
        "usages": reference.cells.usages.astype(np.float32),
        "scores": np.asarray(reference.cells.scores, dtype=np.float32),
        "labels": reference.labels.astype(np.int32),
        "n_clusters": reference.n_clusters,
    }


def write_directions(adata: AnnData, key: str, directions: np.ndarray) -> None:
    """Keep directions (selected genes, width) for all genes, zero on the others."""
    everywhere = np.zeros((adata.n_vars, directions.shape[1]), dtype=np.float32)
    everywhere[selected_genes(np.asarray(adata.varm[Keys(key).weights]))] = directions
    adata.varm[Keys(key).directions] = everywhere


def _write_cluster_columns(adata: AnnData, keys: Keys, found: Clusters, reference: Reference | None) -> None:
    n_clusters = int(found.labels.max()) + 1 if reference is None else reference.n_clusters
    names = [str(i) for i in range(n_clusters)]
    write_groups(adata, keys.cluster, found.labels, names, _cluster_colors(n_clusters, reference))
    adata.obs[keys.cluster_confidence] = found.confidence


def _cluster_colors(n_clusters: int, reference: Reference | None) -> list[str]:
    """By the cells that others follow, so that new cells have the colours of the fit."""
    if reference is None:
        return distinct_colors(n_clusters)
    usages = reference.cells.usages
    return matching_colors(reference.labels, n_clusters, usages.argmax(axis=1), usages.shape[1])


def write_projection(
    adata: AnnData, key: str, fit: Fit, H: np.ndarray, found: Labelling, clusters: Clusters | None
) -> None:
    """Fill the slots of new cells, scored with the programs of a fit and put into its clusters."""
    keys = Keys(key)
    _write_usages(adata, keys, H, found)
    _forget_clusters(adata, keys)
    if clusters is not None:
        _write_cluster_columns(adata, keys, clusters, fit.reference)
    centers = {} if fit.centers is None else {"cluster_centers": fit.centers}
    adata.uns[keys.fit] = {"method": "projection", "gene_gram": gram_of(fit.weights), **centers}


def write_catalogue_usages(
    adata: AnnData, key: str, H: np.ndarray, found: Labelling, names: list[str], gene_gram: np.ndarray
) -> None:
    """Fill the slots of cells that were scored with the named programs of a catalogue."""
    _forget(adata, Keys(key))
    _write_usages(adata, Keys(key), H, found)
    adata.uns[Keys(key).fit] = {"method": "catalogue", "gene_gram": gene_gram}
    write_found(adata, key, annotation=pd.DataFrame({"program": np.arange(len(names)), "name": names}))
    rename_labels(adata, key, names)


def _write_usages(adata: AnnData, keys: Keys, H: np.ndarray, found: Labelling) -> None:
    """Usages, and the labels that follow from them."""
    n_labels = H.shape[1] if found.centers is None else len(found.centers)
    adata.obsm[keys.usages] = H
    adata.obs[keys.labels] = pd.Categorical.from_codes(found.labels, categories=[str(i) for i in range(n_labels)])
    adata.obs[keys.confidence] = found.confidence


def write_found(adata: AnnData, key: str, **found: Any) -> None:
    """Keep copies of what was found in a fit in ``uns``: tables and records, by their names in `Keys`."""
    for name, value in found.items():
        adata.uns[getattr(Keys(key), name)] = value.copy()


def write_selection(adata: AnnData, key: str, found: Selection, names: pd.Index) -> None:
    """Keep how many programs and genes are suggested, and the evidence; ``names`` are of the genes looked at."""
    table, genes = pd.DataFrame(found.ranks), pd.DataFrame(found.genes)
    if len(genes):
        genes["gene"] = names.astype(str).to_numpy(dtype=object)[genes["gene"]]
    for frame in (table, genes):
        frame.index = frame.index.astype(str)
    record = {
        "suggested": {"n_components": found.n_components, "n_genes": found.n_genes},
        "table": table,
        "genes": genes,
        "signals": found.signals,
        "clear": found.clear,
        "reason": found.reason,
        "values": found.values,
        "n_cells": found.n_cells,
    }
    write_found(adata, key, select=record)


def write_path(adata: AnnData, key: str, rows: dict[str, np.ndarray]) -> None:
    """Keep how fits with smaller budgets do."""
    table = pd.DataFrame(rows)
    table.index = table.index.astype(str)
    write_found(adata, key, path=table)


def write_outliers(adata: AnnData, key: str, found: Outliers, rule: dict[str, float]) -> None:
    """Mark the cells that use no program much; the rule is kept with what it found."""
    adata.obs[Keys(key).outlier] = found.flagged
    adata.obs[Keys(key).outlier_score] = found.score
    measured = {"ratio": found.ratio, "separation": found.separation, "typical": found.typical}
    write_found(adata, key, outlier_rule={**rule, **measured})


def rename_labels(adata: AnnData, key: str, names: Sequence[str]) -> None:
    """Name the categories of the labels after their programs, where they are programs; an empty name changes none."""
    fit, column = read_projection(adata, key), Keys(key).labels
    labels = fit.of_cells("labels").astype("category")
    pairs = zip(fit.categories, names, strict=True)
    renamed = {labels.cat.categories[category]: name for category, name in pairs if category >= 0 and name}
    kept = set(labels.cat.categories) - set(renamed)
    clashing = kept & set(renamed.values())
    if clashing:
        raise ValueError(f"names must be new to adata.obs[{column!r}], got {sorted(clashing)[0]!r}, which is there")
    adata.obs[column] = labels.cat.rename_categories(renamed)


def write_preparation(adata: AnnData, recipe: dict[str, Any]) -> None:
    """Keep what was done to values, or is to be done as they are read."""
    adata.uns[PREPARE] = recipe


def bare_fit(
    key: str, genes: Sequence[str] | np.ndarray, weights: np.ndarray, usages: np.ndarray, record: dict[str, Any]
) -> AnnData:
    """An object that holds a fit on its selected genes and nothing else."""
    from anndata import AnnData

    keys = Keys(key)
    return AnnData(
        obs=pd.DataFrame(index=np.arange(len(usages)).astype(str)),
        var=pd.DataFrame({keys.selected: True}, index=pd.Index(genes, dtype=object)),
        obsm={keys.usages: usages},
        varm={keys.weights: weights},
        uns={keys.fit: record},
    )


def write_groups(adata: AnnData, column: str, of_cell: np.ndarray, names: list[str], colors: list[str]) -> None:
    """A column of ``obs`` (-1: a cell without a group), with its colours where scanpy keeps them."""
    adata.obs[column] = pd.Categorical.from_codes(of_cell, categories=names)
    adata.uns[f"{column}_colors"] = colors


def _pack_params(model: SSNMF) -> dict[str, Any]:
    """Parameters that say what was fitted. None is written as no entry: not every file format has it."""
    params = {name: getattr(model, name) for name in RECORDED}
    if not isinstance(params["init"], str):
        params["init"] = "given"
    params |= {"n_components": model.n_components_, "n_genes": model.n_genes_}
    params["orthogonality"] = model.orthogonality_  # what "auto" stood for
    params["baseline"] = model.baseline_  # where it applies
    weighted, named = model.gene_weights_ is not None, isinstance(model.gene_weights, str)
    params["gene_weights"] = "none" if not weighted else "variation" if named else "given"
    if not isinstance(params["random_state"], Integral):
        params["random_state"] = None
    written = {name: value for name, value in params.items() if value is not None}
    return {**written, "gauge_scale": np.asarray(model.gauge_scale_), "penalty": pack_penalty(model.penalty_)}


def _method(model: SSNMF) -> str:
    """The model's name as the paper builds it: nmf, nmf_l20, onmf_l20, onmf_l20_rho and so on."""
    budget = BUDGETS[model.sparsity if model.n_genes_ is not None else None]
    if model.orthogonality_ == "exact":
        return f"onmf{budget}"
    return f"onmf{budget}_rho" if float(model.orthogonality_) > 0 else f"nmf{budget}"


def _forget(adata: AnnData, keys: Keys) -> None:
    """Remove what was derived from an older fit under the same key."""
    for name in keys.derived:
        adata.uns.pop(name, None)
    _forget_scores(adata, keys)
    _forget_clusters(adata, keys)
    if keys.cell_map in adata.obsm:
        del adata.obsm[keys.cell_map]
    if keys.batch_scales in adata.varm:
        del adata.varm[keys.batch_scales]
    _forget_columns(adata.obs, keys.outlier, keys.outlier_score, keys.explained, keys.poor_fit)
    _forget_columns(adata.var, keys.gene_weights, keys.levels)


def _forget_columns(frame: Any, *names: str) -> None:
    for name in names:
        if name in frame:
            del (frame if isinstance(frame, pd.DataFrame) else frame.ds)[name]  # lazy: an xarray Dataset


def _forget_clusters(adata: AnnData, keys: Keys) -> None:
    """Remove clusters, and what others would follow."""
    _forget_columns(adata.obs, keys.cluster, keys.cluster_confidence)
    adata.uns.pop(f"{keys.cluster}_colors", None)
    adata.uns.get(keys.fit, {}).pop("clusters", None)
    if keys.directions in adata.varm:
        del adata.varm[keys.directions]


def _forget_scores(adata: AnnData, keys: Keys) -> None:
    for name in (keys.scores, keys.score_p_values):
        if name in adata.varm:
            del adata.varm[name]
