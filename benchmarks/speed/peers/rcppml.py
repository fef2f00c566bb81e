"""RcppML, the R package, run by Rscript; its seconds are those of ``nmf()`` alone, without R's start and reading."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.peers import Missing
from benchmarks.speed.protocol import Point, Task

ITERATIONS = (5, 20, 60)
SCRIPT = Path(__file__).with_suffix(".R")
ASK = 'cat(sprintf(\'{"R": "%s", "RcppML": "%s"}\', getRversion(), packageVersion("RcppML")))'


def versions() -> dict[str, str]:
    if shutil.which("Rscript") is None:
        raise Missing("Rscript is not on the path")
    asked = subprocess.run(["Rscript", "-e", ASK], capture_output=True, text=True)
    if asked.returncode:
        raise Missing("the R package RcppML is not installed")
    return json.loads(asked.stdout)


def run(X: Any, task: Task, iterations: tuple[int, ...] = ITERATIONS) -> Iterator[Point]:
    """Runs of growing length from the first seed of the task, of one R process; R counts seeds from 1."""
    looks = [str(count) for count in task.looks(iterations)]
    if not looks:
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write(sparse.csr_array(X), folder)
        command = ["Rscript", str(SCRIPT), name, *map(str, X.shape), str(task.rank), str(task.threads)]
        command += [str(1 + task.seeds[0]), *looks]
        subprocess.run(command, check=True, capture_output=True, text=True)
        for line in (folder / "runs.txt").read_text().splitlines():
            look, seconds, cpu, peak = (float(word) for word in line.split())
            H, W = _read(folder, int(look), X.shape, task.rank)
            yield Point("RcppML", seconds, H, W, int(look), None if peak < 0 else int(peak), cpu=cpu)


def _write(X: sparse.csr_array, folder: Path) -> None:
    """The slots of cells x genes by row, which are those of R's genes x cells by column."""
    for slot, array, dtype in (("x", X.data, "<f8"), ("i", X.indices, "<i4"), ("p", X.indptr, "<i4")):
        array.astype(dtype).tofile(folder / slot)


def _read(folder: Path, iterations: int, shape: tuple[int, int], rank: int) -> tuple[np.ndarray, np.ndarray]:
    """RcppML's model is ``w diag(d) h``: the diagonal goes to H."""
    w, d, h = (np.fromfile(folder / f"{slot}{iterations}", dtype="<f8") for slot in "wdh")
    n_cells, n_genes = shape
    return h.reshape(n_cells, rank) * d, np.ascontiguousarray(w.reshape(rank, n_genes).T)
