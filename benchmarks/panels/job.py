"""One method, one data set, one size: the genes that it chooses, its seconds and memory, and what they score."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.meter import Meter
from benchmarks.harness.results import Record
from benchmarks.panels import quick
from benchmarks.panels.cells import read
from benchmarks.panels.cost import from_file, in_memory
from benchmarks.panels.peers import PEERS, whole
from benchmarks.panels.ranking import ranking
from benchmarks.panels.score import scored


def take(data: str, method: str, n_genes: int, n_cells: int, draw: int = 0, atlas: str | None = None) -> Record:
    """What a job measures; draw 0 is scored by the evaluator of Spapros, others in a tenth of its time."""
    if method == "cost":
        return in_memory(n_cells, n_genes) if atlas is None else from_file(Path(atlas), n_genes)
    peer = PEERS[method]
    versions = peer.versions()
    adata = read(data, n_cells, draw).copy()
    with Meter() as meter:
        genes = peer.run(adata, n_genes)
    cost = ranking(data, n_cells) if peer.run is whole else meter  # a ranking is made once for all sizes
    if len(set(genes)) != n_genes:
        raise ValueError(f"{method} must choose {n_genes} genes, got {len(set(genes))}")
    measured = {"seconds": cost.seconds, "cpu_seconds": cost.cpu, "peak": cost.peak, "genes": genes}
    if draw:
        return {**measured, **quick.scored(data, n_cells, draw, genes), "versions": versions}
    return {**measured, **scored(data, n_cells, genes, f"{method}_{n_genes}"), "versions": versions}
