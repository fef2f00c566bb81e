"""The interferon program of Kang's cells, and whether it is called different between conditions, donors as replicates.

``GENESIEVE_KANG_DONORS`` names a folder with the donors that the authors' demuxlet found for the cells
(``ye1.ctrl.8.10.sm.best`` and ``ye2.stim.8.10.sm.best`` of github.com/yelabucsf/demuxlet_paper_code, fig3).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.batches.kang import COLUMN, N_TYPES
from benchmarks.harness.data import DATA
from benchmarks.harness.peers import Missing

if TYPE_CHECKING:
    from anndata import AnnData

FOLDER = "GENESIEVE_KANG_DONORS"
FILES = {"control": "ye1.ctrl.8.10.sm.best", "stimul": "ye2.stim.8.10.sm.best"}
# Genes that interferon raises in every cell: the program that has most of them is the interferon program.
GENES = ("ISG15", "IFI6", "ISG20", "IFIT3", "IFIT1", "MX1", "LY6E", "IFIT2", "OAS1", "IFI44L")
FITS: dict[str, dict[str, Any]] = {
    "bag": {},
    "donors": {"batch_key": "donor"},
    "activities": {"batch_key": "donor", "orthogonality": 0},
}


def measure(how: str, seed: int) -> dict[str, Any]:
    """One fit, its interferon program, and the comparison within donors."""
    import genesieve as gs

    adata = with_donors(DATA["kang"].read())
    gs.pp.prepare(adata)
    gs.tl.ssnmf(adata, N_TYPES, adata.n_vars, random_state=seed, **FITS[how])
    program, found = interferon_program(adata)
    table = gs.tl.compare(adata, COLUMN, "donor", covariates=["donor"], reference="control").iloc[program]
    fields = ("reference_mean", "mean", "low", "high", "p_adjusted")
    cells = {"n_cells": adata.n_obs, "n_donors": int(adata.obs["donor"].nunique())}
    return {**found, **cells, **{field: float(table[field]) for field in fields}}


def with_donors(adata: AnnData) -> AnnData:
    """The cells that have a donor; barcodes that both conditions have were renamed in the file, and are left out."""
    import pandas as pd

    folder = os.environ.get(FOLDER)
    if folder is None:
        raise Missing(f"{FOLDER} names no folder with the donors of Kang's cells")
    donors = pd.Series(index=adata.obs_names, dtype=object)
    for condition, file in FILES.items():
        told = pd.read_csv(Path(folder) / file, sep="\t", index_col="BARCODE", dtype=str)["BEST"]
        cells = (adata.obs[COLUMN] == condition).to_numpy()
        donors[cells] = told.reindex(adata.obs_names[cells]).to_numpy()
    single = donors.str.startswith("SNG-", na=False).to_numpy(bool)
    adata = adata[single].copy()
    adata.obs["donor"] = pd.Categorical(donors[single].str.removeprefix("SNG-"))
    return adata


def interferon_program(adata: AnnData) -> tuple[int, dict[str, float]]:
    """The program that most interferon genes are strongest in, and how well its usage tells the condition."""
    from sklearn.metrics import roc_auc_score

    weights = adata.varm["ssnmf"][adata.var_names.isin(GENES)]
    strongest = np.bincount(weights.argmax(axis=1), minlength=weights.shape[1])
    program = int(strongest.argmax())
    area = roc_auc_score(adata.obs[COLUMN].to_numpy(str) == "stimul", adata.obsm["X_ssnmf"][:, program])
    return program, {"strongest": int(strongest.max()), "n_interferon": len(weights), "area": float(area)}
