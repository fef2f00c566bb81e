"""One run with the seconds of its stages, or the outliers found in one set."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness.data import DATA
from benchmarks.harness.results import Record

if TYPE_CHECKING:
    from anndata import AnnData

RANK, GENES = 12, 2000
KEPT = 0.9  # of the transcripts of a cell that is drawn again, so that no two cells are the same
PAPER_RANK, PAPER_GENES = 3, 90  # on the paper's outlier data


def take(kind: str, **given: Any) -> Record:
    """Measure what was asked for."""
    return {"cost": cost, "drawn": drawn, "clean": clean}[kind](**given)


def cost(n_cells: int) -> Record:
    """Seconds of every stage of a run from a file, all outputs written."""
    from genesieve import workflow

    with TemporaryDirectory() as folder:
        file = Path(folder) / "cells.h5ad"
        marrow(n_cells).write_h5ad(file)
        outcome = workflow.run(file, Path(folder) / "out", rank=RANK, genes=GENES)
        files = {path.name: path.stat().st_size for path in outcome.folder.iterdir() if path.is_file()}
    return {"timings": outcome.record["timings"], "files": files}


def marrow(n_cells: int) -> AnnData:
    """The first bone marrow cells, or where more are asked for, cells drawn from all of them and thinned."""
    cells = DATA["bmmc"].read()
    if n_cells <= cells.n_obs:
        return cells[:n_cells].copy()
    rng = np.random.default_rng(0)
    more = cells[np.sort(rng.integers(cells.n_obs, size=n_cells))].copy()
    more.obs_names = [f"cell-{i}" for i in range(n_cells)]
    more.X.data = rng.binomial(more.X.data.astype(np.int64), KEPT).astype(np.float32)
    more.X.eliminate_zeros()
    return more


def drawn(n_seeds: int) -> Record:
    """Precision and recall on the paper's outlier data, and the share flagged of its data without outliers."""
    import genesieve as gs

    found, flagged_clean = [], []
    for seed in range(n_seeds):
        X, labels = gs.datasets.synthetic_outliers(random_state=seed)
        flagged, true = _flagged(X), labels == gs.datasets.OUTLIER_LABEL
        both = np.count_nonzero(flagged & true)
        found.append([both / max(flagged.sum(), 1), both / true.sum()])
        flagged_clean.append(float(_flagged(gs.datasets.synthetic(random_state=seed).X).mean()))
    precision, recall = np.mean(found, axis=0).tolist()
    return {"precision": precision, "recall": recall, "clean": float(np.mean(flagged_clean))}


def _flagged(X: np.ndarray) -> np.ndarray:
    import anndata

    import genesieve as gs

    adata = anndata.AnnData(X)
    gs.tl.ssnmf(adata, PAPER_RANK, PAPER_GENES, orthogonality="exact", baseline="zero", clusters=False)
    return gs.tl.outliers(adata)["outlier"].to_numpy()


def clean(data: str) -> Record:
    """Cells flagged in a real set, all of whose cells have a known type, prepared and fitted as a run does."""
    import genesieve as gs

    adata = DATA[data].read()
    rank = adata.obs[DATA[data].classes].nunique()
    gs.pp.prepare(adata)
    gs.tl.ssnmf(adata, rank, min(GENES, adata.n_vars), clusters=False)
    return {"n_cells": adata.n_obs, "rank": rank, "flagged": int(gs.tl.outliers(adata)["outlier"].sum())}
