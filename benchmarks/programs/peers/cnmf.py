"""cNMF (Kotliar et al. 2019), run by an interpreter of its own: 20 restarts on its choice of variable genes.

``GENESIEVE_CNMF_PYTHON`` names a Python that has cNMF; without it, this one is tried. Its seconds hold the start of
that interpreter and cNMF's files, which are part of using it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.quality.peers.cnmf import _run, versions

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["run", "versions"]

SCRIPT = Path(__file__).with_name("cnmf_script.py")


def run(adata: AnnData, rank: int, n_genes: int, seed: int) -> np.ndarray:
    import anndata

    with TemporaryDirectory() as name:
        folder = Path(name)
        anndata.AnnData(adata.layers["raw"].copy(), var=adata.var[[]]).write_h5ad(folder / "cells.h5ad")
        _run(str(SCRIPT), name, str(rank), str(n_genes), str(seed))
        return np.asarray(np.load(folder / "usages.npy"))
