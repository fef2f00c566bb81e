"""The command of the suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.harness.job import Job
from benchmarks.harness.results import Results
from benchmarks.harness.suite import RECORDS, Suite
from benchmarks.scale import atlases, report
from benchmarks.scale.plan import FORMATS, GROUPS, Fit, Plan, fits, plan_of


class Scale(Suite):
    """Measure fits of data outside memory, and write docs/scale.md from the records; missing atlases are made first."""

    name = "scale"
    page = "scale.md"
    time_limit = 3600

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sizes", type=int, nargs="+", metavar="CELLS", help="for growth; default: as on the page")
        parser.add_argument("--only", nargs="+", default=GROUPS, choices=GROUPS, help="what to measure")
        parser.add_argument("--format", choices=FORMATS, default="h5ad", help="of all but disk, which takes both")
        parser.add_argument("--folder", type=Path, help="where atlases are or will be")

    def batches(self, given: Namespace) -> list[list[Job]]:
        plan = plan_of(given.quick)
        plan = replace(plan, growth_cells=tuple(sorted(set(given.sizes)))) if given.sizes else plan
        folder = given.folder or (given.output or RECORDS / self.name) / "atlases"
        return [[scale_job(fit, plan, folder)] for fit in fits(plan, given.format) if fit.group in given.only]

    def make_ready(self, job: Job) -> None:
        plan = plan_of(job.parameters["quick"])
        atlases.make(Path(job.inputs["atlas"]), job.parameters["cells"], plan.n_genes)

    def fill(self, results: Results, given: Namespace, images: Path) -> dict[str, str]:
        return report.fill(results, given.format, images)


def scale_job(fit: Fit, plan: Plan, folder: Path) -> Job:
    """A fit of an atlas that is in a folder, or will be."""
    atlas = atlases.path_of(folder.resolve(), fit.cells, plan.n_genes, fit.format)
    return Job(fit.name, {**asdict(fit), "rank": plan.rank, "quick": plan.quick}, {"atlas": str(atlas)})


SUITE = Scale()

if __name__ == "__main__":
    SUITE.main()
