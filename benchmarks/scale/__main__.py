"""Measure fits of data outside memory, each in a process of its own, and write docs/scale.md from the records.

What has a record is not run again. Atlases that are not there are made first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.places import RECORDS, ROOT, Places
from benchmarks.results import Results, why_not
from benchmarks.scale import atlases, report
from benchmarks.scale.job import describe, write
from benchmarks.scale.plan import FORMATS, GROUPS, PLAN, QUICK, Job, Plan, jobs

# A job that takes longer is stopped and noted as failed.
TIME_LIMIT = 3600


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", metavar="CELLS", help="for growth; default: as on the page")
    parser.add_argument("--only", nargs="+", default=GROUPS, choices=GROUPS, help="what to measure")
    parser.add_argument("--format", choices=FORMATS, default="h5ad", help="of all but disk, which takes both")
    parser.add_argument("--folder", type=Path, help="where atlases are or will be")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that everything runs")
    parser.add_argument("--fresh", action="store_true", help="run jobs again that have a record")
    parser.add_argument("--report", action="store_true", help="run nothing, write the page from the records")
    parser.add_argument("--output", type=Path, help="a folder for all that is written, instead of the project")
    given = parser.parse_args(arguments)
    if given.quick and given.output is None:
        parser.error("--quick needs --output, so that it does not replace real measurements")
    places = Places.under(given.output, page="scale.md", records=RECORDS / "scale")
    folder = given.folder or (atlases.FOLDER if given.output is None else given.output / "atlases")
    plan = QUICK if given.quick else PLAN
    plan = replace(plan, growth_cells=tuple(sorted(set(given.sizes)))) if given.sizes else plan
    chosen = [] if given.report else [job for job in jobs(plan, given.format) if job.group in given.only]
    for count, job in enumerate(chosen, start=1):
        say(f"[{count}/{len(chosen)}] {job.name}: {run(job, plan, places, folder, fresh=given.fresh)}")
    results = Results.read(places.records)
    if not results.records:
        parser.error(f"--report needs records in {places.records}, got none")
    report.write(results, given.format, places.document, places.images)
    say(f"wrote {places.document}")


def run(job: Job, plan: Plan, places: Places, folder: Path, *, fresh: bool) -> str:
    """Run a job unless its record is there; how it went."""
    path = places.record(job.name).resolve()
    if not fresh and finished(path, plan):
        return "measured before"
    path.unlink(missing_ok=True)
    atlas, reason = atlases.get(folder.resolve(), job.cells, plan.n_genes, job.format)
    if reason:
        write(path, {**describe(job, plan), "skipped": reason})
        return reason
    began = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.scale.job", json.dumps(job.as_dict()), str(atlas)]
    command += ["--output", str(path), *(["--quick"] if plan.quick else [])]
    try:
        start(command)
        reason = "ended without a record"
    except subprocess.TimeoutExpired:
        reason = f"stopped after {TIME_LIMIT} s"
    if not path.exists():
        write(path, {**describe(job, plan), "failed": reason})
    return why_not(json.loads(path.read_text())) or f"{time.perf_counter() - began:.0f} s"


def start(command: list[str]) -> None:
    """Run a command in a process of its own until it ends."""
    subprocess.run(command, cwd=ROOT, timeout=TIME_LIMIT)


def finished(path: Path, plan: Plan) -> bool:
    """Whether there is a record that holds a measurement of the same kind."""
    record = json.loads(path.read_text()) if path.exists() else {"skipped": "not run"}
    return why_not(record) is None and record["quick"] == plan.quick


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
