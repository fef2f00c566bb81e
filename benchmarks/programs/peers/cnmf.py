"""cNMF (Kotliar et al. 2019), run by an interpreter of its own: 20 restarts on its choice of variable genes.

``GENESIEVE_CNMF_PYTHON`` names a Python that has cNMF; without it, this one is tried. Its seconds hold the start of
that interpreter and cNMF's files, which are part of using it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness.elsewhere import run_python
from benchmarks.harness.peers import Missing
from benchmarks.quality.peers.cnmf import PYTHON, versions

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["run", "versions"]

SCRIPT = Path(__file__).with_name("cnmf_script.py")


def run(adata: AnnData, rank: int, n_genes: int, seed: int) -> np.ndarray:
    import anndata

    if "raw" not in adata.layers:
        raise Missing("cNMF needs counts, which the data set does not have")
    with TemporaryDirectory() as name:
        folder = Path(name)
        anndata.AnnData(adata.layers["raw"].copy(), var=adata.var[[]]).write_h5ad(folder / "cells.h5ad")
        run_python(PYTHON, str(SCRIPT), name, str(rank), str(n_genes), str(seed))
        return np.asarray(np.load(folder / "usages.npy"))
