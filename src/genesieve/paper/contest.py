"""The contest behind figure 3 and tables 2 and 3: every method from every start, scored against known classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genesieve import metrics
from genesieve.estimators.methods import METHODS
from genesieve.estimators.ssnmf import SSNMF
from genesieve.paper import published
from genesieve.paper.harness import Data, Done, Task
from genesieve.paper.printed import NAMES, Score

DEFAULT = "genesieve"  # the method that is not in the paper: SSNMF with nothing but rank and budget
# Three ways to run a method: as its authors did, as the paper writes it, and genesieve's own.
PUBLISHED, WRITTEN, OURS = "published", "written", "default"


def nmi(data: Data, labels: np.ndarray) -> float:
    """Normalised as published, by the arithmetic mean of the entropies."""
    return metrics.nmi(data.labels, labels, average="arithmetic")


def score(data: Data, labels: np.ndarray, n_genes: int) -> dict[str, float]:
    """All scores of a clustering."""
    truth = data.labels
    return {
        "nmi": nmi(data, labels),
        "nmi_geometric": metrics.nmi(truth, labels),
        "purity": metrics.purity(truth, labels),
        "entropy": metrics.entropy(truth, labels),
        "entropy_given_classes": metrics.entropy(truth, labels, given="classes"),
        "genes": n_genes,
    }


def as_published(data: Data, task: Task) -> dict[str, Any]:
    """A run by the published recipe, with the NMI after every stage of the penalty."""
    recipe = replace(data.recipe, **task.options)
    fit = published.METHODS[task.method](data.X, data.start(task.start), recipe, task.start)
    path = [(stage.rho, nmi(data, stage.factors.H.argmax(axis=1))) for stage in fit.stages]
    return score(data, fit.labels, fit.n_genes) | {"stages": path}


def as_written(data: Data, task: Task) -> dict[str, float]:
    """A run of `genesieve.METHODS`, the algorithms as the paper writes them."""
    recipe = replace(data.recipe, **task.options)
    options: dict[str, Any] = {"n_genes": recipe.n_genes, "random_state": task.start}
    if task.method.endswith("_l0") and not task.method.startswith("kmeans"):
        options["n_genes"] = max(1, recipe.n_entries // data.rank)
    if task.method.startswith("kmeans"):
        options |= {"bound": recipe.bound} if task.method == "kmeans_l1" else {}
    else:
        options |= {"max_iter": recipe.max_iter, "n_jobs": 1}
    return _fit(data, METHODS[task.method](data.rank, **options))


def by_default(data: Data, task: Task) -> dict[str, float]:
    """A fit with nothing chosen but the rank and the budget."""
    return _fit(data, default_model(data, task, n_genes=task.options.get("n_genes", data.recipe.n_genes)))


def default_model(data: Data, task: Task, **options: Any) -> SSNMF:
    """SSNMF with the data's rank and budget; one thread, as tasks run side by side."""
    return SSNMF(data.rank, **{"n_genes": data.recipe.n_genes, "random_state": task.start, "n_jobs": 1, **options})


def _fit(data: Data, model: Any) -> dict[str, float]:
    model.fit(data.X)
    return score(data, model.labels_, int(model.get_support().sum()))


WORK: Mapping[str, Callable[[Data, Task], Mapping[str, Any]]] = {
    PUBLISHED: as_published,
    WRITTEN: as_written,
    OURS: by_default,
}


def tasks(
    data: Data, way: str, starts: Iterable[int], methods: Sequence[str] = tuple(NAMES), **options: Any
) -> list[Task]:
    """The tasks of a data set, run one way."""
    if way == OURS:
        defaults = {name: value for name, value in SSNMF(data.rank).get_params().items() if name != "random_state"}
        methods, options = (DEFAULT,), options | {"defaults": repr(defaults)}  # a changed default is another task
    return [Task(WORK[way], data.name, method, start, options) for method in methods for start in starts]


def summary(done: Iterable[Done], column: str = "nmi") -> dict[tuple[str, str], Score]:
    """Mean and sd over starts, by way and method."""
    values: dict[tuple[str, str], list[float]] = {}
    way_of = {work: way for way, work in WORK.items()}
    for task, result, _ in done:
        values.setdefault((way_of[task.work], task.method), []).append(result[column])
    return {key: Score(float(np.mean(each)), _sd(each)) for key, each in values.items()}


def mean_path(paths: Sequence[Sequence[Sequence[float]]], n_stages: int | None = None) -> NDArray[np.float64]:
    """Strength and mean scores (stages, columns), stage by stage; a run that ended sooner stays where it was."""
    longest = max(paths, key=len)
    missing = [(n_stages or len(longest)) - len(path) for path in paths]
    padded = [np.pad(path, ((0, more), (0, 0)), mode="edge") for path, more in zip(paths, missing, strict=True)]
    mean: NDArray[np.float64] = np.mean(padded, axis=0)
    mean[: len(longest), 0] = [strength for strength, *_ in longest]
    return mean


def best_published(scores: Mapping[tuple[str, str], Score]) -> str:
    """The paper's method with the highest mean, run as published."""
    return max((method for way, method in scores if way == PUBLISHED), key=lambda name: scores[PUBLISHED, name].mean)


def _sd(values: Sequence[float]) -> float:
    """Over n - 1, as the published runs have it."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
