"""One method on one data set from one seed."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from functools import cache

import numpy as np

from benchmarks.harness.peers import Peer
from benchmarks.harness.results import Record
from benchmarks.quality.cells import Labelled, synthetic
from benchmarks.quality.data import load
from benchmarks.quality.genes import SELECTORS, judged
from benchmarks.quality.peers import PEERS
from benchmarks.quality.score import score

METHODS = {**PEERS, **SELECTORS}
# These work in a process of their own, where running here first warms up nothing.
NO_WARM_UP = ("cnmf",)


def take(data: str, method: str, seed: int) -> Record:
    """What a job measures; seeds of one process share the data."""
    peer = METHODS[method]
    versions = peer.versions()  # first: nothing is loaded for a method that is not there
    labelled = load(data)
    if method in SELECTORS:
        return {"counts": judged(labelled, peer, seed)}
    warm_up(method)
    return {"versions": versions, **clustered(labelled, peer, seed)}


@cache
def warm_up(method: str) -> None:
    """Run once on a few cells, so that no seconds go into compiling."""
    if method not in NO_WARM_UP:
        with suppress(Exception):  # it will fail again where it counts
            PEERS[method].run(synthetic().cells, synthetic().n_classes, 0)


def clustered(labelled: Labelled, peer: Peer, seed: int) -> Record:
    """Labels of a method, scored and timed."""
    began = time.perf_counter()
    labels = peer.run(labelled.cells, labelled.n_classes, seed)
    seconds = time.perf_counter() - began
    return {
        "shape": list(labelled.cells.X.shape),
        "n_classes": labelled.n_classes,
        "seconds": seconds,
        **asdict(score(labelled.classes, labels)),
        "labels": np.unique(labels, return_inverse=True)[1].tolist(),
    }
