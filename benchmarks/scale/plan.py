"""What is measured: the sizes, and every job that runs in a process of its own."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.scale.generate import N_GENES

GROUPS = ("disk", "growth", "dask", "passes")
FORMATS = ("h5ad", "zarr")
# Fits of a given number of iterations: from the default start they might be done before.
LONG = {"init": "random", "tol": 0.0}


@dataclass(frozen=True)
class Plan:
    """Sizes of the data and of the fits."""

    n_genes: int  # of the atlases
    rank: int
    budget: int  # of genes
    growth_cells: tuple[int, ...]
    disk_cells: int
    passes_cells: int
    few_cells: int  # on the cluster, where bytes are compared
    many_cells: int
    block_cells: int  # a block of the cluster
    memory: str  # the limit that fits of growing size are given
    passes: int  # whose memory is watched
    cluster_passes: int  # that are timed
    rounds: int  # of what is compared by its seconds, taken by turns
    quick: bool = False


PLAN = Plan(
    n_genes=N_GENES,
    rank=20,
    budget=2000,
    growth_cells=(50_000, 100_000, 200_000, 400_000, 1_300_000),
    disk_cells=200_000,
    passes_cells=200_000,
    few_cells=25_000,
    many_cells=100_000,
    block_cells=2500,
    memory="3GB",
    passes=20,
    cluster_passes=6,
    rounds=3,
)
QUICK = replace(
    PLAN,
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


@dataclass(frozen=True)
class Job:
    """A fit to measure."""

    name: str  # the group of the job, a slash, and what sets it apart
    cells: int
    format: str
    where: str  # "file", "memory" or "cluster"
    memory: str | None = None
    workers: int = 0
    iterations: int | None = None  # exactly so many; None: until it converges
    warm_cache: bool = False  # read the whole file before

    @property
    def group(self) -> str:
        return self.name.partition("/")[0]

    @property
    def fit_options(self) -> dict[str, Any]:
        """Options of `genesieve.tl.ssnmf` besides those that all jobs share."""
        options: dict[str, Any] = {} if self.memory is None else {"memory": self.memory}
        return options if self.iterations is None else {**options, **LONG, "max_iter": self.iterations}

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def jobs(plan: Plan, kind: str) -> list[Job]:
    """All jobs, in the order in which they run; ``kind`` is the format of those that need only one."""
    return [*disk_jobs(plan), *growth_jobs(plan, kind), *dask_jobs(plan, kind), passes_job(plan, kind)]


def disk_jobs(plan: Plan) -> list[Job]:
    """From file and from memory by turns."""
    return [
        Job(disk_name(kind, where, round_), plan.disk_cells, kind, where, warm_cache=True)
        for kind in FORMATS
        for round_ in range(plan.rounds)
        for where in ("file", "memory")
    ]


def growth_jobs(plan: Plan, kind: str) -> list[Job]:
    """From file at every size."""
    return [Job(growth_name(cells, kind), cells, kind, "file", memory=plan.memory) for cells in plan.growth_cells]


def dask_jobs(plan: Plan, kind: str) -> list[Job]:
    """One worker and two by turns, then two on fewer cells."""
    sizes = [(plan.many_cells, workers, round_) for round_ in range(plan.rounds) for workers in (1, 2)]
    return [
        Job(dask_name(*size, kind), size[0], kind, "cluster", workers=size[1], iterations=plan.cluster_passes)
        for size in [*sizes, (plan.few_cells, 2, 0)]
    ]


def passes_job(plan: Plan, kind: str) -> Job:
    """Many passes from file."""
    return Job(passes_name(plan.passes_cells, kind), plan.passes_cells, kind, "file", iterations=plan.passes)


def disk_name(kind: str, where: str, round_: int) -> str:
    return f"disk/{kind}-{where}-{round_}"


def growth_name(cells: int, kind: str) -> str:
    return f"growth/{short(cells)}-{kind}"


def dask_name(cells: int, workers: int, round_: int, kind: str) -> str:
    return f"dask/{short(cells)}-{kind}-{workers}-{round_}"


def passes_name(cells: int, kind: str) -> str:
    return f"passes/{short(cells)}-{kind}"


def short(cells: int) -> str:
    """A number of cells for a name, in thousands."""
    return f"{cells / 1000:g}k"
