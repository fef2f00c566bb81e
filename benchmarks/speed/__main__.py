"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.speed import measures, report
from benchmarks.speed.races import races


class Speed(Suite):
    """Race peers on data sets, take single measurements, and write docs/benchmarks.md from the records."""

    name = "speed"
    page = "benchmarks.md"
    time_limit = 900

    def add_options(self, parser: ArgumentParser) -> None:
        only = "run jobs that start like this"
        parser.add_argument("--only", nargs="+", default=[""], metavar="DATA[/PEER]", help=only)

    def batches(self, given: Namespace) -> list[list[Job]]:
        names = job_names(given.quick)
        chosen = [name for name in names if any(name.startswith(start) for start in given.only)]
        if not chosen:
            raise ValueError(f"--only {' '.join(given.only)} matches none of {', '.join(names)}")
        return [[speed_job(name, given.quick)] for name in chosen]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results, images)


def job_names(quick: bool) -> list[str]:
    """All jobs, in the order in which they run."""
    raced = [f"{name}/{peer}" for name, race in races(quick).items() for peer in race.peers]
    return [f"{measures.GROUP}/{name}" for name in measures.NAMES] + raced


def speed_job(name: str, quick: bool) -> Job:
    group, what = name.split("/")
    return Job(name, {"group": group, "what": what, "quick": quick})


SUITE = Speed()

if __name__ == "__main__":
    SUITE.main()
