"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from benchmarks.batches import report
from benchmarks.batches.planted import EFFECTS, LEVELS
from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite

QUICK = {"n_cells": 400, "n_genes": 800}


class Batches(Suite):
    """Fits with batches on planted samples and on Kang's cells; writes the tables of docs/batches.md."""

    name = "batches"
    page = "batches.md"
    time_limit = 1800

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--levels", nargs="*", default=list(LEVELS), choices=LEVELS, metavar="NAME")
        parser.add_argument("--effects", nargs="*", type=float, default=list(EFFECTS), metavar="SPREAD")
        parser.add_argument("--kang", nargs="*", default=list(report.KANG), choices=list(report.KANG), metavar="HOW")
        ways = list(report.INTERFERON)
        parser.add_argument("--interferon", nargs="*", default=ways, choices=ways, metavar="HOW")
        parser.add_argument("--seeds", type=int, default=2, help="seeds 0, 1, ... of everything")

    def batches(self, given: Namespace) -> list[list[Job]]:
        size, seeds = QUICK if given.quick else {}, range(given.seeds)
        drawn = [(level, effect, seed) for level in given.levels for effect in given.effects for seed in seeds]
        planted = [[job("planted", level, effect, seed, size)] for level, effect, seed in drawn]
        real = {"kang": given.kang, "interferon": given.interferon}
        return planted + [[job(kind, how, 0.0, seed, {})] for kind in real for how in real[kind] for seed in seeds]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results)


def job(kind: str, what: str, effect: float, seed: int, size: dict[str, Any]) -> Job:
    """A draw, or a way to label Kang's cells."""
    settings = {"kind": kind, "what": what, "effect": effect, "seed": seed, "size": size}
    return Job(f"{kind}/{what}/{effect}/{seed}", settings)


SUITE = Batches()

if __name__ == "__main__":
    SUITE.main()
