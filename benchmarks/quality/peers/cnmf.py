"""cNMF (Kotliar et al. 2019), run by an interpreter of its own: 20 restarts, 2,000 variable genes, argmax of usages.

``GENESIEVE_CNMF_PYTHON`` names a Python that has cNMF; without it, this one is tried. Its seconds hold the start of
that interpreter and cNMF's files, which are part of using it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness.peers import Missing
from benchmarks.quality.cells import Cells

PYTHON = "GENESIEVE_CNMF_PYTHON"
SCRIPT = Path(__file__).with_name("cnmf_script.py")
ASK = "import cnmf; from importlib.metadata import version; print(version('cnmf'))"


def versions() -> dict[str, str]:
    found = _version()
    if found is None:
        raise Missing(f"cnmf is not installed ({PYTHON} may name a Python that has it)")
    return {"cnmf": found}


def run(cells: Cells, n_clusters: int, seed: int) -> np.ndarray:
    import anndata

    with TemporaryDirectory() as name:
        folder = Path(name)
        adata = anndata.AnnData(cells.linear.copy())
        adata.write_h5ad(folder / "cells.h5ad")
        _run(str(SCRIPT), name, str(n_clusters), str(cells.budget()), str(seed))
        return np.array(json.loads((folder / "labels.json").read_text()))


def _run(*arguments: str) -> str:
    """The other Python, isolated: this folder has a file of the same name as the package."""
    command = [os.environ.get(PYTHON, sys.executable), "-I", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"cNMF failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


@cache
def _version() -> str | None:
    try:
        return _run("-c", ASK).strip()
    except (OSError, RuntimeError):
        return None
