"""A suite as a command: runs its jobs one after the other, each in a process of its own, then writes its page."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from benchmarks.harness import report
from benchmarks.harness.job import Job
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results, path_of, why_not, write

ROOT = Path(__file__).resolve().parents[2]
DOCS, RECORDS = ROOT / "docs", ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Places:
    """Where records, the page and its pictures go."""

    records: Path
    document: Path
    images: Path


class Suite(ABC):
    """What a suite says of itself; its docstring is the help of its command."""

    name: ClassVar[str]  # of its folder, whose module ``job`` takes the measurements
    page: ClassVar[str]  # in docs/
    time_limit: ClassVar[int]  # a batch that takes longer is stopped; what it has finished counts
    has_quick: ClassVar[bool] = True  # a form on tiny data, to see that everything runs
    environment: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Options besides those that all suites have."""

    @abstractmethod
    def batches(self, given: argparse.Namespace) -> list[list[Job]]:
        """The jobs in the order in which they run; those of one batch share a process."""

    def make_ready(self, job: Job) -> None:  # noqa: B027 - most need nothing
        """Make the inputs of a job where they are not there; raises Missing where they cannot be made."""

    @abstractmethod
    def fill(self, results: Results, given: argparse.Namespace, images: Path) -> dict[str, str]:
        """The texts for the marked places of the page; draws its pictures."""

    def places(self, output: Path | None) -> Places:
        """In the project, or all in one folder."""
        if output is None:
            return Places(RECORDS / self.name, DOCS / self.page, DOCS / "img")
        return Places(output / "results", output / self.page, output / "img")

    def parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{self.name}", description=self.__doc__)
        self.add_options(parser)
        if self.has_quick:
            parser.add_argument("--quick", action="store_true", help="tiny data, to see that everything runs")
        parser.add_argument("--fresh", action="store_true", help="run again what has a record")
        parser.add_argument("--report", action="store_true", help="run nothing, write the page from the records")
        parser.add_argument("--output", type=Path, help="a folder for all that is written, instead of the project")
        return parser

    def main(self, arguments: list[str] | None = None) -> None:
        """Run what is asked for, and write the page."""
        parser = self.parser()
        given = parser.parse_args(arguments)
        if self.has_quick and given.quick and given.output is None:
            parser.error("--quick needs --output, so that it does not replace real measurements")
        places = self.places(given.output)
        try:
            batches = [] if given.report else self.batches(given)
        except ValueError as error:
            parser.error(str(error))
        for count, batch in enumerate(batches, start=1):
            say(f"[{count}/{len(batches)}] {batch[0].name}: {self.run(batch, places.records, fresh=given.fresh)}")
        results = Results.read(places.records)
        if not results.records:
            parser.error(f"--report needs records in {places.records}, got none")
        texts = self.fill(results, given, places.images)
        report.write(places.document, (DOCS / self.page).read_text(), texts)
        say(f"wrote {places.document}")

    def run(self, batch: list[Job], records: Path, *, fresh: bool) -> str:
        """Run the jobs of a batch that have no measurement; how it went."""
        jobs = [job for job in batch if fresh or not job.finished(records)]
        if not jobs:
            return "measured before"
        for job in jobs:
            path_of(records, job.name).unlink(missing_ok=True)
        began = time.perf_counter()
        try:
            self.make_ready(jobs[0])
            outcome = {"failed": self.start(jobs, records.resolve())}
        except Missing as reason:
            outcome = {"skipped": str(reason)}
        for job in jobs:
            if not path_of(records, job.name).exists():
                write(records, job.describe() | outcome)
        told = f"{len(jobs)} runs, " if len(batch) > 1 else ""
        last = json.loads(path_of(records, jobs[-1].name).read_text())
        return why_not(last) or f"{told}{time.perf_counter() - began:.0f} s"

    def start(self, jobs: list[Job], records: Path) -> str:
        """Run jobs in a process until it ends; what to say of those that left no record."""
        told = json.dumps([asdict(job) for job in jobs])
        command = [sys.executable, "-m", "benchmarks.harness.job", self.name, told, "--records", str(records)]
        try:
            subprocess.run(command, cwd=ROOT, timeout=self.time_limit, env={**os.environ, **self.environment})
        except subprocess.TimeoutExpired:
            return f"stopped after {self.time_limit} s"
        return "ended without a record"


def say(text: str) -> None:
    print(text, flush=True)
