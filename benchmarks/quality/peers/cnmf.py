"""cNMF (Kotliar et al. 2019), run by an interpreter of its own: 20 restarts, 2,000 variable genes, argmax of usages.

``GENESIEVE_CNMF_PYTHON`` names a Python that has cNMF; without it, this one is tried. Its seconds hold the start of
that interpreter and cNMF's files, which are part of using it.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness.elsewhere import installed_there, run_python
from benchmarks.quality.cells import Cells

PYTHON = "GENESIEVE_CNMF_PYTHON"
SCRIPT = Path(__file__).with_name("cnmf_script.py")

versions = installed_there(PYTHON, "cnmf")


def run(cells: Cells, n_clusters: int, seed: int) -> np.ndarray:
    import anndata

    with TemporaryDirectory() as name:
        folder = Path(name)
        adata = anndata.AnnData(cells.linear.copy())
        adata.write_h5ad(folder / "cells.h5ad")
        run_python(PYTHON, str(SCRIPT), name, str(n_clusters), str(cells.budget()), str(seed))
        return np.array(json.loads((folder / "labels.json").read_text()))
