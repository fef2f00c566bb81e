"""The work of `SSNMF.fit`: fits from every start, the fitted attributes, the labels.

``model`` is the estimator throughout; `publish` and `label` set its attributes.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from genesieve.core.cells.blocks import Blocks, as_type
from genesieve.core.cells.low_rank import leading_scores
from genesieve.core.solvers import Callback, Journal, Result, best_of
from genesieve.core.weights import even_weights
from genesieve.estimators._checkpoint import Checkpoint
from genesieve.estimators._reading import describe_fit, read_schedule
from genesieve.interpret.graph import n_directions
from genesieve.interpret.labels import label_cells
from genesieve.interpret.programs import largest_first


def fit_starts(
    model: Any, blocks: Blocks, starts: list[np.random.Generator], monitor: Callback | None = None
) -> Result:
    """The best of the fits from every start; a checkpoint says which are done, and where to go on."""
    schedule = read_schedule(model, blocks)
    file = None if model.checkpoint is None else Checkpoint(model.checkpoint, describe_fit(model, blocks))
    saved = None if file is None else file.read()
    best = None if saved is None else saved.best
    for number, start in enumerate(starts):
        if saved is not None and number < saved.restart:
            continue
        save = None if file is None else file.saver(number, best)
        journal = Journal(monitor, save=save, fit=number + 1, n_fits=len(starts))
        if saved is not None and number == saved.restart:
            journal.snapshot = saved.snapshot
        result = schedule.fit(blocks, start, journal=journal)
        best = result if best is None else best_of([best, result])
        if result.stopped:
            best = replace(best, stopped=True)
            break
    assert best is not None, "there is at least one start"
    return best


def publish(model: Any, result: Result, H: np.ndarray, blocks: Blocks) -> np.ndarray:
    """Set the fitted attributes from a solver's result, in the public gauge and order; the usages."""
    W, squared_norm = result.factors.W, blocks.plain_norm
    if model.gene_weights_ is not None:
        W = W / model.gene_weights_[:, None]
    model.gauge_scale_, model.stability_ = np.ones(W.shape[1]), result.stability
    if model.gauge == "unit":
        norms = np.linalg.norm(W, axis=0)
        scale = np.where(norms > 0, norms, 1.0)
        order = largest_first(H * scale, W / scale)
        H, W, model.gauge_scale_ = H[:, order], W[:, order], scale[order]
        model.stability_ = None if result.stability is None else result.stability[order]
    model.penalty_ = result.penalty
    H, W = as_type(blocks.value_dtype, H * model.gauge_scale_, W / model.gauge_scale_)
    model.components_ = np.ascontiguousarray(W.T)
    model.objective_, model.converged_ = result.objective, result.converged
    model.reconstruction_err_ = float(np.sqrt(result.squared_residual))
    model.explained_ = 1.0 - result.squared_residual / squared_norm if squared_norm > 0 else 0.0
    model.explained_variation_ = _variation(result.squared_residual, model.components_.any(axis=0), blocks)
    model.n_iter_, model.n_passes_ = len(result.history), result.history[-1].passes
    model.history_ = {
        name: np.array([getattr(step, name) for step in result.history]) for name in ("objective", "seconds", "passes")
    }
    _warn(model, result.stopped)
    return H


def _variation(squared_residual: float, selected: np.ndarray, blocks: Blocks) -> float:
    """The share of the selected genes' variation around their means that the programs explain; 0 if they do not."""
    mean, variance = blocks.moments()
    n_cells, total = blocks.shape[0], float(variance[selected].sum())
    outside = float((variance + mean**2)[~selected].sum())  # nothing is said about the others
    return max(0.0, 1.0 - (squared_residual / n_cells - outside) / total) if total > 0 else 0.0


def label(model: Any, blocks: Blocks, H: np.ndarray, seed: int) -> None:
    """Set the labels of the cells, by the rule of the model."""
    width, rng = n_directions(H.shape[1]) if model.labels == "leiden" else 0, np.random.default_rng(seed)
    if width and model.batches_ is not None and len(model.batches_) > 1:
        blocks = blocks.weighted(even_weights(blocks.moments().variance))
    model.labels_, model.confidence_, model.cluster_centers_ = label_cells(
        H,
        model.labels,
        n_clusters=model.n_clusters,
        resolution=model.resolution,
        programs=model.components_ if model.gene_weights_ is None else model.components_ * model.gene_weights_,
        scores=leading_scores(blocks, model.get_support(), width, rng) if width else None,
        seed=seed,
    )


def _warn(model: Any, stopped: bool) -> None:
    if not model.converged_ and not stopped:
        message = f"SSNMF stopped at max_iter={model.max_iter} before it converged; raise max_iter or tol"
        warnings.warn(message, ConvergenceWarning, stacklevel=5)
    empty = np.count_nonzero(~model.components_.any(axis=1))
    if empty:
        rest = "programs are empty; the data may not hold so many, ask for fewer"
        warnings.warn(f"{empty} of {model.n_components_} {rest}", UserWarning, stacklevel=5)
