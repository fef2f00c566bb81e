"""Labelled data: labels from the suggested numbers beside labels from the true number of classes and 2,000 genes."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.harness.results import Record
from benchmarks.quality.data import load


def measure(name: str, seed: int) -> Record:
    """Agreement with the known types, both ways."""
    import genesieve as gs

    labelled = load(name)
    X, classes = labelled.cells.X, labelled.classes
    began = time.process_time()
    usual = gs.SSNMF(len(np.unique(classes)), n_genes=labelled.cells.budget(), random_state=seed).fit(X)
    fitted = time.process_time()
    chosen = gs.SSNMF("auto", n_genes="auto", random_state=seed).fit(X)
    return {
        "classes": len(np.unique(classes)),
        "rank": chosen.n_components_,
        "genes": int(chosen.n_genes_),
        "signals": chosen.selection_.signals,
        "table": {name: chosen.selection_.ranks[name].tolist() for name in ("size", "agreement")},
        "cpu_seconds": time.process_time() - fitted,
        "cpu_seconds_usual": fitted - began,
        "nmi": float(gs.metrics.nmi(classes, chosen.labels_)),
        "nmi_usual": float(gs.metrics.nmi(classes, usual.labels_)),
    }
