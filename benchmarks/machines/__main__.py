"""The command of the suite."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.harness.data import DATA
from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import RECORDS, ROOT, Suite
from benchmarks.machines import report

sys.path.append(str(ROOT / "tests"))
from portable import machines

FOUND = RECORDS / "machines" / "found"
SETS = ["demo", *DATA]
RULES = ["argmax", "leiden"]


class Machines(Suite):
    """Fit data sets as on other processors, and write docs/reproducible.md from what was found."""

    name = "machines"
    page = "reproducible.md"
    time_limit = 3600
    has_quick = False

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", nargs="+", default=SETS, choices=SETS, metavar="NAME")

    def batches(self, given: Namespace) -> list[list[Job]]:
        return [[self._job(data, machine, rule) for data in given.data for rule in RULES] for machine in machines()]

    def _job(self, data: str, machine: str, rule: str) -> Job:
        found = FOUND / data / f"{machine}-{rule}.npz"
        parameters = {"data": data, "machine": machine, "labels": rule}
        return Job(f"{data}/{machine}/{rule}", parameters, {"found": str(found)})

    def start(self, jobs: list[Job], records: Path) -> str:
        machine = jobs[0].parameters["machine"]
        # Code that numba compiled for another processor must not be taken from its cache.
        self.environment = {**machines()[machine], "NUMBA_CACHE_DIR": str(FOUND / "compiled" / machine)}
        return super().start(jobs, records)

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return {"agreement": report.agreements(FOUND, SETS, RULES)}


SUITE = Machines()

if __name__ == "__main__":
    SUITE.main()
