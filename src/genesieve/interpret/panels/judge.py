"""How well a panel does: which types it tells apart, and how much of the variation it keeps, on cells held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

FOLDS = 4
# Added to the variance within types of every gene, as a share of their mean: the discriminant has few cells to learn
# from.
RIDGE = 0.05
SMALLEST_TYPE = 2 * FOLDS  # cells that a type needs to be judged
CURVE = (1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)  # panel sizes that are judged


class _Moments(NamedTuple):
    """Sums over some cells, from which a discriminant and a regression on the first genes follow."""

    sizes: np.ndarray  # (types,)
    sums: np.ndarray  # (types, genes)
    products: np.ndarray  # (genes, genes)
    with_scores: np.ndarray  # (genes, directions)
    scores: np.ndarray  # (directions,)

    @classmethod
    def of(cls, X: np.ndarray, types: np.ndarray, n_types: int, scores: np.ndarray) -> _Moments:
        members = (types[:, None] == np.arange(n_types)).astype(np.float64)
        return cls(members.sum(axis=0), members.T @ X, X.T @ X, X.T @ scores, scores.sum(axis=0))

    def without(self, other: _Moments) -> _Moments:
        """Those of the cells that are not in the other."""
        return _Moments(*(mine - its for mine, its in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Judgement:
    """What to expect of a panel, on cells that it was not judged by."""

    sizes: np.ndarray  # (points,): panel sizes of the curve
    accuracy: np.ndarray  # (points,): mean over types of the share of their cells that is recognised
    variation: (
        np.ndarray
    )  # (points,): share of the variance along the leading directions that is predicted; NaN if none
    confusion: np.ndarray  # (types, types): share of the cells of a type (row) that is taken for another, whole panel
    reference: np.ndarray  # (types, types): the same with all genes


def judge_panel(
    values: np.ndarray, scores: np.ndarray, types: np.ndarray, n_types: int, rng: np.random.Generator
) -> Judgement:
    """Judge a panel by its values (cells, genes in the order of choice), beside cells along the leading directions.

    ``types`` (cells,) are numbers, -1 for a cell without. Types are recognised by a linear discriminant with equal
    priors, the variation predicted by least squares, both four times on a quarter of the cells that was held out.
    """
    values = values - values.mean(axis=0, dtype=np.float64)
    known = np.flatnonzero(types >= 0)
    values, scores, types = values[known], scores[known], types[known]
    folds = _folds(types, rng)
    sizes = np.array([size for size in CURVE if size < values.shape[1]] + [values.shape[1]])
    tables, kept = _held_out(values, scores, types, n_types, folds, sizes)
    reference = _held_out(scores, scores, types, n_types, folds, np.array([scores.shape[1]]))[0]
    confusions = np.array([_shares(table) for table in tables])
    accuracy = np.array([mean_accuracy(table) for table in confusions])
    return Judgement(sizes, accuracy, kept, confusions[-1], _shares(reference[0]))


def mean_accuracy(confusion: np.ndarray) -> float:
    """Share of their cells that is recognised, over the types that have enough of them; NaN where none has."""
    told = np.diag(confusion)[~np.isnan(np.diag(confusion))]
    return float(told.mean()) if told.size else np.nan


def _folds(types: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A fold for every cell, those of each type spread evenly over all."""
    folds = np.empty(len(types), dtype=np.int64)
    for each in np.unique(types):
        cells = np.flatnonzero(types == each)
        folds[rng.permutation(cells)] = (np.arange(len(cells)) + rng.integers(FOLDS)) % FOLDS
    return folds


def _held_out(
    X: np.ndarray,
    scores: np.ndarray,
    types: np.ndarray,
    n_types: int,
    folds: np.ndarray,
    sizes: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Counts (sizes, types, types) of true and recognised types, and the share of the variation kept (sizes,)."""
    counts, missed = np.zeros((len(sizes), n_types, n_types)), np.zeros(len(sizes))
    total = _Moments.of(X, types, n_types, scores)
    for fold in range(FOLDS):
        out = folds == fold
        learnt = total.without(_Moments.of(X[out], types[out], n_types, scores[out]))
        for place, size in enumerate(sizes):
            taken = _discriminant(learnt, size, X[out, :size])
            np.add.at(counts[place], (types[out], taken), 1.0)
            missed[place] += ((scores[out] - _prediction(learnt, size, X[out, :size])) ** 2).sum()
    spread = len(X) * scores.var(axis=0).sum() if len(X) else 0.0
    return counts, 1.0 - missed / spread if spread > 0 else np.full(len(sizes), np.nan)


def _discriminant(learnt: _Moments, size: int, X: np.ndarray) -> np.ndarray:
    """The type that each cell is taken for, by the first genes."""
    there = learnt.sizes > 0
    means = np.divide(
        learnt.sums[:, :size], learnt.sizes[:, None], where=there[:, None], out=np.zeros((len(there), size))
    )
    scatter = learnt.products[:size, :size] - (means * learnt.sizes[:, None]).T @ means
    weights = np.linalg.solve(_ridged(scatter), means.T)  # (genes, types)
    likeness = X @ weights - 0.5 * (means * weights.T).sum(axis=1)
    return np.asarray(np.where(there, likeness, -np.inf).argmax(axis=1))


def _prediction(learnt: _Moments, size: int, X: np.ndarray) -> np.ndarray:
    """The scores of each cell along the leading directions, by the first genes."""
    n_cells = max(learnt.sizes.sum(), 1.0)  # very few cells may all be held out at once
    mean, target = learnt.sums[:, :size].sum(axis=0) / n_cells, learnt.scores / n_cells
    scatter = learnt.products[:size, :size] - n_cells * np.outer(mean, mean)
    slopes = np.linalg.solve(_ridged(scatter), learnt.with_scores[:size] - n_cells * np.outer(mean, target))
    return np.asarray((X - mean) @ slopes + target)


def _ridged(scatter: np.ndarray) -> np.ndarray:
    level = RIDGE * np.trace(scatter) / len(scatter)
    return np.asarray(scatter + (level if level > 0 else 1.0) * np.eye(len(scatter)))


def _shares(counts: np.ndarray) -> np.ndarray:
    """Counts of types as shares of each row; NaN for types with too few cells to say."""
    sizes = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(counts, sizes, where=sizes >= SMALLEST_TYPE, out=np.full(counts.shape, np.nan)))
