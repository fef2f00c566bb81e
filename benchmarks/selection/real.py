"""Labelled data: labels from the suggested numbers beside labels from the true number of classes and 2,000 genes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness.results import Record
from benchmarks.quality.data import SETS, load

FINE = "cell_type"  # the column of finer classes, where the classes are of another


def measure(name: str, seed: int) -> Record:
    """Agreement with the known types, both ways."""
    import genesieve as gs

    X, classes = load(name).cells.X, load(name).classes
    began = time.process_time()
    usual = _fit(name, classes, seed)
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
        **_by_finer_classes(name, chosen, seed),
    }


def _fit(name: str, classes: np.ndarray, seed: int) -> Any:
    """With as many programs as classes."""
    import genesieve as gs

    cells = load(name).cells
    return gs.SSNMF(len(np.unique(classes)), n_genes=cells.budget(), random_state=seed).fit(cells.X)


def _by_finer_classes(name: str, chosen: Any, seed: int) -> Record:
    """The same against finer classes that some data have, too."""
    import genesieve as gs

    if SETS[name].classes == FINE:
        return {}
    classes = SETS[name].read().obs[FINE].astype(str).to_numpy()
    return {
        "fine_classes": len(np.unique(classes)),
        "fine_nmi": float(gs.metrics.nmi(classes, chosen.labels_)),
        "fine_nmi_usual": float(gs.metrics.nmi(classes, _fit(name, classes, seed).labels_)),
    }
