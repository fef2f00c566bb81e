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
EXACT = {"float32": 1e-5, "float64": 1e-9}


def dense(X: Any) -> np.ndarray:
    """Values in double precision."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def judge(case: Case, *, twice: bool = False) -> list[str]:
    """What is wrong with the fit of a case; ``twice`` fits it again to see whether it repeats."""
    before, model = dense(case.X).copy(), gs.SSNMF(**case.options)
    try:
        H = _fit(model, case.X)
        again = _fit(gs.SSNMF(**case.options), case.X) if twice else H
    except (ValueError, TypeError) as error:
        said = str(error)
        return [] if said and len(said.splitlines()) == 1 and type(error) in (ValueError, TypeError) else [repr(error)]
    except Exception as error:
        return [repr(error)]
    faults = faults_of(case, model, before, np.asarray(H, dtype=np.float64))
    if not np.array_equal(H, again):
        faults.append("another fit with the same seed ends elsewhere")
    if not np.array_equal(before, dense(case.X)):
        faults.append("the input was changed")
    return faults


def _fit(model: Any, X: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", category=UserWarning)
        return model.fit_transform(X)


def faults_of(case: Case, model: Any, X: np.ndarray, H: np.ndarray) -> list[str]:
    """What is wrong with a fitted model and its usages, in double precision."""
    return list(_faults(case, model, X, H))


def _faults(case: Case, model: Any, X: np.ndarray, H: np.ndarray) -> Iterator[str]:
    W = np.asarray(model.components_.T, dtype=np.float64)
    numbers = (H, W, model.confidence_, model.objective_, model.explained_, model.reconstruction_err_)
    if not all(np.isfinite(each).all() for each in (*numbers, model.history_["objective"])):
        yield "a number is not finite"
        return
    if (H < 0).any() or (W < 0).any():
        yield "a factor is negative"
    yield from _budget(model, W)
    if len(model.labels_) != len(X) or model.labels_.min() < 0:
        yield "a cell has no label"
    if model.gauge == "unit":
        norms = np.linalg.norm(W, axis=0)
        if not (np.isclose(norms, 1.0, atol=1e-4) | (norms == 0)).all():
            yield f"programs have lengths {norms}"
    yield from _sums(case, model, X, H, W)


def _budget(model: Any, W: np.ndarray) -> Iterator[str]:
    if model.n_genes is None or model.sparsity is None:
        return
    used = {"rows": W.any(axis=1).sum(), "columns": (W > 0).sum(axis=0).max(), "entries": (W > 0).sum()}[model.sparsity]
    if used > model.n_genes * (W.shape[1] if model.sparsity == "entries" else 1):
        yield f"{used} of {model.n_genes} {model.sparsity} are in use"


def _sums(case: Case, model: Any, X: np.ndarray, H: np.ndarray, W: np.ndarray) -> Iterator[str]:
    scale = np.abs(X).max() or 1.0  # squares of extreme values are no numbers
    X, H = X / scale, H / scale
    half_square, exact = 0.5 * np.square(X).sum(), EXACT[str(np.dtype(case.X.dtype).newbyteorder("="))]
    residual, said = 0.5 * np.square(X - H @ W.T).sum(), 0.5 * (model.reconstruction_err_ / scale) ** 2
    if abs(residual - said) > exact * max(half_square, residual):
        yield f"half the squared residual is {residual:.12g} and was said to be {said:.12g}, of {half_square:.6g}"
    course = model.history_["objective"]
    rises = np.diff(course).max(initial=0.0)
    if model.orthogonality_ != "exact" and rises > exact * max(half_square * scale**2, abs(course[0])):
        yield f"the objective rose by {rises:.3g} of {course[0]:.6g}"
    if model.solver == "bcd" and model.gauge == "unit":
        again = np.asarray(model.transform(case.X), dtype=np.float64) / scale
        worse = 0.5 * np.square(X - again @ W.T).sum() - residual
        if (
            worse > 1e3 * exact * max(half_square, residual)
            and model.orthogonality_ == 0
            and model.gene_weights_ is None
        ):
            yield f"the usages of transform are worse than those of the fit by {worse:.3g}"
