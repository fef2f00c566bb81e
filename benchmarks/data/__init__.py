"""The data sets: one file each, and the list of who is run on them."""

from __future__ import annotations

from functools import partial

from benchmarks.data import atlas, bmmc, kang, pollen
from benchmarks.protocol import DataSet

PLAIN = ("genesieve_nmf", "sklearn_cd", "sklearn_minibatch", "rcppml", "nmf_torch")
SELECTING = ("genesieve_l20", "palm", "mapalm")


def _always() -> None:
    """Simulated data is never missing."""


DATA: dict[str, DataSet] = {
    "atlas-20k": DataSet(
        "simulated atlas, 20,000 cells x 15,000 genes", atlas.load, _always, 12, 2000, PLAIN + SELECTING
    ),
    "bmmc": DataSet("bone marrow (10x), 8,390 x 18,479", bmmc.load, bmmc.missing, 12, 2000, PLAIN + SELECTING),
    "kang": DataSet("PBMC with IFN-beta, 14,039 x 1,000", kang.load, kang.missing, 12, 200, PLAIN + SELECTING),
    "pollen": DataSet("Pollen, dense, 301 cells", pollen.load, pollen.missing, 4, 2000, PLAIN + SELECTING),
    "atlas-100k": DataSet(
        "simulated atlas, 100,000 cells x 15,000 genes",
        partial(atlas.load, 100_000),
        _always,
        12,
        2000,
        ("genesieve_nmf", "rcppml", "genesieve_l20"),
        seeds=(0,),
        max_iterations=20,
    ),
}

# Small enough for a test, and larger than the sample that a fit of many cells starts from.
QUICK_DATA: dict[str, DataSet] = {
    "atlas-20k": DataSet(
        "simulated atlas, 2,200 cells x 300 genes",
        partial(atlas.load, 2200, 300),
        _always,
        3,
        60,
        ("genesieve_nmf", "sklearn_cd", "rcppml", "nmf_torch", "genesieve_l20", "palm"),
        seeds=(0,),
        max_iterations=10,
    ),
}
