"""One job in a process of its own. Writes one JSON file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import traceback
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.protocol import available_threads
from benchmarks.scale import cluster, fits
from benchmarks.scale.plan import PLAN, QUICK, Job, Plan

PACKAGES = ("genesieve", "numpy", "scipy", "numba", "anndata", "h5py", "zarr", "dask", "distributed")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", type=json.loads, help="a job as JSON")
    parser.add_argument("atlas", type=Path, help="the file to fit")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    job, plan = Job(**given.job), QUICK if given.quick else PLAN
    record = describe(job, plan)
    began = time.perf_counter()
    try:
        record |= run(job, plan, given.atlas)
    except Exception as error:
        traceback.print_exc()
        record["failed"] = f"{type(error).__name__}: {error}"
    record["total_seconds"] = time.perf_counter() - began
    write(given.output, record)
    sys.exit("failed" in record)


def describe(job: Job, plan: Plan) -> dict[str, Any]:
    """What is known of a job before it runs."""
    return {
        "job": job.name,
        **{name: value for name, value in job.as_dict().items() if name != "name"},
        "rank": plan.rank,
        "quick": plan.quick,
        "threads": available_threads(),
        "load": os.getloadavg(),
        "versions": versions(),
    }


def run(job: Job, plan: Plan, path: Path) -> dict[str, Any]:
    """The measurement, or why it was skipped."""
    if job.where == "cluster":
        reason = cluster.missing()
        found = {"skipped": reason} if reason else cluster.take(job, plan, path)
    else:
        found = fits.take(job, plan, path)
    if "shape" in found and found["shape"] != [job.cells, plan.n_genes]:
        raise ValueError(f"{path} must hold {job.cells} cells x {plan.n_genes} genes, got {found['shape']}")
    return found


def write(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))


def versions() -> dict[str, str]:
    """Of Python and of what takes part."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
