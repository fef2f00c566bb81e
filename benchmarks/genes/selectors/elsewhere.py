"""Selectors in a Python of their own, which ``GENESIEVE_GENES_PYTHON`` names: they rank all genes once."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness.elsewhere import run_python
from benchmarks.quality.cells import Cells
from benchmarks.quality.genes import Pick

PYTHON = "GENESIEVE_GENES_PYTHON"
SCRIPT = Path(__file__).with_name("script.py")


def pick(cells: Cells, n_clusters: int, seed: int, *, selector: str) -> Pick:
    """The first of its ranking."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        adata = cells.adata()
        adata.layers["counts"] = cells.linear
        adata.write_h5ad(folder / "cells.h5ad")
        run_python(PYTHON, str(SCRIPT), name, selector, str(seed))
        order = np.load(folder / "order.npy")
    return lambda k: np.sort(order[:k])
