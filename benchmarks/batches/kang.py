"""Blood cells with and without interferon: types found with and without the condition named, beside Harmony."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness.data import DATA
from benchmarks.harness.peers import packages

if TYPE_CHECKING:
    from anndata import AnnData

N_TYPES, COLUMN = 8, "condition"
WARM_UP = 2500  # cells: enough for every step of a fit
# Genes that interferon raises in every cell: the program that has most of them is the interferon program.
INTERFERON = ("ISG15", "IFI6", "ISG20", "IFIT3", "IFIT1", "MX1", "LY6E", "IFIT2", "OAS1", "IFI44L")
RESOLUTIONS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.0)
FITS: dict[str, dict[str, Any]] = {
    "ignored": {},
    "known": {"batch_key": COLUMN},
    "ignored_graph": {"labels": "leiden"},
    "known_graph": {"batch_key": COLUMN, "labels": "leiden"},
}


def measure(how: str, seed: int) -> dict[str, Any]:
    """One fit, or the peer."""
    adata = DATA["kang"].read()
    return harmony(adata, seed) if how == "harmony" else fit(adata, how, seed)


def fit(adata: AnnData, how: str, seed: int) -> dict[str, Any]:
    """All that a user waits for, from counts to labels."""
    import genesieve as gs

    few = gs.pp.prepare(adata[:WARM_UP], copy=True)  # compiled code is read before the clock runs
    gs.tl.ssnmf(few, N_TYPES, few.n_vars, **FITS[how])
    began, worked = time.perf_counter(), time.process_time()
    gs.pp.prepare(adata)
    gs.tl.ssnmf(adata, N_TYPES, adata.n_vars, random_state=seed, **FITS[how])
    spent = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - worked}
    return {**scores(adata, adata.obs["ssnmf"]), **spent, **interferon(adata)}


def scores(adata: AnnData, labels: Any) -> dict[str, float]:
    """Agreement with the types, and with the condition."""
    from genesieve.metrics import nmi

    found = np.asarray(labels, dtype=str)
    return {name: nmi(adata.obs[name].to_numpy(str), found) for name in ("cell_type", COLUMN)}


def interferon(adata: AnnData) -> dict[str, float]:
    """How many of the interferon genes are strongest in one program, and how well its usage tells the condition."""
    from sklearn.metrics import roc_auc_score

    weights = adata.varm["ssnmf"][adata.var_names.isin(INTERFERON)]
    strongest = np.bincount(weights.argmax(axis=1), minlength=weights.shape[1])
    usage = adata.obsm["X_ssnmf"][:, strongest.argmax()]
    area = roc_auc_score(adata.obs[COLUMN].to_numpy(str) == "stimul", usage)
    return {"interferon": float(strongest.max() / len(weights)), "interferon_area": float(area)}


def harmony(adata: AnnData, seed: int) -> dict[str, Any]:
    """Scanpy's usual way with Harmony, Leiden at the resolution that agrees best with the types."""
    versions = packages("harmonypy", "scanpy", "igraph")()
    import harmonypy
    import scanpy as sc

    warnings.simplefilter("ignore")
    began, worked = time.perf_counter(), time.process_time()
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    sc.pp.scale(adata, max_value=10)
    sc.tl.pca(adata, n_comps=30, random_state=seed)
    found = np.asarray(harmonypy.run_harmony(adata.obsm["X_pca"], adata.obs, COLUMN, random_state=seed).Z_corr)
    adata.obsm["X_harmony"] = found if len(found) == adata.n_obs else found.T
    sc.pp.neighbors(adata, use_rep="X_harmony", random_state=seed)
    graph, cpu, tried = time.perf_counter() - began, time.process_time() - worked, []
    for resolution in RESOLUTIONS:
        began, worked = time.perf_counter(), time.process_time()
        options: dict[str, Any] = {"flavor": "igraph", "n_iterations": 2, "directed": False, "random_state": seed}
        sc.tl.leiden(adata, resolution=resolution, key_added="found", **options)
        spent = {"seconds": graph + time.perf_counter() - began, "cpu": cpu + time.process_time() - worked}
        tried.append({**scores(adata, adata.obs["found"]), **spent})
    return {**max(tried, key=lambda trial: trial["cell_type"]), "versions": versions}
