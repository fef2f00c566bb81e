"""Who is measured: each takes prepared cells, the counts, the number of programs and a seed, and returns usages."""

from __future__ import annotations

from functools import partial

from benchmarks.harness.peers import Peer, packages
from benchmarks.programs.peers import cnmf, others, ours

OURS, SKLEARN = packages("genesieve", "numpy", "scipy"), packages("scikit-learn")

PEERS = {
    "genesieve": Peer("genesieve", "genesieve", ours.ssnmf, OURS),
    "consensus": Peer(
        "genesieve, consensus of 20", "genesieve", partial(ours.ssnmf, n_restarts=20, consensus=True), OURS
    ),
    "no_penalty": Peer("genesieve, `orthogonality=0`", "genesieve", partial(ours.ssnmf, orthogonality=0.0), OURS),
    "cnmf": Peer("cNMF, 20 restarts", "peer", cnmf.run, cnmf.versions),
    "sklearn": Peer("scikit-learn NMF", "peer", others.sklearn_nmf, SKLEARN),
}
