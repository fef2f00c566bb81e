"""Random sparse k-means: feasible weights, the criterion as written out, labels that `predict` gives again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import genesieve as gs

from .campaign import FaultError
from .drawing import KINDS, POWERS, STORAGES, make_values, store
from .judging import dense, is_clear


def sparse_kmeans(seed: int, folder: Path) -> str:
    """One clustering of random data."""
    rng = np.random.default_rng([seed, 29])
    cells, genes = int(rng.integers(1, 30)), int(rng.integers(1, 25))
    values = make_values(str(rng.choice(KINDS)), cells, genes, rng) * 10.0 ** int(rng.choice(POWERS))
    if rng.random() < 0.3:
        values = np.clip(values, 0.0, 1e30).astype(np.float32)
    if rng.random() < 0.3:
        values = values - values.mean()  # k-means has no need of non-negative values
    X, penalty = store(values, str(rng.choice(STORAGES)), rng), str(rng.choice(["l0", "l1"]))
    options: dict[str, Any] = {"n_clusters": int(rng.integers(1, cells + 1)), "penalty": penalty, "n_init": 2}
    if penalty == "l0":
        options["n_genes"] = None if rng.random() < 0.2 else int(rng.integers(1, genes + 1))
    else:
        options["bound"] = None if rng.random() < 0.2 else float(rng.choice([1.0, 1.5, 3.0, 100.0]))
    before, model = dense(X).copy(), gs.SparseKMeans(**options, random_state=seed % 100)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.filterwarnings("ignore", category=UserWarning)
            model.fit(X)
    except Exception as error:
        if is_clear(error):
            return "refused"
        raise FaultError(f"{options}: {error!r}") from None
    faults = list(_faults(model, X, before))
    if faults:
        raise FaultError(f"{options}, {before.shape}, largest {np.abs(before).max():.3g}: {'; '.join(faults)}")
    return "clustered"


def _faults(model: Any, X: Any, before: np.ndarray) -> Iterator[str]:
    values = dense(X)
    if not np.array_equal(before, values):
        yield "the input was changed"
    if not all(np.isfinite(part).all() for part in (model.weights_, model.cluster_centers_, model.criterion_)):
        yield "a number is not finite"
        return
    if len(model.labels_) != len(values) or not (0 <= model.labels_.min() <= model.labels_.max() < model.n_clusters):
        yield "a cell has no label"
    weights = model.weights_
    if model.penalty == "l0" and (set(weights) - {0.0, 1.0} or weights.sum() > (model.n_genes or len(weights))):
        yield f"weights {weights}"
    if model.penalty == "l1":
        bound = model.bound or max(1.0, 0.25 * np.sqrt(len(weights)))
        if weights.min() < 0 or np.linalg.norm(weights) > 1 + 1e-9 or weights.sum() > bound * (1 + 1e-6):
            yield f"weights of length {np.linalg.norm(weights)} and sum {weights.sum()}, bound {bound}"
    scale = np.abs(values).max() or 1.0
    criterion = weights @ _dispersion(values / scale, model.labels_)
    total = weights @ np.square(values / scale).sum(axis=0)
    if abs(criterion - model.criterion_ / scale / scale) > 1e-5 * max(total, 1e-300):
        yield f"the criterion is {criterion} and was said to be {model.criterion_ / scale / scale}, of {total}"
    yield from _other_labels(model, values / scale, model.predict(X), model.cluster_centers_ / scale)


def _other_labels(model: Any, X: np.ndarray, predicted: np.ndarray, centres: np.ndarray) -> Iterator[str]:
    """Cells that `predict` puts elsewhere, unless they are as near to there."""
    far, near = (np.square(X - centres[labels]) @ model.weights_ for labels in (model.labels_, predicted))
    worst = np.abs(far - near).max()
    if worst > 1e-5 * model.weights_.sum():
        yield f"predict gives {(predicted != model.labels_).sum()} other labels, nearer by {worst}"


def _dispersion(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    means = np.stack([X[labels == label].mean(axis=0) for label in labels])
    return np.square(means - X.mean(axis=0)).sum(axis=0)
