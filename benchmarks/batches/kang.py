"""Blood cells with and without interferon: types found with and without the condition named, beside Harmony.

``GENESIEVE_HARMONY_PYTHON`` names a Python that has scanpy and harmonypy; without it, this one is tried.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness.data import DATA
from benchmarks.harness.elsewhere import installed_there, run_python

if TYPE_CHECKING:
    from anndata import AnnData

N_TYPES, COLUMN = 8, "condition"
PYTHON = "GENESIEVE_HARMONY_PYTHON"
SCRIPT = Path(__file__).with_name("harmony_script.py")
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
    import pandas as pd

    versions = installed_there(PYTHON, "harmonypy")() | installed_there(PYTHON, "scanpy")()
    with TemporaryDirectory() as name:
        adata.write_h5ad(Path(name) / "cells.h5ad")
        run_python(PYTHON, str(SCRIPT), name, COLUMN, str(seed), *map(str, RESOLUTIONS))
        labels = pd.read_csv(Path(name) / "labels.csv", dtype=str)
        spent = json.loads((Path(name) / "spent.json").read_text())
    tried = [{**scores(adata, labels[resolution]), **spent[resolution]} for resolution in labels]
    return {**max(tried, key=lambda trial: trial["cell_type"]), "versions": versions}
