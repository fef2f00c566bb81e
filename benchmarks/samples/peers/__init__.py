"""Methods that find programs over samples: from cells to profiles (programs, genes) and their numbers of samples."""

from __future__ import annotations

from functools import partial

from benchmarks.harness.peers import Peer, packages
from benchmarks.samples.peers import ours, starcat

PEERS = {
    "metaprograms": Peer("`gs.tl.metaprograms`", "samples", ours.metaprograms, packages("genesieve")),
    "one bag": Peer("all cells in one fit (`gs.tl.ssnmf`)", "samples", ours.one_fit, packages("genesieve")),
    "batches": Peer(
        'the same with `batch_key="sample"`',
        "samples",
        partial(ours.one_fit, batch_key="sample"),
        packages("genesieve"),
    ),
    "starcat": Peer("cNMF of each sample, starCAT's builder", "samples", starcat.run, starcat.versions),
}
