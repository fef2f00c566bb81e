"""Blood cells with and without interferon: types found with and without the condition named, beside Harmony.

``GENESIEVE_HARMONY_PYTHON`` names a Python that has scanpy and harmonypy, ``GENESIEVE_CNMF_PYTHON`` one that has cnmf,
scikit-misc and a harmonypy before 0.1, as cnmf's ``Preprocess`` asks; without them, this one is tried.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.harness.data import DATA
from benchmarks.harness.elsewhere import installed_there, run_python

if TYPE_CHECKING:
    from anndata import AnnData

N_TYPES, COLUMN = 8, "condition"
WARM_UP = 2500  # cells: enough for every step of a fit
RESOLUTIONS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.0)  # of Leiden, its default last
FITS: dict[str, dict[str, Any]] = {
    "ignored": {},
    "known": {"batch_key": COLUMN},
    "ignored_graph": {"labels": "leiden"},
    "known_graph": {"batch_key": COLUMN, "labels": "leiden"},
}


class Elsewhere(NamedTuple):
    """A peer that a Python of its own runs."""

    python: str  # the variable that names it
    script: str
    packages: tuple[str, ...]
    settings: tuple[float, ...]  # resolutions, or the number of programs


PEERS = {
    "harmony": Elsewhere("GENESIEVE_HARMONY_PYTHON", "harmony_script.py", ("scanpy", "harmonypy"), RESOLUTIONS),
    "cnmf": Elsewhere("GENESIEVE_CNMF_PYTHON", "cnmf_script.py", ("cnmf", "harmonypy"), (N_TYPES,)),
}


def measure(how: str, seed: int) -> dict[str, Any]:
    """One fit, or a peer."""
    adata = DATA["kang"].read()
    return elsewhere(adata, PEERS[how], seed) if how in PEERS else fit(adata, how, seed)


def fit(adata: AnnData, how: str, seed: int) -> dict[str, Any]:
    """All that a user waits for, from counts to labels."""
    import genesieve as gs

    few = gs.pp.prepare(adata[:WARM_UP], copy=True)  # compiled code is read before the clock runs
    gs.tl.ssnmf(few, N_TYPES, few.n_vars, **FITS[how])
    began = clock()
    gs.pp.prepare(adata)
    prepared = clock()
    gs.tl.ssnmf(adata, N_TYPES, adata.n_vars, random_state=seed, clusters=False, **FITS[how])
    fitted = clock()
    found = scores(adata, adata.obs["ssnmf"])
    if "labels" in FITS[how]:
        spent = fitted - began
    else:  # what a fit does by itself: clusters beside the programs
        before = clock()
        gs.tl.cluster(adata, random_state=seed)
        spent = clock() - before + fitted - began
        found["clusters"] = scores(adata, adata.obs["ssnmf_cluster"])["cell_type"]
        found |= by_resolution(adata, seed)
    return {**found, "seconds": spent[0], "cpu": spent[1], "fit_cpu": (fitted - prepared)[1]}


def by_resolution(adata: AnnData, seed: int) -> dict[str, Any]:
    """Clusters at the resolutions that the peer has, the best told by the types as there; no part of the time."""
    import genesieve as gs

    tried, numbers = [], []
    for resolution in RESOLUTIONS:
        gs.tl.cluster(adata, resolution=resolution, random_state=seed)
        tried.append(scores(adata, adata.obs["ssnmf_cluster"])["cell_type"])
        numbers.append(int(adata.obs["ssnmf_cluster"].nunique()))
    return {"by_setting": tried, "numbers": numbers, "best": max(tried), "default": tried[-1]}


def clock() -> np.ndarray:
    """Seconds, and those of processors."""
    return np.array([time.perf_counter(), time.process_time()])


def scores(adata: AnnData, labels: Any) -> dict[str, float]:
    """Agreement with the types, and with the condition."""
    from genesieve.metrics import nmi

    found = np.asarray(labels, dtype=str)
    return {name: nmi(adata.obs[name].to_numpy(str), found) for name in ("cell_type", COLUMN)}


def elsewhere(adata: AnnData, peer: Elsewhere, seed: int) -> dict[str, Any]:
    """A peer in its own Python; of its settings the one whose labels agree best with the types."""
    import pandas as pd

    versions = {}
    for package in peer.packages:
        versions |= installed_there(peer.python, package)()
    with TemporaryDirectory() as name:
        adata.write_h5ad(Path(name) / "cells.h5ad")
        script = str(Path(__file__).with_name(peer.script))
        run_python(peer.python, script, name, COLUMN, str(seed), *map(str, peer.settings))
        labels = pd.read_csv(Path(name) / "labels.csv", dtype=str)
        spent = json.loads((Path(name) / "spent.json").read_text())
    tried = [{**scores(adata, labels[setting]), **spent[setting]} for setting in labels]
    best = max(tried, key=lambda trial: trial["cell_type"])
    numbers = [int(labels[setting].nunique()) for setting in labels]
    return {**best, "by_setting": [trial["cell_type"] for trial in tried], "numbers": numbers, "versions": versions}
