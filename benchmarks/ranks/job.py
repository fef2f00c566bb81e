"""One job: a peer on a matrix at a rank, from one seed."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness.results import Record
from benchmarks.ranks.data import matrices
from benchmarks.ranks.peers import ITERATIONS, PEERS
from benchmarks.speed.protocol import Task
from benchmarks.speed.score import nbytes, scored

# Cells that genesieve is fitted on first, enough that all products are compiled: nothing is later.
WARM_UP_CELLS, WARM_UP_RANKS = 2000, (2, 18)


def take(data: str, peer: str, rank: int, seed: int, n_jobs: int, quick: bool) -> Record:
    """The end of a run, and its course where the peer tells it."""
    who, matrix = PEERS[peer], matrices(quick)[data]
    versions = who.versions()
    X = matrix.load()
    task = Task(rank, matrix.n_genes or 0, (seed,), ITERATIONS, n_jobs)
    if who.group != "peers":
        for few in WARM_UP_RANKS:
            list(who.run(X[:WARM_UP_CELLS], replace(task, rank=few)))
    (point,) = who.run(X, task)
    time = point.cpu if n_jobs == 1 else point.seconds  # processor seconds hold on a busy machine
    return {
        "title": who.title,
        "time": time,
        "versions": versions,
        "shape": list(X.shape),
        "input": nbytes(X),
        **scored(X, point),
    }
