"""Samples with known programs and planted effects on genes: what a fit recovers, and whether it tells batches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anndata import AnnData

LEVELS = ("easy", "medium")
EFFECTS = (0.15, 0.3, 0.5)
N_BATCHES, N_TYPES, N_ACTIVITIES, N_PRIVATE = 8, 8, 3, 1
RANK, BUDGET = N_TYPES + N_ACTIVITIES, 500
SIZE = {"n_cells": 3000, "n_genes": 4000}
# Genes are kept that this share of the cells shows. By its own rule preparing keeps these in most draws, as cells show
# 20 % of so few genes; a draw just below that would have three times as many to choose from.
MIN_CELLS = 0.3
# A pair of a type and a batch is asked about where both sides have so many cells.
LEAST_CELLS = 12


def measure(level: str, effect: float, seed: int, size: dict[str, Any]) -> dict[str, Any]:
    """Fits without effects, with effects and no word of them, and with the batches named."""
    free, affected = (draw(level, spread, seed, size) for spread in (0.0, effect))
    return {
        "free": fit(free, None),
        "ignored": fit(affected, None),
        "known": fit(affected, "batch"),
        "free_known": fit(free, "batch"),
    }


def draw(level: str, effect: float, seed: int, size: dict[str, Any]) -> AnnData:
    """Prepared counts; the effect changes nothing else."""
    import genesieve as gs

    kinds = {"n_types": N_TYPES, "n_activities": N_ACTIVITIES, "n_private": N_PRIVATE, "n_batches": N_BATCHES}
    adata = gs.datasets.programs(level, **(SIZE | size | kinds), batch_effect=effect, random_state=seed)
    gs.pp.prepare(adata, min_cells=MIN_CELLS)
    return adata


def fit(adata: AnnData, batch_key: str | None) -> dict[str, float]:
    """One fit and its scores."""
    import genesieve as gs

    began = time.perf_counter()
    gs.tl.ssnmf(adata, RANK, min(BUDGET, adata.n_vars // 2), batch_key=batch_key)
    seconds = time.perf_counter() - began
    usages, single = np.asarray(adata.obsm["X_ssnmf"], dtype=float), ~adata.obs["doublet"].to_numpy()
    types, batches = (adata.obs[name].cat.codes.to_numpy()[single] for name in ("cell_type", "batch"))
    planted = adata.varm["true_raised"].any(axis=1)
    return {
        "correlation": correlation(usages, np.asarray(adata.obsm["true_usages"])),
        "area": area(usages[single], types, batches),
        "planted": float(planted[adata.var["ssnmf_selected"].to_numpy()].mean()),
        "seconds": seconds,
    }


def correlation(usages: np.ndarray, true: np.ndarray) -> float:
    """The mean correlation of programs with the true ones, each matched to another."""
    from scipy.optimize import linear_sum_assignment

    found = np.nan_to_num(np.corrcoef(np.hstack([usages, true]).T)[: usages.shape[1], usages.shape[1] :])
    return float(found[linear_sum_assignment(-found)].mean())


def area(usages: np.ndarray, types: np.ndarray, batches: np.ndarray) -> float:
    """How well a linear classifier tells a batch from the others by the usages of cells of one type: 0.5 is not at all.

    The mean area under the curve over types and batches, on cells that the classifier was not trained on.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    shares, areas = usages / np.maximum(usages.sum(axis=1, keepdims=True), 1e-12), []
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, class_weight="balanced"))
    for cells in (types == number for number in np.unique(types)):
        for inside in (batches[cells] == number for number in np.unique(batches)):
            if min(inside.sum(), (~inside).sum()) >= LEAST_CELLS:
                folds = StratifiedKFold(5, shuffle=True, random_state=0)
                by = cross_val_predict(model, shares[cells], inside, cv=folds, method="decision_function")
                areas.append(roc_auc_score(inside, by))
    return float(np.mean(areas)) if areas else float("nan")
