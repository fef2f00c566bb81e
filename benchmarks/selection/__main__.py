"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.quality.data import SETS
from benchmarks.selection import report
from benchmarks.selection.peers import PEERS
from benchmarks.selection.planted import LEVELS, SHAPES

QUICK = {"n_cells": 300, "n_genes": 800}


class Selection(Suite):
    """Suggest numbers of programs and genes where they are known, and write docs/selection.md from the records."""

    name = "selection"
    page = "selection.md"
    time_limit = 1200
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--levels", nargs="*", default=list(LEVELS), choices=LEVELS, metavar="NAME")
        shapes = [f"{types}+{activities}" for types, activities in SHAPES]
        parser.add_argument("--shapes", nargs="*", default=shapes, choices=shapes, metavar="TYPES+ACTIVITIES")
        parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS), metavar="NAME")
        parser.add_argument("--data", nargs="*", default=list(SETS), choices=list(SETS), metavar="NAME")
        parser.add_argument("--seeds", type=int, default=3, help="seeds of every case")
        parser.add_argument("--first-seed", type=int, default=100)
        parser.add_argument("--peer-seeds", type=int, default=1, help="of these, how many peers get")
        parser.add_argument("--cells", type=int, default=2000)
        parser.add_argument("--genes", type=int, default=8000)

    def batches(self, given: Namespace) -> list[list[Job]]:
        size = QUICK if given.quick else {"n_cells": given.cells, "n_genes": given.genes}
        first, jobs = given.first_seed, []
        shapes = [shape for shape in SHAPES if f"{shape[0]}+{shape[1]}" in given.shapes]
        for kind, count in (("planted", given.seeds), *((peer, given.peer_seeds) for peer in given.peers)):
            seeds = range(first, first + count)
            for level in given.levels:
                draws = [job(kind, level, seed, shape, size) for seed in seeds for shape in shapes]
                jobs += [draws] if kind == "planted" else [[draw] for draw in draws]
        jobs = [batch for batch in jobs if batch]
        return jobs + [[job("real", name, 0, (0, 0), {})] for name in given.data]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        report.draw(results, images / "selection-signals.png")
        return report.fill(results)


def job(kind: str, what: str, seed: int, shape: tuple[int, int], size: dict[str, Any]) -> Job:
    """A draw, or a data set."""
    name = f"{kind}/{what}/{shape[0]}/{shape[1]}/{seed}"
    return Job(name, {"kind": kind, "what": what, "seed": seed, "shape": list(shape), "size": size})


SUITE = Selection()

if __name__ == "__main__":
    SUITE.main()
