"""Ranks by the rules of peers, on the same draws: cNMF's stability, bi-cross-validation by RcppML.

``GENESIEVE_CNMF_PYTHON`` names a Python that has cNMF. RcppML is the R package as distributions have it, 0.3.7, which
has no cross-validation of its own; its ``nmf`` and ``project`` are all that one on held-out genes x cells needs.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.elsewhere import installed_there, run_python
from benchmarks.harness.results import Record
from benchmarks.speed.peers.rcppml import versions

PYTHON = "GENESIEVE_CNMF_PYTHON"
BEYOND = 3  # ranks on either side of the truth that a peer is given
STARTS = 10  # of cNMF at every rank
HERE = Path(__file__).parent


def cnmf(adata: Any, ranks: range, folder: Path) -> dict[int, float]:
    """The silhouette of the spectra of many starts at every rank, by cNMF with its defaults but for starts."""
    import anndata

    installed_there(PYTHON, "cnmf")()
    anndata.AnnData(sparse.csr_matrix(adata.layers["raw"])).write_h5ad(folder / "cells.h5ad")
    run_python(PYTHON, str(HERE / "cnmf_ranks.py"), str(folder), str(STARTS), *map(str, ranks))
    return {int(rank): float(score) for rank, score in json.loads((folder / "scores.json").read_text()).items()}


def rcppml(adata: Any, ranks: range, folder: Path) -> dict[int, float]:
    """Minus the error on genes x cells held out, the mean of three draws, at every rank."""
    versions()
    X = sparse.csr_array(adata.X)
    for slot, array, dtype in (("x", X.data, "<f8"), ("i", X.indices, "<i4"), ("p", X.indptr, "<i4")):
        array.astype(dtype).tofile(folder / slot)
    command = ["Rscript", str(HERE / "rcppml_ranks.R"), str(folder), *map(str, X.shape), *map(str, ranks)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    lines = (folder / "errors.txt").read_text().splitlines()
    return {int(rank): -float(error) for rank, error in (line.split() for line in lines)}


PEERS: dict[str, Callable[[Any, range, Path], dict[int, float]]] = {"cnmf": cnmf, "rcppml": rcppml}


def measure(peer: str, adata: Any, true: int) -> Record:
    """The rank that a peer's score is highest at."""
    ranks, began = range(max(2, true - BEYOND), true + BEYOND + 1), time.perf_counter()
    with TemporaryDirectory() as folder:
        scores = PEERS[peer](adata, ranks, Path(folder))
    best = max(scores, key=lambda rank: scores[rank] if np.isfinite(scores[rank]) else -np.inf)
    return {"true_rank": true, "rank": best, "scores": scores, "seconds": time.perf_counter() - began}
