"""Counts with known programs: the suggested numbers beside the true ones, and a peer's rule on the same cells."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness.results import Record

LEVELS = ("easy", "medium", "hard")
SHAPES = ((5, 0), (8, 1), (12, 2), (20, 3))  # types and activities
# The rule of cNMF: starts of an NMF at every rank, spectra clustered, the rank with the highest silhouette.
STARTS = 10
BEYOND = 3  # ranks on either side of the truth that the peer is given


def ours(level: str, types: int, activities: int, seed: int, size: dict[str, Any]) -> Record:
    """The numbers that genesieve suggests."""
    import genesieve as gs

    adata = drawn(level, types, activities, seed, size)
    began = time.process_time()
    gs.tl.select(adata, random_state=0)
    seconds = time.process_time() - began
    found = adata.uns["ssnmf_select"]
    suggested = found["suggested"]
    raised = int(np.asarray(adata.varm["true_raised"]).any(axis=1).sum())
    return {
        "true_rank": types + activities,
        "rank": int(suggested["n_components"]),
        "true_genes": raised,
        "genes": int(suggested["n_genes"]),
        "signals": {name: int(number) for name, number in found["signals"].items()},
        "table": {name: found["table"][name].tolist() for name in ("size", "agreement")},
        "cpu_seconds": seconds,
        "cells_and_genes": list(adata.shape),
    }


def silhouette(level: str, types: int, activities: int, seed: int, size: dict[str, Any]) -> Record:
    """The rank with the highest silhouette of spectra over starts, as cNMF measures stability."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import NMF
    from sklearn.metrics import silhouette_score

    adata = drawn(level, types, activities, seed, size)
    counts = np.asarray(adata.layers["raw"].toarray(), dtype=np.float64)
    counts = counts[:, np.argsort(-adata.X.toarray().var(axis=0))[:1000]]
    X, true = counts / np.maximum(counts.std(axis=0), 1e-12), types + activities
    scores = {}
    for rank in range(max(2, true - BEYOND), true + BEYOND + 1):
        fits = [NMF(rank, init="random", max_iter=200, tol=1e-3, random_state=start).fit(X) for start in range(STARTS)]
        spectra = np.vstack([fit.components_ for fit in fits])
        spectra /= np.maximum(np.linalg.norm(spectra, axis=1, keepdims=True), 1e-12)
        labels = KMeans(rank, n_init=10, random_state=0).fit_predict(spectra)
        scores[rank] = float(silhouette_score(spectra, labels))
    return {"true_rank": true, "rank": max(scores, key=lambda rank: scores[rank]), "scores": scores}


def drawn(level: str, types: int, activities: int, seed: int, size: dict[str, Any]) -> Any:
    """Prepared counts with their truth."""
    import genesieve as gs

    adata = gs.datasets.programs(level, n_types=types, n_activities=activities, random_state=seed, **size)
    gs.pp.prepare(adata)
    return adata
