"""One method on one data set in a process of its own, seed by seed; writes one JSON file a seed."""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality import data, genes, peers
from benchmarks.quality.protocol import Labelled, Peer
from benchmarks.quality.results import path_of
from benchmarks.quality.score import score

# These work in a process of their own, where running here first warms up nothing.
NO_WARM_UP = ("cnmf",)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=list(data.DATA))
    parser.add_argument("method", choices=[*peers.NAMES, *genes.SELECTORS])
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--records", type=Path, required=True, help="the folder of the JSON files")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    data_set = data.DATA[given.data]
    reason = data_set.missing() or missing(given.method)
    labelled = None if reason else data_set.load()
    if labelled is not None and given.method in peers.NAMES and given.method not in NO_WARM_UP:
        attempt(data.synthetic(), given.method, seed=0)  # so that no seconds go into compiling
    for seed in given.seeds:
        outcome = {"skipped": reason} if labelled is None else attempt(labelled, given.method, seed)
        write(given.records, given.data, given.method, seed, outcome)


def write(records: Path, data_name: str, method: str, seed: int, outcome: dict[str, Any]) -> None:
    """One record; where and when it was measured is part of it."""
    record = {"data": data_name, "method": method, "seed": seed, "load": os.getloadavg()[0], **outcome}
    records.mkdir(parents=True, exist_ok=True)
    path_of(records, data_name, method, seed).write_text(json.dumps(record))


def missing(method: str) -> str | None:
    """Why a method cannot run, if so."""
    return peers.get(method).missing() if method in peers.NAMES else None


def attempt(labelled: Labelled, method: str, seed: int) -> dict[str, Any]:
    """The measurement, or why it failed."""
    try:
        if method in genes.SELECTORS:
            return {"counts": genes.judged(labelled, genes.SELECTORS[method], seed)}
        return measured(labelled, peers.get(method), seed)
    except Exception as error:
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"}


def measured(labelled: Labelled, peer: Peer, seed: int) -> dict[str, Any]:
    """Labels of a method, scored and timed."""
    began = time.perf_counter()
    labels = peer.cluster(labelled.cells, labelled.n_classes, seed)
    seconds = time.perf_counter() - began
    return {
        "versions": peer.versions(),
        "shape": list(labelled.cells.X.shape),
        "n_classes": labelled.n_classes,
        "seconds": seconds,
        **asdict(score(labelled.classes, labels)),
        "labels": np.unique(labels, return_inverse=True)[1].tolist(),
    }


if __name__ == "__main__":
    main()
