"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from benchmarks.genes import plots, report
from benchmarks.genes.planted import LEVELS
from benchmarks.genes.selectors import SELECTORS
from benchmarks.genes.terms import SETS
from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.quality.data import GOAL_SETS

QUICK = {"n_cells": 400, "n_genes": 1500}


class Genes(Suite):
    """Score genes on data with known programs and on real data, and write docs/genes.md from the records."""

    name = "genes"
    page = "genes.md"
    time_limit = 1200
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--levels", nargs="*", default=list(LEVELS), choices=LEVELS, metavar="NAME")
        parser.add_argument(
            "--cnmf", nargs="*", default=LEVELS[:3], choices=LEVELS[:3], help="levels in the setting of cNMF's paper"
        )
        parser.add_argument("--data", nargs="*", default=list(SETS), choices=list(SETS), metavar="NAME")
        parser.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, ... of every level")
        parser.add_argument(
            "--selected",
            nargs="*",
            choices=list(SELECTORS),
            metavar="SELECTOR",
            help="judge the genes that these select instead; without names, all",
        )
        parser.add_argument(
            "--labelled", nargs="*", default=list(GOAL_SETS), choices=list(GOAL_SETS), help="with --selected: data sets"
        )

    def batches(self, given: Namespace) -> list[list[Job]]:
        if given.selected is not None:
            return selections(given)
        size = QUICK if given.quick else {}
        planted = [[job("planted", level, seed, size)] for level in given.levels for seed in range(given.seeds)]
        paper = [[job("cnmf", level, 0, {"preset": "cnmf", **size})] for level in given.cnmf]
        return planted + paper + [[job("real", name, 0, {})] for name in given.data]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results, plots.draw(results, images))


def selections(given: Namespace) -> list[list[Job]]:
    """Selectors on every draw and data set; those of one share a process."""
    size = QUICK if given.quick else {}
    selectors = given.selected or list(SELECTORS)
    planted = [(level, seed) for seed in range(given.seeds) for level in given.levels]
    return [[selection("selected", level, name, seed, size) for name in selectors] for level, seed in planted] + [
        [selection("labelled", data, name, 0, {}) for name in selectors] for data in given.labelled
    ]


def selection(kind: str, what: str, selector: str, seed: int, size: dict[str, Any]) -> Job:
    """A selector on a draw, or on a data set with known types."""
    parameters = {"kind": kind, "what": what, "selector": selector, "seed": seed, "size": size}
    return Job(f"{kind}/{selector}/{what}/{seed}", parameters)


def job(kind: str, what: str, seed: int, size: dict[str, Any]) -> Job:
    """A draw, or a data set."""
    return Job(f"{kind}/{what}/{seed}", {"kind": kind, "what": what, "seed": seed, "size": size})


SUITE = Genes()

if __name__ == "__main__":
    SUITE.main()
