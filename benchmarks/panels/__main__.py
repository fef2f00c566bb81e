"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import RECORDS, Suite
from benchmarks.panels import report
from benchmarks.panels.cells import DRAWN_SETS, SETS
from benchmarks.panels.goals import ALL_SIZES
from benchmarks.panels.peers import PEERS
from benchmarks.scale import atlases
from benchmarks.scale.generate import N_GENES

CELLS = 1000  # of every data set: Spapros and its evaluator take their time
COSTS = {"bmmc": (5000, 150), "atlas": (200_000, 500)}  # cells and genes of what is timed


class Panels(Suite):
    """Score panels of genes by the evaluator of Spapros, and write docs/panels.md from the records."""

    name = "panels"
    page = "panels.md"
    time_limit = 3600
    has_quick = False
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", nargs="*", choices=DRAWN_SETS, metavar="NAME")
        parser.add_argument(
            "--draws", nargs="*", type=int, default=[], help="other draws of cells, scored in a tenth of the time"
        )
        parser.add_argument("--methods", nargs="*", default=list(PEERS), choices=list(PEERS), metavar="NAME")
        parser.add_argument("--sizes", nargs="*", type=int, default=list(ALL_SIZES), metavar="GENES")
        parser.add_argument("--cells", type=int, default=CELLS, help="cells of every data set, at most")
        parser.add_argument(
            "--cost", nargs="*", default=[], choices=list(COSTS), help="measure seconds and memory alone"
        )
        parser.add_argument("--atlas-cells", type=int, default=COSTS["atlas"][0], help="of the atlas on disk")

    def batches(self, given: Namespace) -> list[list[Job]]:
        if given.cost:
            return [[cost_job(name, given.atlas_cells)] for name in given.cost]
        draws = given.draws or [0]
        return [
            [job(data, method, size, given.cells, draw) for size in given.sizes for method in given.methods]
            for data in given.data or (DRAWN_SETS if given.draws else SETS)
            for draw in draws
        ]

    def make_ready(self, job: Job) -> None:
        if "atlas" in job.inputs:
            atlases.make(Path(job.inputs["atlas"]), job.parameters["n_cells"], N_GENES)

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results, images)


def job(data: str, method: str, n_genes: int, n_cells: int, draw: int = 0) -> Job:
    """A method on a draw of cells of a data set at a size."""
    parameters = {"data": data, "method": method, "n_genes": n_genes, "n_cells": n_cells, "draw": draw}
    return Job(f"{data}-{draw}/{method}/{n_genes}" if draw else f"{data}/{method}/{n_genes}", parameters)


def cost_job(name: str, atlas_cells: int) -> Job:
    """The seconds and memory of a panel."""
    n_cells, n_genes = COSTS[name]
    parameters = {"data": name, "method": "cost", "n_genes": n_genes, "n_cells": n_cells}
    if name != "atlas":
        return Job(f"cost/{name}", parameters)
    atlas = atlases.path_of(RECORDS / "panels" / "atlases", atlas_cells, N_GENES, "h5ad")
    return Job(f"cost/atlas-{atlas_cells}", parameters | {"n_cells": atlas_cells}, {"atlas": str(atlas)})


SUITE = Panels()

if __name__ == "__main__":
    SUITE.main()
