"""What is promised of every fit: one clear line, or a result that is finite, feasible and what it says it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

import genesieve as gs

from .drawing import Case

# Of half the sum of squares of X: the Gram form of a residual is no more exact, and single precision less.
EXACT = {"float16": 1e-5, "float32": 1e-5}
DOUBLE = 1e-9
# Where programs are next to combinations of others, usages are found by sweeps that stop somewhat short of the minimum.
SINGULAR = 1e-4
# Usages of zero explain nothing; exact blocks end above that, but for rounding and for genes that the fit weighs less.
WORSE_THAN_NOTHING = 1e-2
# By how much values are multiplied to see that nothing but their size changes: exact in binary.
LARGER = 2.0**20


def dense(X: Any) -> np.ndarray:
    """Values in double precision."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def judge(case: Case, *, twice: bool = False) -> list[str]:
    """What is wrong with the fit of a case; ``twice`` fits it again, and larger, to see whether it repeats."""
    before, model = dense(case.X).copy(), gs.SSNMF(**case.options)
    try:
        H = _fit(model, case, case.X)
        again = _fit(gs.SSNMF(**case.options), case, case.X) if twice else H
    except Exception as error:
        case.note["refused"] = str(error)
        return [] if is_clear(error) else [repr(error)]
    if case.nonsense is not None and not _may_pass(case):
        return [f"{case.nonsense} was not refused"]
    faults = faults_of(case, model, before, np.asarray(H, dtype=np.float64))
    if not np.array_equal(H, again):
        faults.append("another fit with the same seed ends elsewhere")
    if not np.array_equal(before, dense(case.X)):
        faults.append("the input was changed")
    unique = abs(model.objective_) > DOUBLE * np.square(before).sum()  # which no factorisation without residual is
    if twice and case.power == 0 and model.solver == "bcd" and model.gauge == "unit" and unique:
        faults += list(_faults_of_size(case, model, before))
    return faults


def is_clear(error: Exception) -> bool:
    """Whether an error is one line about what was given."""
    told = type(error) in (ValueError, TypeError, gs.io.FileError, gs.io.RequestError)
    return told and bool(str(error)) and len(str(error).splitlines()) == 1


def _may_pass(case: Case) -> bool:
    """Whether what is nonsense elsewhere has no effect on this case, or is what was asked for."""
    value, options = case.options[case.nonsense], case.options
    unused = {
        "n_clusters": options["labels"] == "argmax",
        "resolution": options["labels"] != "leiden",
        "gene_weights": isinstance(value, np.ndarray) and value.shape == (case.values.shape[1],),
        "n_genes": options["sparsity"] is None,
        "memory": True,
        "n_components": value is True,
    }
    return unused.get(str(case.nonsense), False)


