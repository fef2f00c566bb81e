"""One fit from a file or from memory, step by step: what a user types, timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from benchmarks.harness import meter
from benchmarks.scale.plan import Fit, Plan

if TYPE_CHECKING:
    from anndata import AnnData

SEED = 0
# A file to run on first, so that no time goes into compiling and loading: more cells than a start samples.
WARM_UP_CELLS, WARM_UP_GENES, WARM_UP_RANK, WARM_UP_BUDGET = 2500, 200, 4, 50
AT_ONCE = 2**24  # bytes


class Course:
    """A callback that notes when iterations end, and whatever ``look`` sees then."""

    def __init__(self, look: Callable[[], dict[str, Any]] = dict) -> None:
        self.look = look
        self.steps: list[dict[str, Any]] = []
        self.began = time.perf_counter()

    def __call__(self, progress: Any) -> None:
        ended = time.perf_counter() - self.began
        seen = {"iteration": progress.iteration, "passes": progress.passes, "objective": progress.objective}
        self.steps.append({**seen, "seconds": ended, **self.look(), "next": time.perf_counter() - self.began})

    def pass_seconds(self) -> float | None:
        """Median seconds of a pass; ``None`` of fits with a single iteration."""
        pairs = zip(self.steps, self.steps[1:], strict=False)
        each = [(b["seconds"] - a["next"]) / (b["passes"] - a["passes"]) for a, b in pairs]
        return float(np.median(each)) if each else None

    def start_seconds(self) -> float | None:
        """Seconds until the first pass: what the first iteration took beyond its passes."""
        first, one = self.steps[0], self.pass_seconds()
        return None if one is None else max(first["seconds"] - first["passes"] * one, 0.0)


def take(job: Fit, plan: Plan, path: Path) -> dict[str, Any]:
    """Seconds of every step, passes, objective, genes and memory of a fit."""
    if not plan.quick:
        warm_up(job)
    if job.warm_cache:
        read_through(path)
    fetched = meter.read_from_disk()
    opened, adata = timed(lambda: open_as(job.where, path))
    shape = list(adata.shape)
    prepared, _ = timed(lambda: prepare(adata))
    course = Course(lambda: {"resident": meter.resident(), "peak": meter.peak()})
    used = time.process_time()
    fitted, _ = timed(lambda: fit(adata, plan.rank, plan.budget, callback=course, **job.fit_options))
    used = time.process_time() - used
    return {
        "shape": shape,
        "open": opened,
        "prepare": prepared,
        "fit": fitted,
        "fit_cpu": used,
        **summary(adata, course),
        "peak": meter.peak(),
        "fetched": None if fetched is None else (meter.read_from_disk() or 0) - fetched,
    }


def summary(adata: AnnData, course: Course) -> dict[str, Any]:
    """What a fit found, and its course."""
    return {
        "start": course.start_seconds(),
        "pass": course.pass_seconds(),
        "passes": course.steps[-1]["passes"],
        "objective": float(adata.uns["ssnmf"]["objective"]),
        "genes": sorted(adata.var_names[adata.var["ssnmf_selected"].to_numpy()]),
        "steps": course.steps,
    }


def open_as(where: str, path: Path) -> AnnData:
    """The cells, left in their file or read into memory."""
    from anndata.io import read_h5ad, read_zarr

    from genesieve.io import open_in_file

    if where == "file":
        return open_in_file(path)
    return read_zarr(path) if path.suffix == ".zarr" else read_h5ad(path)


def prepare(adata: AnnData) -> None:
    import genesieve as gs

    gs.pp.prepare(adata)


def fit(adata: AnnData, rank: int, budget: int, **options: Any) -> None:
    import genesieve as gs

    gs.tl.ssnmf(adata, rank, budget, random_state=SEED, **options)


def read_through(path: Path) -> None:
    """Read a file, or all files of a folder, so that they are in the cache."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        if file.is_file():
            with file.open("rb", buffering=0) as stream:
                while stream.read(AT_ONCE):
                    pass


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of them."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def warm_up(job: Fit) -> None:
    """The same steps on a tiny file of the same format."""
    from anndata import AnnData

    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.3, size=(WARM_UP_CELLS, 1)) * rng.gamma(0.3, size=WARM_UP_GENES))
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"tiny.{job.format}"
        tiny = AnnData(sparse.csr_matrix(counts.astype(np.float32)))
        tiny.write_zarr(path) if job.format == "zarr" else tiny.write_h5ad(path)
        adata = open_as(job.where, path)
        prepare(adata)
        fit(adata, WARM_UP_RANK, min(WARM_UP_BUDGET, adata.n_vars))
