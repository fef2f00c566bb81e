"""The paper's palm and mapalm: one projected gradient step on each factor an iteration, Alg. 1 to 3."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from genesieve.core.cells.blocks import NoUsages
from genesieve.core.constraints import NonNegative, spectral_norm
from genesieve.core.objective import gradient, gram_of
from genesieve.core.solvers.run import Factors, Journal, Problem, Result, State

# The backtracking line search tries this multiple of the safe step 1/L first, and halves it where it is too long.
FIRST_STRIDE = 8.0

Projection = Callable[[np.ndarray], np.ndarray]


def palm(problem: Problem, start: Factors, *, journal: Journal | None = None, line_search: bool = False) -> Result:
    """Proximal alternating linearised minimisation, Alg. 1."""
    return _alternate(problem, start, journal or Journal(), accelerated=False, line_search=line_search)


def mapalm(problem: Problem, start: Factors, *, journal: Journal | None = None, line_search: bool = False) -> Result:
    """Monotone accelerated PALM, Alg. 2 and 3: extrapolate, but redo both steps plainly where the objective rose."""
    return _alternate(problem, start, journal or Journal(), accelerated=True, line_search=line_search)


def _alternate(problem: Problem, start: Factors, journal: Journal, *, accelerated: bool, line_search: bool) -> Result:
    if isinstance(start.H, NoUsages):
        raise TypeError("a gradient step needs usages to set out from, got a start without; use solver 'bcd'")
    previous = current = start
    state, momentum, converged, done = None, 1.0, False, 0
    saved = journal.resume(problem.constraint)
    if saved is not None:
        previous, current = Factors(saved["previous_H"], saved["previous_W"]), Factors(saved["H"], saved["W"])
        state, momentum = State.from_arrays(saved, current.H), float(saved["momentum"])
        converged, done = bool(saved["converged"]), int(saved["done"])
    for iteration in range(done + 1, 1 + (done if converged else problem.max_iter)):
        momentum, last = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0, momentum
        weight = (last - 1.0) / momentum if accelerated else 0.0  # Eq. 12
        step = partial(_proximal_pair, problem, journal, W=current.W, line_search=line_search)
        trial = step(_extrapolate(current, previous, weight))
        if state is not None and weight > 0.0 and trial.objective > state.objective:
            trial = step(current)
        previous, current, state = current, trial.factors, trial
        converged = relative_change(current, previous) < problem.tol
        arrays = state.arrays(
            H=current.H,
            previous_H=previous.H,
            previous_W=previous.W,
            momentum=momentum,
            converged=converged,
            done=iteration,
        )
        if journal.report(state.objective, arrays) or converged:
            break
    assert state is not None, "max_iter is at least 1"
    return journal.result(problem, state, converged=converged)


def _proximal_pair(problem: Problem, journal: Journal, point: Factors, *, W: np.ndarray, line_search: bool) -> State:
    """One pass: a step on H at ``point.H`` given W, then one on W at ``point.W`` given the new H."""
    penalty = problem.penalty
    cell_step = partial(_gradient_rows, penalty.cell_quadratic(gram_of(W)), line_search)
    sweep = journal.sweep(problem.cells, W, point.H, cell_step)
    quadratic = penalty.gene_quadratic(sweep.gram, gram_of(point.W))
    step = partial(line_search_step, by_row=False) if line_search else proximal_step
    new_W = step(point.W, quadratic, sweep.cross, problem.constraint.project).astype(point.W.dtype, copy=False)
    return State(new_W, sweep, problem.objective(new_W, sweep))


def _gradient_rows(quadratic: np.ndarray, line_search: bool, H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    step = partial(line_search_step, by_row=True) if line_search else proximal_step
    return step(H, quadratic, cross, NonNegative().project)


def proximal_step(
    factor: np.ndarray,
    gram: np.ndarray,
    cross: np.ndarray,
    project: Projection,
    *,
    lipschitz: float | None = None,
) -> np.ndarray:
    """One projected gradient step of length 1/L on either factor (L: Eq. 15)."""
    lipschitz = spectral_norm(gram) if lipschitz is None else lipschitz
    return project(factor - gradient(factor, gram, cross) / lipschitz)


def line_search_step(
    factor: np.ndarray, gram: np.ndarray, cross: np.ndarray, project: Projection, *, by_row: bool
) -> np.ndarray:
    """One projected gradient step, its length found by backtracking from a multiple of 1/L.

    ``by_row`` gives every row a length of its own, which a projection that treats rows one by one allows.
    """
    lipschitz, slope = spectral_norm(gram), gradient(factor, gram, cross)
    stride = np.full((len(factor) if by_row else 1, 1), FIRST_STRIDE)
    while True:
        moved = project(factor - slope * (stride / lipschitz))
        move = moved.astype(np.float64) - factor
        # Too long where the quadratic rises above its proximal bound; at stride 1 it cannot.
        excess = np.sum(move * (move @ gram - move * (lipschitz / stride)), axis=1, keepdims=True)
        too_long = ((excess if by_row else excess.sum(keepdims=True)) > 0) & (stride > 1.0)
        if not too_long.any():
            return moved
        stride = np.where(too_long, stride / 2.0, stride)


def _extrapolate(current: Factors, previous: Factors, weight: float) -> Factors:
    if weight == 0.0:
        return current
    return Factors(*(now + weight * (now - before) for now, before in zip(current, previous, strict=True)))


def relative_change(current: Factors, previous: Factors) -> float:
    """``||(W, H) - (W', H')|| / ||(W', H')||``, the paper's stopping rule."""
    change = sum(float(np.linalg.norm(now - before)) ** 2 for now, before in zip(current, previous, strict=True))
    size = sum(float(np.linalg.norm(before)) ** 2 for before in previous)
    return float(np.sqrt(change / size)) if size > 0 else float(np.sqrt(change))
