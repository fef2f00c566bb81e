"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.programs import plots, report
from benchmarks.programs.peers import PEERS
from benchmarks.programs.score import LEVELS
from benchmarks.programs.stability import RANKS

SEEDS_OF_OURS, SEEDS_OF_PEERS = 5, 2  # on real data
QUICK: dict[str, Any] = {"n_cells": 300, "n_genes": 800, "n_types": 4, "n_activities": 1}


class Programs(Suite):
    """Fit counts with known programs by every peer, and write docs/programs.md from the records."""

    name = "programs"
    page = "programs.md"
    time_limit = 1800
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--levels", nargs="*", default=list(LEVELS), choices=LEVELS, metavar="NAME")
        parser.add_argument("--only", nargs="*", default=list(PEERS), choices=list(PEERS), metavar="PEER")
        parser.add_argument("--seeds", type=int, default=3, help="draws 0, 1, ... of every level, for every peer")
        parser.add_argument("--cnmf", action="store_true", help="in the setting of cNMF's paper instead")
        parser.add_argument("--again", action="store_true", help="fit each draw with a second seed, too")
        parser.add_argument(
            "--stability",
            nargs="*",
            choices=list(RANKS),
            metavar="DATA",
            help="how alike seeds are on these real data instead; without names, on all",
        )

    def batches(self, given: Namespace) -> list[list[Job]]:
        if given.stability is not None:
            return [[on_real(peer, data)] for data in given.stability or RANKS for peer in given.only]
        size = {"preset": "cnmf"} if given.cnmf else {}
        if given.quick:
            size |= QUICK
        levels = [level for level in given.levels if not given.cnmf or level != "faint"]
        setting = "cnmf" if given.cnmf else "planted"
        return [
            [job(setting, peer, level, seed, size, given.again) for level in levels]
            for seed in range(given.seeds)
            for peer in given.only
        ]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results, plots.draw(results, images))


def job(setting: str, peer: str, level: str, seed: int, size: dict[str, Any], again: bool) -> Job:
    """A peer on a draw."""
    parameters = {"peer": peer, "level": level, "seed": seed, "size": size, "again": again}
    return Job(f"{setting}/{peer}/{level}/{seed}", parameters)


def on_real(peer: str, data: str) -> Job:
    """Seeds of a peer on a real data set."""
    n_seeds = SEEDS_OF_OURS if PEERS[peer].group == "genesieve" else SEEDS_OF_PEERS
    return Job(f"real/{peer}/{data}", {"peer": peer, "data": data, "n_seeds": n_seeds})


SUITE = Programs()

if __name__ == "__main__":
    SUITE.main()
