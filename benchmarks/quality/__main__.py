"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.quality import report
from benchmarks.quality.data import SETS
from benchmarks.quality.job import METHODS


class Quality(Suite):
    """Run methods on labelled data sets, and write docs/quality.md from the records."""

    name = "quality"
    page = "quality.md"
    time_limit = 1200
    has_quick = False
    # Threads of BLAS and OpenMP wait for each other where cores are shared, and their number may change labels.
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    def add_options(self, parser: ArgumentParser) -> None:
        methods = list(METHODS)
        parser.add_argument(
            "--only", nargs="+", default=methods, choices=methods, metavar="NAME", help="methods to run"
        )
        parser.add_argument("--data", nargs="+", default=list(SETS), choices=list(SETS), metavar="NAME")
        parser.add_argument("--seeds", type=int, default=5, help="seeds 0, 1, ... of every method")

    def batches(self, given: Namespace) -> list[list[Job]]:
        return [seeds_of(name, method, given.seeds) for method in given.only for name in given.data]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results, images)


def seeds_of(name: str, method: str, n_seeds: int) -> list[Job]:
    """A method on a data set, seed by seed."""
    return [Job(f"{name}/{method}/{seed}", {"data": name, "method": method, "seed": seed}) for seed in range(n_seeds)]


SUITE = Quality()

if __name__ == "__main__":
    SUITE.main()
