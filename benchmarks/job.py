"""One job in a process of its own: a peer on a data set, or a measure. Writes one JSON file."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import data, measures, peers
from benchmarks.protocol import Peer, Point, Task, available_threads
from benchmarks.score import nbytes, objective

# A few cells that a peer runs on first, so that its time holds no compilation.
WARM_UP_CELLS, WARM_UP_ITERATIONS, WARM_UP_RANK = 300, 2, 2


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", help="DATA/PEER or measures/NAME")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    record = {"job": given.job, "quick": given.quick, "threads": available_threads(), "load": os.getloadavg()}
    began = time.perf_counter()
    try:
        record |= run(given.job, given.quick)
    except Exception as error:
        traceback.print_exc()
        record["failed"] = f"{type(error).__name__}: {error}"
    record["total_seconds"] = time.perf_counter() - began
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(record, indent=1))
    sys.exit("failed" in record)


def run(job: str, quick: bool) -> dict[str, Any]:
    """The record of a job, or why it was skipped."""
    group, name = job.split("/")
    if group == "measures":
        measure = measures.get(name)
        reason = measure.missing()
        return {"skipped": reason} if reason else measure.take(quick, available_threads())
    data_set, peer = (data.QUICK_DATA if quick else data.DATA)[group], peers.get(name)
    reason = data_set.missing() or peer.missing()
    if reason:
        return {"skipped": reason}
    X, task = data_set.load(), data_set.task(available_threads())
    warm_up = replace(task, seeds=(0,), rank=WARM_UP_RANK, max_iterations=WARM_UP_ITERATIONS)
    if not quick:
        list(peer.run(X[:WARM_UP_CELLS], warm_up))
    return race(X, task, peer)


def race(X: Any, task: Task, peer: Peer) -> dict[str, Any]:
    """A peer's points, scored."""
    return {
        "title": peer.TITLE,
        "model": peer.MODEL,
        "versions": peer.versions(),
        "rank": task.rank,
        "n_genes": task.n_genes,
        "shape": list(X.shape),
        "input": nbytes(X),
        "points": [_scored(X, point) for point in peer.run(X, task)],
    }


def _scored(X: Any, point: Point) -> dict[str, Any]:
    return {
        "run": point.run,
        "iterations": point.iterations,
        "passes": point.passes,
        "seconds": point.seconds,
        "start_seconds": point.start_seconds,
        "objective": objective(X, point.H, point.W),
        "peak": point.peak,
        "factors": point.H.nbytes + point.W.nbytes,
        "history": point.history,
    }


if __name__ == "__main__":
    main()
