"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.harness.job import Job
from benchmarks.harness.meter import available_threads
from benchmarks.harness.results import Results
from benchmarks.harness.suite import Suite
from benchmarks.ranks import report
from benchmarks.ranks.data import MATRICES, RANKS, matrices
from benchmarks.ranks.peers import PEERS


class Ranks(Suite):
    """Fit at many ranks beside peers, and write docs/ranks.md from the records."""

    name = "ranks"
    page = "ranks.md"
    time_limit = 800

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", nargs="+", default=list(MATRICES), choices=list(MATRICES), metavar="NAME")
        parser.add_argument("--ranks", nargs="+", type=int, default=list(RANKS), metavar="RANK")
        parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS), metavar="NAME")
        parser.add_argument("--seeds", type=int, default=3, help="of everyone")
        parser.add_argument(
            "--jobs", type=int, default=available_threads(), help="threads; times of one are processor seconds"
        )

    def batches(self, given: Namespace) -> list[list[Job]]:
        return [
            [rank_job(name, peer, rank, seed, n_jobs=given.jobs, quick=given.quick)]
            for name, matrix in matrices(given.quick).items()
            for rank in matrix.ranks
            for peer in given.peers
            for seed in range(given.seeds)
            if name in given.data
            and (given.quick or rank in given.ranks)
            and (peer != "budget" or matrix.n_genes is not None)
        ]

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results, images)


def rank_job(data: str, peer: str, rank: int, seed: int, *, n_jobs: int, quick: bool) -> Job:
    about = {"data": data, "peer": peer, "rank": rank, "seed": seed, "n_jobs": n_jobs, "quick": quick}
    return Job(f"{data}/{peer}/{rank}/{seed}", about)


SUITE = Ranks()

if __name__ == "__main__":
    SUITE.main()
