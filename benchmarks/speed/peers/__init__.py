"""The peers, one row each; their order decides their looks in pictures."""

from __future__ import annotations

from functools import partial

from benchmarks.harness.peers import Peer, packages
from benchmarks.speed.peers import others, ours, rcppml

OURS, SKLEARN = packages("genesieve", "numpy", "scipy", "numba"), packages("scikit-learn")
paper = partial(ours.from_nmf_start, max_iter=ours.PAPER_ITERATIONS)

PEERS: dict[str, Peer] = {
    "genesieve_nmf": Peer("genesieve", "nmf", ours.plain, OURS),
    "sklearn_cd": Peer("scikit-learn NMF (cd)", "nmf", others.coordinate_descent, SKLEARN),
    "rcppml": Peer("RcppML", "nmf", rcppml.run, rcppml.versions),
    "sklearn_minibatch": Peer("scikit-learn MiniBatchNMF", "nmf", others.mini_batch, SKLEARN),
    "nmf_torch": Peer("nmf-torch", "nmf", others.nmf_torch, packages("nmf-torch", "torch")),
    "genesieve_l20": Peer("genesieve l20", "l20", ours.selecting, OURS),
    "palm": Peer("PALM l20", "l20", partial(paper, solver="palm"), packages("genesieve")),  # the paper's Alg. 1
    "mapalm": Peer("maPALM l20", "l20", partial(paper, solver="mapalm"), packages("genesieve")),  # Alg. 2 and 3
}
