"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.samples import report
from benchmarks.samples.job import DESIGNS
from benchmarks.samples.peers import PEERS

SAMPLES = (6, 8, 12)
QUICK = {"n_cells": 60, "n_genes": 400, "n_samples": 4, "n_shared": 3, "n_private": 1, "n_activities": 1}


class Samples(Suite):
    """Measure programs across samples and comparisons between groups, and write docs/samples.md from the records."""

    name = "samples"
    page = "samples.md"
    time_limit = 1200
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS), metavar="NAME")
        parser.add_argument("--methods", nargs="*", default=list(PEERS), choices=list(PEERS), metavar="NAME")
        parser.add_argument("--seeds", type=int, default=10, help="seeds 0, 1, ... of every design")
        parser.add_argument("--samples", nargs="*", type=int, default=SAMPLES, help="numbers of samples compared")
        parser.add_argument("--draws", type=int, default=10, help="draws whose conditions are permuted, 100 times each")

    def batches(self, given: Namespace) -> list[list[Job]]:
        across = {**QUICK, "budget": 100, "ranks": [3, 4, 5]} if given.quick else {}
        apart = {name: size for name, size in QUICK.items() if name not in ("n_samples", "n_private")}
        apart = {**apart, "budget": 100} if given.quick else {}
        jobs = [
            job("shared", f"{method}, {design}", seed, across)
            for design in given.designs
            for method in given.methods
            for seed in range(given.seeds)
        ]
        batches = [[each] for each in jobs]
        permutations = {"permutations": 5} if given.quick else {}
        for number in given.samples:  # seconds each: one process for all draws
            for kind, size in (("something", apart), ("nothing", {**apart, **permutations})):
                batches.append([job(kind, str(number), seed, size) for seed in range(given.draws)])
        return batches

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results)


def job(kind: str, what: str, seed: int, size: dict[str, Any]) -> Job:
    """A draw."""
    return Job(f"{kind}/{what}/{seed}", {"kind": kind, "what": what, "seed": seed, "size": size})


SUITE = Samples()

if __name__ == "__main__":
    SUITE.main()
