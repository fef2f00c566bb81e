"""cNMF on every sample and starCAT's builder of a consensus reference, run by an interpreter of their own.

``GENESIEVE_STARCAT_PYTHON`` names a Python that has starcatpy and cnmf; without it, this one is tried. Each sample is
fitted at the number of programs that it truly has, which cNMF leaves to its user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness.peers import Missing

if TYPE_CHECKING:
    from anndata import AnnData

PYTHON = "GENESIEVE_STARCAT_PYTHON"
SCRIPT = Path(__file__).with_name("starcat_script.py")
ASK = "import starcat, cnmf; from importlib.metadata import version as v; print(v('starcatpy'), v('cnmf'))"
LEAST_CELLS = 3  # of a program that a sample has


def versions() -> dict[str, str]:
    found = _version()
    if found is None:
        raise Missing(f"starcatpy and cnmf are not installed ({PYTHON} may name a Python that has them)")
    return dict(zip(("starcatpy", "cnmf"), found.split(), strict=True))


def run(adata: AnnData, budget: int, ranks: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the consensus programs, and the number of samples in each."""
    import pandas as pd
    from anndata import AnnData

    with TemporaryDirectory() as name:
        folder, told = Path(name), {}
        counts = AnnData(adata.layers["raw"].copy(), obs=adata.obs[["sample"]].copy(), var=adata.var[[]].copy())
        for sample, cells in adata.obs.groupby("sample", observed=True).groups.items():
            true = adata[cells].obsm["true_usages"]
            told[str(sample)] = int(((true > 0).sum(axis=0) >= LEAST_CELLS).sum())
            part = counts[cells].copy()
            seen = np.asarray((part.X > 0).sum(axis=0)).ravel() > 0
            part[:, seen].copy().write_h5ad(folder / f"{sample}.h5ad")
        (folder / "ranks.json").write_text(json.dumps(told))
        _run(str(SCRIPT), name, str(budget), str(seed))
        scores = pd.read_csv(folder / "scores.csv", index_col=0)
        n_samples = pd.read_csv(folder / "samples.csv", index_col=0)
    scores = scores.reindex(columns=adata.var_names).fillna(0.0).clip(lower=0.0)
    return scores.to_numpy(), n_samples.loc[scores.index].to_numpy().ravel()


def _run(*arguments: str) -> str:
    """The other Python, isolated from the files here."""
    command = [os.environ.get(PYTHON, sys.executable), "-I", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"starCAT failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


@cache
def _version() -> str | None:
    try:
        return _run("-c", ASK).strip()
    except (OSError, RuntimeError):
        return None