def _fit(model: Any, case: Case, X: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", category=UserWarning)
        return model.fit_transform(X, batches=case.batches)


def faults_of(case: Case, model: Any, X: np.ndarray, H: np.ndarray) -> list[str]:
    """What is wrong with a fitted model and its usages, in double precision."""
    return list(_faults(case, model, X, H))


def _faults(case: Case, model: Any, X: np.ndarray, H: np.ndarray) -> Iterator[str]:
    W = np.asarray(model.components_.T, dtype=np.float64)
    numbers = (H, W, model.confidence_, model.objective_, model.explained_, model.reconstruction_err_)
    numbers += (model.explained_variation_, model.history_["objective"])
    if not all(np.isfinite(each).all() for each in numbers):
        yield "a number is not finite"
        return
    if (H < 0).any() or (W < 0).any():
        yield "a factor is negative"
    yield from _budget(model, W)
    if len(model.labels_) != len(X) or model.labels_.min() < 0:
        yield "a cell has no label"
    if not (model.confidence_.min() >= 0 and model.confidence_.max() <= 1):
        yield f"confidence from {model.confidence_.min()} to {model.confidence_.max()}"
    if model.gauge == "unit":
        norms = np.linalg.norm(W, axis=0)
        if not (np.isclose(norms, 1.0, atol=1e-4) | (norms == 0)).all():
            yield f"programs have lengths {norms}"
    any_start = case.options.get("tol", 0.0) == 1.0  # taken as it is
    if model.solver == "bcd" and not any_start and model.explained_ < -WORSE_THAN_NOTHING:
        yield f"programs explain {model.explained_:.3g}"
    yield from _sums(case, model, X, H, W)


def _budget(model: Any, W: np.ndarray) -> Iterator[str]:
    if model.n_genes is None or model.sparsity is None:
        return
    used = {"rows": W.any(axis=1).sum(), "columns": (W > 0).sum(axis=0).max(), "entries": (W > 0).sum()}[model.sparsity]
    if used > model.n_genes * (W.shape[1] if model.sparsity == "entries" else 1):
        yield f"{used} of {model.n_genes} {model.sparsity} are in use"


def _sums(case: Case, model: Any, X: np.ndarray, H: np.ndarray, W: np.ndarray) -> Iterator[str]:
    if case.batches is not None:
        X = X / model.batch_scales_[np.searchsorted(model.batches_, case.batches)]
    scale = np.abs(X).max() or 1.0  # squares of extreme values are no numbers
    X, H = X / scale, H / scale
    half_square, exact = 0.5 * np.square(X).sum(), EXACT.get(str(model.components_.dtype), DOUBLE)
    residual, said = 0.5 * np.square(X - H @ W.T).sum(), 0.5 * (model.reconstruction_err_ / scale) ** 2
    if abs(residual - said) > exact * max(half_square, residual):
        yield f"half the squared residual is {residual:.12g} and was said to be {said:.12g}, of {half_square:.6g}"
    objective, norm = objective_of(model, X, H, W, scale)
    said = model.objective_ / scale**2
    if abs(objective - said) > exact * max(norm, abs(objective)):
        yield f"the objective is {objective:.12g} and was said to be {said:.12g}, of {norm:.6g}"
    course = model.history_["objective"] / scale**2
    rises = np.diff(course).max(initial=0.0)
    if model.orthogonality_ != "exact" and rises > exact * max(norm, abs(course[0])):
        yield f"the objective rose by {rises:.3g} of {course[0]:.6g}"
    if model.solver == "bcd" and case.batches is None:
        again = np.asarray(model.transform(case.X), dtype=np.float64) / scale
        worse = objective_of(model, X, again, W, scale)[0] - objective
        if worse > max(1e3 * exact, SINGULAR) * max(norm, abs(objective)):
            yield f"the usages of transform are worse than those of the fit by {worse:.3g} of {norm:.6g}"


def objective_of(model: Any, X: np.ndarray, H: np.ndarray, W: np.ndarray, scale: float) -> tuple[float, float]:
    """The objective of a fit written out, and half the sum of squares that it starts from; X and H over ``scale``."""
    weights = np.ones(len(W)) if model.gene_weights_ is None else np.asarray(model.gene_weights_, dtype=np.float64)
    W, H, X = W * model.gauge_scale_ * weights[:, None], H / model.gauge_scale_, X * weights
    value = 0.5 * np.square(X - H @ W.T).sum()
    if model.baseline_ == "mean":
        value -= 0.5 * _gains_of_line(X, X / weights)[~W.any(axis=1)].sum()
    return float(value + _penalty(model.penalty_, H, W)), float(0.5 * np.square(X).sum())


def _penalty(penalty: Any, H: np.ndarray, W: np.ndarray) -> float:
    """Overlap of different programs, pair by pair."""
    pairs = [(a, b) for a in range(H.shape[1]) for b in range(a)]
    if type(penalty).__name__ == "Overlap":
        return penalty.rho * sum(H[:, a] @ H[:, b] for a, b in pairs) + 0.5 * penalty.ridge * np.square(H).sum()
    if type(penalty).__name__ == "RelativeOverlap":
        H = H * np.linalg.norm(W, axis=0)
        return penalty.omega * sum(H[:, a] @ H[:, b] for a, b in pairs)
    return 0.0


def _gains_of_line(X: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """How much the least-squares line over the size of the cells takes off each gene's sum of squares."""
    sizes = plain.sum(axis=1)
    about = sizes - sizes.mean()
    lines = np.ones((len(X), 1)) if about @ about <= 1e-9 * (sizes @ sizes) else np.stack([sizes * 0 + 1, about], 1)
    basis = np.linalg.qr(lines)[0]
    return np.square(basis.T @ X).sum(axis=0)


def _faults_of_size(case: Case, model: Any, X: np.ndarray) -> Iterator[str]:
    """What differs where all values are larger by a power of two: nothing may, as no rounding does."""
    larger = gs.SSNMF(**case.options)
    wide = np.float32 if model.components_.dtype == np.float32 else np.float64
    H = _fit(larger, case, (X * LARGER).astype(wide))
    usual = _fit(gs.SSNMF(**case.options), case, X.astype(wide))
    if not np.array_equal(np.asarray(H, dtype=np.float64), np.asarray(usual, dtype=np.float64) * LARGER):
        yield f"usages of values times 2^20 differ by {np.abs(H / LARGER - usual).max() / max(usual.max(), 1e-300):.3g}"
