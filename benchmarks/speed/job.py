"""One job: a peer on a data set, or a single measurement."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness.results import Record
from benchmarks.speed import measures
from benchmarks.speed.peers import PEERS
from benchmarks.speed.races import races
from benchmarks.speed.score import nbytes, scored

# A few cells that a peer runs on first, so that its time holds no compilation.
WARM_UP_CELLS, WARM_UP_ITERATIONS, WARM_UP_RANK = 300, 2, 2


def take(group: str, what: str, quick: bool) -> Record:
    """What a job measures."""
    return measures.get(what)(quick) if group == measures.GROUP else race(group, what, quick)


def race(name: str, peer_name: str, quick: bool) -> Record:
    """A peer's points on a data set, scored."""
    peer, race = PEERS[peer_name], races(quick)[name]
    versions = peer.versions()  # first: nothing is loaded for a peer that is not there
    X, task = race.load(), race.task()
    if not quick:
        warm_up = replace(task, seeds=(0,), rank=WARM_UP_RANK, max_iterations=WARM_UP_ITERATIONS)
        list(peer.run(X[:WARM_UP_CELLS], warm_up))
    return {
        "title": peer.title,
        "model": peer.group,
        "versions": versions,
        "rank": task.rank,
        "n_genes": task.n_genes,
        "shape": list(X.shape),
        "input": nbytes(X),
        "points": [scored(X, point) for point in peer.run(X, task)],
    }
