"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.panels import report
from benchmarks.panels.cells import SETS
from benchmarks.panels.goals import SIZES
from benchmarks.panels.peers import PEERS

CELLS = 1000  # of every data set: Spapros and its evaluator take their time


class Panels(Suite):
    """Score panels of genes by the evaluator of Spapros, and write docs/panels.md from the records."""

    name = "panels"
    page = "panels.md"
    time_limit = 3600
    has_quick = False
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", nargs="*", default=list(SETS), choices=SETS, metavar="NAME")
        parser.add_argument("--methods", nargs="*", default=list(PEERS), choices=list(PEERS), metavar="NAME")
        parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES), metavar="GENES")
        parser.add_argument("--cells", type=int, default=CELLS, help="cells of every data set, at most")

    def batches(self, given: Namespace) -> list[list[Job]]:
        return [
            [job(data, method, size, given.cells) for size in given.sizes for method in given.methods]
            for data in given.data
        ]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results, images)


def job(data: str, method: str, n_genes: int, n_cells: int) -> Job:
    """A method on a data set at a size."""
    parameters = {"data": data, "method": method, "n_genes": n_genes, "n_cells": n_cells}
    return Job(f"{data}/{method}/{n_genes}", parameters)


SUITE = Panels()

if __name__ == "__main__":
    SUITE.main()
