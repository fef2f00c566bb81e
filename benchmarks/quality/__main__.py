"""Run methods on labelled data sets, and write docs/quality.md from the records; what has a record is not run again."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.places import RECORDS, ROOT, Places
from benchmarks.quality import data, genes, job, peers, report
from benchmarks.quality.results import Results, path_of
from benchmarks.results import why_not

# A method that takes longer for its seeds on one set is stopped; the seeds that it finished count.
TIME_LIMIT = 1200
# Threads of BLAS and OpenMP wait for each other where cores are shared, and their number may change sums and so labels.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def main(arguments: list[str] | None = None) -> None:
    methods = [*peers.NAMES, *genes.SELECTORS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--only", nargs="+", default=methods, choices=methods, metavar="NAME", help="methods to run")
    parser.add_argument("--data", nargs="+", default=list(data.DATA), choices=list(data.DATA), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5, help="seeds 0, 1, ... of every method")
    parser.add_argument("--fresh", action="store_true", help="run again what has a record")
    parser.add_argument("--report", action="store_true", help="run nothing, write the page from the records")
    parser.add_argument("--output", type=Path, help="a folder for all that is written, instead of the project")
    given = parser.parse_args(arguments)
    places = Places.under(given.output, page="quality.md", records=RECORDS / "quality")
    pairs = [] if given.report else [(name, method) for method in given.only for name in given.data]
    for number, (name, method) in enumerate(pairs, start=1):
        told = run(name, method, places.records, seeds=range(given.seeds), fresh=given.fresh)
        print(f"[{number}/{len(pairs)}] {name} {method}: {told}", flush=True)
    report.write(Results.read(places.records), places.document, places.images)
    print(f"wrote {places.document}", flush=True)


def run(name: str, method: str, records: Path, *, seeds: range, fresh: bool) -> str:
    """Run the seeds that have no measurement; how it went."""
    open_seeds = [seed for seed in seeds if fresh or not finished(path_of(records, name, method, seed))]
    if not open_seeds:
        return "measured before"
    for seed in open_seeds:
        path_of(records, name, method, seed).unlink(missing_ok=True)
    began = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.quality.job", name, method, "--seeds", *map(str, open_seeds)]
    try:
        command += ["--records", str(records.resolve())]
        subprocess.run(command, cwd=ROOT, timeout=TIME_LIMIT, env={**os.environ, **ONE_THREAD})
        reason = "ended without a record"
    except subprocess.TimeoutExpired:
        reason = f"stopped after {TIME_LIMIT} s"
    for seed in open_seeds:
        if not path_of(records, name, method, seed).exists():
            job.write(records, name, method, seed, {"failed": reason})
    told = why_not(json.loads(path_of(records, name, method, open_seeds[-1]).read_text()))
    return told or f"{len(open_seeds)} seeds, {time.perf_counter() - began:.0f} s"


def finished(path: Path) -> bool:
    """Whether a record holds a measurement."""
    return path.exists() and why_not(json.loads(path.read_text())) is None


if __name__ == "__main__":
    main()
