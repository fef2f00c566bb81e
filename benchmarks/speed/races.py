"""The races: a matrix, and who runs on it with what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import atlas
from benchmarks.harness.data import DATA, log_normalised
from benchmarks.harness.meter import available_threads
from benchmarks.speed.protocol import Task

PLAIN = ("genesieve_nmf", "sklearn_cd", "sklearn_minibatch", "rcppml", "nmf_torch")
SELECTING = ("genesieve_l20", "palm", "mapalm")


@dataclass(frozen=True)
class Race:
    """A matrix, how to get it, and what its peers are asked for."""

    title: str
    load: Callable[[], Any]  # (cells, genes)
    rank: int = 12
    n_genes: int = 2000
    peers: tuple[str, ...] = PLAIN + SELECTING
    seeds: tuple[int, ...] = (0, 1, 2)
    max_iterations: int = 200

    def task(self) -> Task:
        """What its peers are asked for."""
        return Task(self.rank, self.n_genes, self.seeds, self.max_iterations, available_threads())


def counted(name: str) -> sparse.csr_array:
    """Counts as they are raced on: log-normalised, CSR in single precision."""
    return log_normalised(DATA[name].counts())


def full_length(name: str) -> np.ndarray:
    """Full-length data as the paper prepared it: log2(x + 1), dense in double precision, rarely seen genes dropped."""
    X = np.log2(DATA[name].counts().toarray().astype(np.float64) + 1.0)
    return np.ascontiguousarray(X[:, (X > 0).mean(axis=0) >= DATA[name].min_cells])


RACES: dict[str, Race] = {
    "atlas-20k": Race("simulated atlas, 20,000 cells x 15,000 genes", atlas.load),
    "bmmc": Race(DATA["bmmc"].title, partial(counted, "bmmc")),
    "kang": Race("PBMC with IFN-beta, 14,039 x 1,000", partial(counted, "kang"), n_genes=200),
    "pollen": Race("Pollen, dense, 301 cells", partial(full_length, "pollen"), rank=4),
    "atlas-100k": Race(
        "simulated atlas, 100,000 cells x 15,000 genes",
        partial(atlas.load, 100_000),
        peers=("genesieve_nmf", "rcppml", "genesieve_l20"),
        seeds=(0,),
        max_iterations=20,
    ),
}

# Small enough for a test, and larger than the sample that a fit of many cells starts from.
QUICK_RACES: dict[str, Race] = {
    "atlas-20k": Race(
        "simulated atlas, 2,200 cells x 300 genes",
        partial(atlas.load, 2200, 300),
        rank=3,
        n_genes=60,
        peers=("genesieve_nmf", "sklearn_cd", "rcppml", "nmf_torch", "genesieve_l20", "palm"),
        seeds=(0,),
        max_iterations=10,
    ),
}


def races(quick: bool) -> dict[str, Race]:
    """The races, or their tiny form."""
    return QUICK_RACES if quick else RACES
