"""One peer: what it recovers of a draw, its seconds and memory; or how alike its seeds are on a real data set."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.meter import Meter
from benchmarks.harness.results import Record
from benchmarks.programs import stability
from benchmarks.programs.peers import PEERS
from benchmarks.programs.score import judged, matched, shares

N_GENES = 2000  # the budget, and the variable genes of peers
OTHER_SEED = 1000  # of the second fit, less that of the first


def take(peer: str, **about: Any) -> Record:
    """What a job measures."""
    return stability.measure(peer, **about) if "data" in about else recovered(peer, **about)


def recovered(peer: str, level: str, seed: int, size: dict[str, Any], again: bool) -> Record:
    """A draw; with ``again`` also how alike two seeds of the peer are."""
    import genesieve as gs

    versions = PEERS[peer].versions()
    adata = gs.datasets.programs(level, random_state=seed, **size)
    gs.pp.prepare(adata)
    rank, n_genes = adata.obsm["true_usages"].shape[1], min(N_GENES, adata.n_vars)
    with Meter() as meter:
        usages = PEERS[peer].run(adata, rank, n_genes, seed)
    record = {"shape": list(adata.shape), "versions": versions, "seconds": meter.seconds, "peak": meter.peak}
    if again:
        other = PEERS[peer].run(adata, rank, n_genes, seed + OTHER_SEED)
        record["seeds_alike"] = float(matched(other, shares(usages))[1].mean())
    return record | judged(adata, usages)
