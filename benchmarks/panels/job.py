"""One method, one data set, one size: the genes that it chooses, its seconds and memory, and what they score."""

from __future__ import annotations

import time

from benchmarks.harness.meter import Meter
from benchmarks.harness.results import Record
from benchmarks.panels.cells import read
from benchmarks.panels.peers import PEERS
from benchmarks.panels.score import scored


def take(data: str, method: str, n_genes: int, n_cells: int) -> Record:
    """What a job measures."""
    peer = PEERS[method]
    versions = peer.versions()
    adata = read(data, n_cells).copy()
    cpu = time.process_time()
    with Meter() as meter:
        genes = peer.run(adata, n_genes)
    cpu = time.process_time() - cpu
    if len(set(genes)) != n_genes:
        raise ValueError(f"{method} must choose {n_genes} genes, got {len(set(genes))}")
    measured = {"seconds": meter.seconds, "cpu_seconds": cpu, "peak": meter.peak, "genes": genes}
    return {**measured, **scored(data, n_cells, genes, f"{method}_{n_genes}"), "versions": versions}
