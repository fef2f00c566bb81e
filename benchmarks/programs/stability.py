"""How alike the programs of several seeds are on real data, and the genes that they are given."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.harness.data import DATA
from benchmarks.harness.results import Record
from benchmarks.programs.peers import PEERS
from benchmarks.programs.peers.ours import USED
from benchmarks.programs.score import matched, shares

N_GENES = 2000
# Programs asked for: a few more than there are known types.
RANKS = {"pbmc3k": 10, "bladder": 16, "zeisel": 10, "xin": 6, "kang": 12}


def measure(peer: str, data: str, n_seeds: int) -> Record:
    """Every pair of seeds: correlation of the usages of matched programs, and the share of genes in common."""
    import genesieve as gs

    versions = PEERS[peer].versions()
    adata = DATA[data].read()
    gs.pp.prepare(adata, min_cells=DATA[data].min_cells)
    rank, n_genes = RANKS[data], min(N_GENES, adata.n_vars // 2)
    usages, genes = [], []
    for seed in range(n_seeds):
        usages.append(shares(PEERS[peer].run(adata, rank, n_genes, seed)))
        genes.append(adata.var[USED].to_numpy() if USED in adata.var else None)
    alike = np.array([matched(one, other)[1] for one, other in combinations(usages, 2)])  # (pairs, programs)
    common = [
        float((one & other).sum() / (one | other).sum())
        for one, other in combinations(genes, 2)
        if one is not None and other is not None
    ]
    return {
        "versions": versions,
        "shape": list(adata.shape),
        "alike": float(alike.mean()),
        "worst": float(alike.min()),
        "genes": float(np.mean(common)) if common else None,
    }
