"""One fit, of a file or on a cluster."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.harness.results import Record
from benchmarks.scale import cluster, fits
from benchmarks.scale.plan import Fit, plan_of

PACKAGES = ("genesieve", "numpy", "scipy", "numba", "anndata", "h5py", "zarr", "dask", "distributed")


def take(rank: int, quick: bool, atlas: str, **fit: Any) -> Record:
    """What a job measures."""
    job, plan, path = Fit(**fit), plan_of(quick), Path(atlas)
    found = (cluster if job.where == "cluster" else fits).take(job, plan, path)
    if found["shape"] != [job.cells, plan.n_genes]:
        raise ValueError(f"{path} must hold {job.cells} cells x {plan.n_genes} genes, got {found['shape']}")
    return {"versions": versions(), **found}


def versions() -> dict[str, str]:
    """Of Python and of what takes part."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
