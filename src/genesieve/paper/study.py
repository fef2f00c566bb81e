"""What the experiments share: the data sets given, the number of starts, where results go."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genesieve import datasets
from genesieve._checks import listing
from genesieve.core.solvers import Factors
from genesieve.io import FileError, RequestError, read
from genesieve.paper.harness import Data, Done, Progress, Task, run_tasks
from genesieve.paper.printed import GENES_KEPT
from genesieve.paper.published import REAL, SYNTHETIC, Recipe
from genesieve.paper.report import Section, long_table
from genesieve.pp import prepare

if TYPE_CHECKING:
    from anndata import AnnData

TASKS = "tasks"  # folder of the results of single tasks, inside the output folder
# A sparse matrix that is filled by more than this is faster as a dense one.
DENSE_SHARE = 0.1
# Where the published budget exceeds the genes at hand: its share of the genes that the paper had on Pollen.
BUDGET_SHARE = REAL.n_genes / GENES_KEPT["pollen"]


@dataclass(frozen=True)
class Labelled:
    """A data set that the user gave, prepared as the paper did."""

    data: Data
    adata: AnnData
    column: str  # of obs, with the classes


@dataclass
class Study:
    """One call of ``genesieve reproduce``."""

    folder: Path
    n_starts: int = 10
    n_jobs: int | None = None
    labelled: Sequence[Labelled] = ()
    reference: Data | None = None  # the published synthetic data
    gene_sets: Path | None = None
    progress: Progress | None = None

    @property
    def synthetic(self) -> Data:
        """The synthetic data: the published ones where they were given, else a fresh draw."""
        return self.reference or draw(0)

    @property
    def starts(self) -> range:
        return range(self.n_starts)

    def run(self, tasks: Sequence[Task], *data: Data) -> list[Done]:
        """Run the tasks, or find their results."""
        by_name = {each.name: each for each in data}
        return run_tasks(tasks, by_name, self.folder / TASKS, n_jobs=self.n_jobs, progress=self.progress)


def draw(seed: int) -> Data:
    """The paper's synthetic data, drawn anew."""
    X, labels = datasets.synthetic(random_state=seed)
    return Data(f"draw{seed}", X, labels, SYNTHETIC, note=f"a fresh draw of the synthetic data (seed {seed})")


def read_reference(path: Path) -> Data:
    """The published synthetic data with its starting points: X, labels, W0 and H0, genes x cells."""
    if not path.exists():
        raise FileNotFoundError(f"{path} must be the published synthetic data, got nothing there")
    try:
        arrays = dict(np.load(path, allow_pickle=False))
    except (ValueError, TypeError, OSError, zipfile.BadZipFile):
        raise FileError(f"{path} must be an .npz file with the arrays X, labels, W0 and H0") from None
    missing = {"X", "labels", "W0", "H0"} - set(arrays)
    if missing:
        raise FileError(f"{path} must have the arrays X, labels, W0 and H0, got none of {sorted(missing)}")
    starts = tuple(
        Factors(np.ascontiguousarray(H.T), np.ascontiguousarray(W))
        for W, H in zip(arrays["W0"], arrays["H0"], strict=True)
    )
    X, labels = np.ascontiguousarray(arrays["X"].T), arrays["labels"]
    return Data("published", X, labels, SYNTHETIC, starts, note="the published synthetic data and starting points")


def read_labelled(path: Path, column: str, *, values: str = "auto") -> Labelled:
    """A data set from a file, prepared as the paper did."""
    adata = read(path)
    if column not in adata.obs:
        raise RequestError(
            f"labels must be a column of obs, got {column!r}; {path.name} has {listing(list(adata.obs))}"
        )
    known = adata.obs[column].notna().to_numpy()
    if not known.all():
        adata = adata[known].copy()
    n_given = adata.n_vars
    prepare(adata, values=values, preset="paper", raw_layer=None)
    name = _name_of(path)
    data = Data(name, _dense(adata.X), adata.obs[column].astype(str).to_numpy(), _recipe(adata.n_vars))
    return Labelled(replace(data, note=_note(data, column, n_given)), adata, column)


def _name_of(path: Path) -> str:
    """The paper's data sets go by its names, others by their file's."""
    stem = path.stem.lower()
    return next((name for name in GENES_KEPT if name in stem), stem)


def _dense(X: Any) -> Any:
    """Well-filled values as a dense matrix, in double precision."""
    if hasattr(X, "toarray") and X.nnz > DENSE_SHARE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return X.astype(np.float64)


def _recipe(n_genes: int) -> Recipe:
    """The published numbers, in proportion where there are fewer genes than the budget."""
    if n_genes > REAL.n_genes:
        return REAL
    budget = max(1, round(BUDGET_SHARE * n_genes))
    bound = max(1.0, REAL.bound * float(np.sqrt(n_genes / GENES_KEPT["pollen"])))
    return replace(REAL, n_genes=budget, n_entries=budget, bound=round(bound, 2))


def by_data_set(
    name: str, title: str, note: str, study: Study, of_data: Callable[[Study, Data], tuple[str, list[Done]]]
) -> Section:
    """A section with a part for each data set that the user gave, and one table of all runs."""
    texts, done = zip(*(of_data(study, labelled.data) for labelled in study.labelled), strict=True)
    return Section(name, title, note + "\n".join(texts), tables={name: long_table(chain(*done))})


def comparable(data: Data) -> bool:
    """Whether the genes are about those that the paper had; half of them are asked for."""
    return 2 * int(data.X.shape[1]) >= GENES_KEPT.get(data.name, 0)


def _note(data: Data, column: str, n_given: int) -> str:
    cells, genes = data.X.shape
    note = f"{cells:,} cells, {data.rank} classes (`obs[{column!r}]`), {genes:,} of {n_given:,} genes kept"
    if data.name in GENES_KEPT:
        note += f" (the paper: {GENES_KEPT[data.name]:,})"
        if not comparable(data):
            note += ", so that its rows say little about the printed ones"
    if data.recipe != REAL:
        note += f"; budget {data.recipe.n_genes} genes, the published share, as there are not 2,000"
    return note
