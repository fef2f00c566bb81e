"""What is measured: the sizes, and every fit that runs in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.scale.generate import N_GENES

GROUPS = ("disk", "growth", "dask", "passes")
FORMATS = ("h5ad", "zarr")
# Fits of a given number of iterations: from the default start they might be done before.
LONG = {"init": "random", "tol": 0.0}


@dataclass(frozen=True)
class Plan:
    """Sizes of the data and of the fits."""

    n_genes: int = N_GENES  # of the atlases
    rank: int = 20
    budget: int = 2000  # of genes
    growth_cells: tuple[int, ...] = (50_000, 100_000, 200_000, 400_000, 1_300_000)
    disk_cells: int = 200_000
    passes_cells: int = 200_000
    few_cells: int = 25_000  # on the cluster, where bytes are compared
    many_cells: int = 100_000
    block_cells: int = 2500  # a block of the cluster
    memory: str = "3GB"  # the limit that fits of growing size are given
    passes: int = 20  # whose memory is watched
    cluster_passes: int = 6  # that are timed
    rounds: int = 3  # of what is compared by its seconds, taken by turns
    quick: bool = False


PLAN = Plan()
QUICK = Plan(
    n_genes=1500,
    rank=3,
    budget=100,
    growth_cells=(2500, 3500, 4500, 6000),
    disk_cells=2500,
    passes_cells=2500,
    few_cells=2500,
    many_cells=6000,
    block_cells=500,
    cluster_passes=2,
    rounds=1,
    quick=True,
)


def plan_of(quick: bool) -> Plan:
    """The plan, or its tiny form."""
    return QUICK if quick else PLAN


@dataclass(frozen=True)
class Fit:
    """A fit to measure."""

    group: str
    cells: int
    format: str
    where: str  # "file", "memory" or "cluster"
    memory: str | None = None
    workers: int = 0
    round: int = 0
    iterations: int | None = None  # exactly so many; None: until it converges
    warm_cache: bool = False  # read the whole file before

    @property
    def name(self) -> str:
        """The group, a slash, and what sets it apart there."""
        what = {
            "disk": f"{self.format}-{self.where}-{self.round}",
            "growth": f"{short(self.cells)}-{self.format}",
            "dask": f"{short(self.cells)}-{self.format}-{self.workers}-{self.round}",
            "passes": f"{short(self.cells)}-{self.format}",
        }
        return f"{self.group}/{what[self.group]}"

    @property
    def fit_options(self) -> dict[str, Any]:
        """Options of `genesieve.tl.ssnmf` besides those that all fits share."""
        options: dict[str, Any] = {} if self.memory is None else {"memory": self.memory}
        return options if self.iterations is None else {**options, **LONG, "max_iter": self.iterations}


def fits(plan: Plan, kind: str) -> list[Fit]:
    """All fits, in the order in which they run; ``kind`` is the format of those that need only one."""
    disk = [  # from file and from memory by turns
        Fit("disk", plan.disk_cells, each, where, round=count, warm_cache=True)
        for each in FORMATS
        for count in range(plan.rounds)
        for where in ("file", "memory")
    ]
    growth = [Fit("growth", cells, kind, "file", memory=plan.memory) for cells in plan.growth_cells]
    cluster = [(plan.many_cells, workers, count) for count in range(plan.rounds) for workers in (1, 2)]
    dask = [  # one worker and two by turns, then two on fewer cells
        Fit("dask", cells, kind, "cluster", workers=workers, round=count, iterations=plan.cluster_passes)
        for cells, workers, count in [*cluster, (plan.few_cells, 2, 0)]
    ]
    return [*disk, *growth, *dask, passes_fit(plan, kind)]


def passes_fit(plan: Plan, kind: str) -> Fit:
    """Many passes from file."""
    return Fit("passes", plan.passes_cells, kind, "file", iterations=plan.passes)


def short(cells: int) -> str:
    """A number of cells for a name, in thousands."""
    return f"{cells / 1000:g}k"
