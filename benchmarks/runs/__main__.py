"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.harness.data import DATA
from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.runs import report
from benchmarks.runs.goals import CLEAN, SIZES

QUICK_CELLS, QUICK_SEEDS = 300, 2
SEEDS = 30  # draws of the paper's data


class Runs(Suite):
    """Whole runs of `genesieve run` on bone marrow cells, stage by stage, and its outliers; writes docs/runs.md."""

    name = "runs"
    page = "runs.md"
    time_limit = 900

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--cells", nargs="*", type=int, default=list(SIZES), help="sizes of the runs that are timed"
        )
        parser.add_argument("--outliers", nargs="*", default=[*CLEAN, "paper"], choices=[*DATA, "paper"])

    def batches(self, given: Namespace) -> list[list[Job]]:
        cells = [QUICK_CELLS] if given.quick else given.cells
        seeds = QUICK_SEEDS if given.quick else SEEDS
        timed = [[Job(f"cost/{n}", {"kind": "cost", "n_cells": n})] for n in cells]
        drawn = [[Job("outliers/paper", {"kind": "drawn", "n_seeds": seeds})]] if "paper" in given.outliers else []
        real = [name for name in given.outliers if name != "paper"]
        return timed + drawn + [[Job(f"outliers/{name}", {"kind": "clean", "data": name})] for name in real]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results)


SUITE = Runs()

if __name__ == "__main__":
    SUITE.main()
