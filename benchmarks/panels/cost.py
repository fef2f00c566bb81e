"""What a panel costs: its seconds, step by step, and memory, on cells in memory and from a file on disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import meter
from benchmarks.harness.data import DATA
from benchmarks.harness.results import Record
from benchmarks.panels.peers import RANK

if TYPE_CHECKING:
    from anndata import AnnData

FIT_GENES = 2000
WARM_UP_CELLS = 300  # on which everything is compiled and loaded first


def in_memory(n_cells: int, n_genes: int) -> Record:
    """The first cells of BMMC, from counts to the panel; nothing of it is read from disk in that time."""
    cells = DATA["bmmc"].read()
    _steps(cells[:WARM_UP_CELLS].copy(), 20)
    return _steps(cells[:n_cells].copy(), n_genes)


def from_file(atlas: Path, n_genes: int) -> Record:
    """A simulated atlas on disk, opened but never read whole."""
    from genesieve.io import open_in_file

    _steps(DATA["bmmc"].read()[:WARM_UP_CELLS].copy(), 20)
    adata = open_in_file(atlas)
    return {"shape": list(adata.shape), **_steps(adata, n_genes, memory="2GB")}


def _steps(adata: AnnData, n_genes: int, **options: Any) -> Record:
    import genesieve as gs

    used = time.process_time()
    found = {
        "prepare": _timed(lambda: gs.pp.prepare(adata)),
        "fit": _timed(lambda: gs.tl.ssnmf(adata, RANK, FIT_GENES, clusters=False, **options)),
        "panel": _timed(lambda: gs.tl.panel(adata, n_genes)),
    }
    used = time.process_time() - used
    return {**found, "seconds": sum(found.values()), "cpu_seconds": used, "peak": meter.peak()}


def _timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
