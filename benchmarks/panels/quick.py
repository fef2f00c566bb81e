"""What the evaluator of Spapros measures, in a tenth of its time, for many draws of cells and sizes of panels.

Its steps are the evaluator's: 50 principal components, neighbours by Euclidean distance, their fuzzy graph, clusterings
by Leiden from 5 to 60 clusters, boosted forests of five folds. What differs: distances are exact, resolutions come from
a fixed row instead of a search, and forests are grown once instead of five times, with 32 steps of a gene where the
evaluator has 256.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import sparse

from benchmarks.panels.cells import TYPES, read
from benchmarks.panels.score import combined
from benchmarks.panels.space import COARSE, FINE, NEIGHBOURS, Space

LEAST_CELLS = 40  # that a type needs to be recognised
FOLDS, SEED, STEPS = 5, 11, 32


@cache
def whole(data: str, n_cells: int, draw: int) -> Space:
    """The cells of a draw by all genes."""
    return Space.of(read(data, n_cells, draw).X.toarray())


def scored(data: str, n_cells: int, draw: int, genes: list[str]) -> dict[str, float]:
    """The scores of a panel on a draw of cells."""
    adata = read(data, n_cells, draw)[:, genes]
    values, types = sparse.csr_matrix(adata.X), adata.obs[TYPES].cat.codes.to_numpy()
    every, few = whole(data, n_cells, draw), Space.of(values.toarray())
    coarse, fine = agreement(few, every)
    recognised = _recognised(values, types)
    parts = {
        "accuracy": float(recognised.mean()),
        "types_above": float(np.clip((recognised - 0.75) / 0.1, 0.0, 1.0).mean()),
        "neighbours": overlap(few.near, every.near),
        "nmi_coarse": coarse,
        "nmi_fine": fine,
    }
    return combined(parts)


def agreement(few: Space, every: Space) -> tuple[float, float]:
    """NMI of clusterings with as many clusters, over coarse and fine ones; numbers that were not met lie on lines."""
    from sklearn.metrics import normalized_mutual_info_score

    met = sorted(n for n in few.clusterings if n in every.clusterings and COARSE[0] <= n <= FINE[1])
    values = [normalized_mutual_info_score(few.clusterings[n], every.clusterings[n]) for n in met]
    coarse, fine = (np.interp(np.arange(first, last + 1), met, values).mean() for first, last in (COARSE, FINE))
    return float(coarse), float(fine)


def overlap(few: np.ndarray, every: np.ndarray) -> float:
    shares = []
    for n in NEIGHBOURS:
        common = [len(np.intersect1d(a, b)) for a, b in zip(few[:, 1:n], every[:, 1:n], strict=True)]
        shares.append(np.mean(common) / (n - 1))
    return float(np.interp(np.arange(NEIGHBOURS[0], NEIGHBOURS[-1] + 1), NEIGHBOURS, shares).mean())


def _recognised(values: sparse.csr_matrix, types: np.ndarray) -> np.ndarray:
    """The share of the cells of every type that is recognised, on cells held out."""
    from sklearn.model_selection import StratifiedKFold

    large = np.isin(types, np.flatnonzero(np.bincount(types) >= LEAST_CELLS))
    values, types = values[large], np.unique(types[large], return_inverse=True)[1]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(values, types)
    return np.mean([_of_fold(values, types, learn, judge) for learn, judge in folds], axis=0)


def _of_fold(values: sparse.csr_matrix, types: np.ndarray, learn: np.ndarray, judge: np.ndarray) -> list[float]:
    from sklearn.utils.class_weight import compute_sample_weight
    from xgboost import XGBClassifier

    several = types.max() > 1
    forest = XGBClassifier(
        max_depth=3,
        n_estimators=250,
        objective="multi:softmax" if several else "binary:logistic",
        eval_metric="mlogloss" if several else "logloss",
        early_stopping_rounds=5,
        learning_rate=0.2,
        random_state=SEED,
        max_bin=STEPS,
        n_jobs=1,
    )
    forest.fit(
        values[learn],
        types[learn],
        sample_weight=compute_sample_weight("balanced", types[learn]),
        eval_set=[(values[judge], types[judge])],
        sample_weight_eval_set=[compute_sample_weight("balanced", types[judge])],
        verbose=False,
    )
    taken = forest.predict(values[judge])
    return [float((taken[types[judge] == kind] == kind).mean()) for kind in range(types.max() + 1)]
