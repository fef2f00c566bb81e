"""Run the benchmarks, each job in a process of its own, and write docs/benchmarks.md from their records."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import data, measures, report
from benchmarks.places import ROOT, Places
from benchmarks.results import Results, why_not

# A job that takes longer is stopped and noted as failed.
TIME_LIMIT = 900


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], metavar="DATA[/PEER]", help="run jobs that start like this")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that everything runs")
    parser.add_argument("--fresh", action="store_true", help="run jobs again that have a record")
    parser.add_argument("--output", type=Path, help="a folder for all that is written, instead of the project")
    given = parser.parse_args(arguments)
    if given.quick and given.output is None:
        parser.error("--quick needs --output, so that it does not replace real measurements")
    places = Places.under(given.output)
    chosen = [job for job in jobs(given.quick) if any(job.startswith(start) for start in given.only)]
    if not chosen:
        parser.error(f"--only {' '.join(given.only)} matches none of {', '.join(jobs(given.quick))}")
    for number, job in enumerate(chosen, start=1):
        say(f"[{number}/{len(chosen)}] {job}: {run(job, places, quick=given.quick, fresh=given.fresh)}")
    report.write(Results.read(places.records), places.document, places.images)
    say(f"wrote {places.document}")


def jobs(quick: bool) -> list[str]:
    """All jobs, in the order in which they run."""
    sets = data.QUICK_DATA if quick else data.DATA
    races = [f"{name}/{peer}" for name, data_set in sets.items() for peer in data_set.peers]
    return [f"measures/{name}" for name in measures.NAMES] + races


def run(job: str, places: Places, *, quick: bool, fresh: bool) -> str:
    """Run a job unless its record is there; how it went."""
    path = places.record(job)
    if not fresh and path.exists() and finished(path, quick):
        return "measured before"
    path.unlink(missing_ok=True)
    began = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.job", job, "--output", str(path), *(["--quick"] if quick else [])]
    try:
        subprocess.run(command, cwd=ROOT, timeout=TIME_LIMIT)
        reason = why_not(json.loads(path.read_text())) if path.exists() else "ended without a record"
    except subprocess.TimeoutExpired:
        reason = f"stopped after {TIME_LIMIT} s"
    return reason or f"{time.perf_counter() - began:.0f} s"


def finished(path: Path, quick: bool) -> bool:
    """Whether a record holds a measurement of the same kind."""
    record = json.loads(path.read_text())
    return record["quick"] == quick and why_not(record) is None


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
