"""The solvers: the paper's palm and mapalm, exact blocks (bcd), and continuation in the penalty.

Each takes X as blocks, a constraint for W, a penalty on the overlap of programs and a start, and returns a ``Result``.
They are silent: progress goes to a callback. An iteration costs one pass over X (two where a trial step was refused).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from genesieve.core.cells.blocks import Blocks, Sweep
from genesieve.core.constraints import Constraint, NonNegative, spectral_norm
from genesieve.core.objective import CellStep, Penalty, gradient, gram_of, half_squared_residual

# What the Gram form of the objective loses to cancellation where the fit is next to exact, relative to ||X||^2.
CANCELLATION = 1e-12
# Objectives this close are of one minimum, reached with another rounding.
SAME_MINIMUM = 1e-6
# The backtracking line search tries this multiple of the safe step 1/L first, and halves it where it is too long.
FIRST_STRIDE = 8.0


class Factors(NamedTuple):
    """Both factors, tall: X is about ``H @ W.T``."""

    H: Any  # (cells, rank); None where it is left to be solved from W
    W: np.ndarray  # (genes, rank)


@dataclass(frozen=True)
class Progress:
    """What a callback is told after an iteration."""

    iteration: int
    objective: float
    passes: int
    seconds: float


Callback = Callable[[Progress], object]  # True ends the run after this iteration
Projection = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Result:
    """Where a solver ended and how it came there."""

    factors: Factors
    gram: np.ndarray  # H^T H
    objective: float
    squared_residual: float
    penalty: Penalty
    converged: bool
    stopped: bool  # by the callback
    history: list[Progress]


@dataclass(frozen=True)
class State:
    """A point of the run: the factors, the sums of the pass that made them, and their objective."""

    W: np.ndarray
    sweep: Sweep
    objective: float

    @property
    def factors(self) -> Factors:
        return Factors(self.sweep.H, self.W)

    def arrays(self, **more: object) -> Arrays:
        """All but H, for a snapshot."""
        parts = {"W": self.W, "cross": self.sweep.cross, "gram": self.sweep.gram, "objective": self.objective, **more}
        return {name: np.asarray(part) for name, part in parts.items()}

    @classmethod
    def from_arrays(cls, kept: Arrays, H: np.ndarray | None = None) -> State:
        """The state of a snapshot."""
        return cls(kept["W"], Sweep(H, kept["cross"], kept["gram"]), float(kept["objective"]))


def best_of(results: Sequence[Result]) -> Result:
    """The result with the lowest objective; of those that differ by rounding alone the first, wherever cells are."""
    lowest = min(result.objective for result in results)
    return next(result for result in results if result.objective <= lowest + SAME_MINIMUM * abs(lowest))


Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Snapshot:
    """All that a solver needs to go on from the end of an iteration; H follows from W."""

    stage: int  # of a continuation
    arrays: Arrays
    history: list[Progress]


@dataclass
class Run:
    """What is minimised, how far, and the record of it."""

    blocks: Blocks
    constraint: Constraint
    penalty: Penalty
    max_iter: int
    tol: float
    callback: Callback | None = None
    keep: Callable[[Snapshot], object] | None = None  # is given a snapshot after every iteration
    snapshot: Snapshot | None = None  # to go on from
    stage: int = 0
    history: list[Progress] = field(default_factory=list)
    stopped: bool = False
    passes: int = 0
    began: float = field(default_factory=time.perf_counter)

    def sweep(self, W: np.ndarray, H: np.ndarray | None, step: CellStep) -> Sweep:
        """One pass over the cells, counted."""
        self.passes += 1
        return self.blocks.sweep(W, H, step)

    def objective(self, W: np.ndarray, sweep: Sweep) -> float:
        """Eq. 10 (or its scale-free form) at W and the H of the sweep."""
        return self.residual(W, sweep) + self.penalty.value(sweep.gram, gram_of(W))

    def residual(self, W: np.ndarray, sweep: Sweep) -> float:
        """Half the squared residual at W and the H of the sweep."""
        return half_squared_residual(self.blocks.squared_norm, W, sweep.cross, sweep.gram)

    def least_decrease(self, state: State) -> float:
        """The decrease of the objective below which a run counts as converged."""
        return max(self.tol * state.objective, CANCELLATION * self.blocks.squared_norm)

    def resume(self) -> Arrays | None:
        """What was kept of this stage, if the run is to go on from there; its record goes on, too."""
        if self.snapshot is None or self.snapshot.stage != self.stage:
            return None
        arrays, self.history, self.snapshot = self.snapshot.arrays, list(self.snapshot.history), None
        self.passes = self.history[-1].passes
        self.began = time.perf_counter() - self.history[-1].seconds
        return arrays

    def is_past(self, stage: int) -> bool:
        """Whether the snapshot to go on from is of a later stage."""
        return self.snapshot is not None and self.snapshot.stage > stage

    def report(self, objective: float, arrays: Arrays) -> bool:
        """Note and keep the end of an iteration; whether the callback wants it to be the last."""
        seconds = time.perf_counter() - self.began
        self.history.append(Progress(len(self.history) + 1, objective, self.passes, seconds))
        if self.keep is not None:
            self.keep(Snapshot(self.stage, arrays, self.history))
        if self.callback is not None:
            self.stopped = self.callback(self.history[-1]) is True
        return self.stopped

    def result(self, state: State, converged: bool) -> Result:
        """The finished run."""
        residual = max(self.blocks.squared_residual(state.W, state.sweep), 0.0)  # the Gram form may cancel below zero
        return Result(
            factors=state.factors,
            gram=state.sweep.gram,
            objective=state.objective,
            squared_residual=residual,
            penalty=self.penalty,
            converged=converged,
            stopped=self.stopped,
            history=self.history,
        )


Solver = Callable[[Run, Factors], Result]


# ------------------------------------------------------------------------------------------------ palm and mapalm


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
        # Too long where the quadratic rises above its proximal model; at stride 1 it cannot.
        excess = np.sum(move * (move @ gram - move * (lipschitz / stride)), axis=1, keepdims=True)
        too_long = ((excess if by_row else excess.sum(keepdims=True)) > 0) & (stride > 1.0)
        if not too_long.any():
            return moved
        stride = np.where(too_long, stride / 2.0, stride)


def palm(run: Run, start: Factors, *, line_search: bool = False) -> Result:
    """Proximal alternating linearised minimisation, Alg. 1."""
    return _alternate(run, start, accelerated=False, line_search=line_search)


def mapalm(run: Run, start: Factors, *, line_search: bool = False) -> Result:
    """Monotone accelerated PALM, Alg. 2 and 3: extrapolate, but redo both steps plainly where the objective rose."""
    return _alternate(run, start, accelerated=True, line_search=line_search)


def _alternate(run: Run, start: Factors, *, accelerated: bool, line_search: bool) -> Result:
    previous = current = start
    state, momentum, converged, done = None, 1.0, False, 0
    kept = run.resume()
    if kept is not None:
        previous, current = Factors(kept["previous_H"], kept["previous_W"]), Factors(kept["H"], kept["W"])
        state, momentum = State.from_arrays(kept, current.H), float(kept["momentum"])
        converged, done = bool(kept["converged"]), int(kept["done"])
    for iteration in range(done + 1, 1 + (done if converged else run.max_iter)):
        momentum, last = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0, momentum
        weight = (last - 1.0) / momentum if accelerated else 0.0  # Eq. 12
        trial = _proximal_pair(run, _extrapolate(current, previous, weight), current.W, line_search)
        if state is not None and weight > 0.0 and trial.objective > state.objective:
            trial = _proximal_pair(run, current, current.W, line_search)
        previous, current, state = current, trial.factors, trial
        converged = relative_change(current, previous) < run.tol
        arrays = state.arrays(
            H=current.H,
            previous_H=previous.H,
            previous_W=previous.W,
            momentum=momentum,
            converged=converged,
            done=iteration,
        )
        if run.report(state.objective, arrays) or converged:
            break
    assert state is not None, "max_iter is at least 1"
    return run.result(state, converged)


def _proximal_pair(run: Run, point: Factors, W: np.ndarray, line_search: bool) -> State:
    """One pass: a step on H at ``point.H`` given W, then one on W at ``point.W`` given the new H."""
    sweep = run.sweep(W, point.H, partial(_gradient_rows, run.penalty.cell_quadratic(gram_of(W)), line_search))
    quadratic = run.penalty.gene_quadratic(sweep.gram, gram_of(point.W))
    step = partial(line_search_step, by_row=False) if line_search else proximal_step
    new_W = step(point.W, quadratic, sweep.cross, run.constraint.project).astype(point.W.dtype, copy=False)
    return State(new_W, sweep, run.objective(new_W, sweep))


def _gradient_rows(quadratic: np.ndarray, line_search: bool, H: np.ndarray, cross: np.ndarray) -> np.ndarray:
    step = partial(line_search_step, by_row=True) if line_search else proximal_step
    return step(H, quadratic, cross, NonNegative().project)


def _extrapolate(current: Factors, previous: Factors, weight: float) -> Factors:
    if weight == 0.0:
        return current
    return Factors(*(now + weight * (now - before) for now, before in zip(current, previous, strict=True)))


def relative_change(current: Factors, previous: Factors) -> float:
    """``||(W, H) - (W', H')|| / ||(W', H')||``, the paper's stopping rule."""
    change = sum(float(np.linalg.norm(now - before)) ** 2 for now, before in zip(current, previous, strict=True))
    size = sum(float(np.linalg.norm(before)) ** 2 for before in previous)
    return float(np.sqrt(change / size)) if size > 0 else float(np.sqrt(change))


# ------------------------------------------------------------------------------------------------ exact blocks


@dataclass(frozen=True)
class GeneStep:
    """The W step at a state: the best W for its H, from cached sums alone."""

    W: np.ndarray
    move: np.ndarray  # from the W of the state
    decrease: float  # of the objective, at the H of the state
    revived: bool  # a program that had died was reseeded


def bcd(run: Run, start: Factors) -> Result:
    """Exact blocks: the best H for W by a pass over the cells, then the best W for H from the sums of that pass.

    Every pass is tried at an accelerated W; where that would raise the objective, it is redone at the plain W. The run
    is over when the W step has next to nothing to gain. It ends with the H that is best for its W, so that transforming
    the training cells gives the same H.
    """
    at = _set_out(run, start)
    state, last, revivals, converged = at.state, at.last, at.revivals, False
    for iteration in range(at.done + 1, run.max_iter + 1):
        step = _gene_step(run, state, may_revive=revivals > 0)
        revivals -= step.revived
        if step.decrease <= run.least_decrease(state) < np.inf and not step.revived:
            converged = True
            break
        new = _advance(run, state, step, last)
        if new.objective > state.objective:  # possible only where the cells' problem is not convex, or by rounding
            converged = True
            break
        state, last = new, step
        if run.report(state.objective, Position(state, last, revivals, iteration).arrays()):
            break
    if not run.history:
        run.report(state.objective, Position(state, last, revivals, 0).arrays())
    return run.result(state, converged)


@dataclass(frozen=True)
class Position:
    """Where bcd stands after an iteration."""

    state: State
    last: GeneStep | None
    revivals: int  # that are left
    done: int  # iterations

    def arrays(self) -> Arrays:
        """For a snapshot."""
        last = {} if self.last is None else {"last_W": self.last.W, "last_move": self.last.move}
        return self.state.arrays(revivals=self.revivals, done=self.done, **last)

    @classmethod
    def from_arrays(cls, kept: Arrays) -> Position:
        """The position of a snapshot."""
        last = GeneStep(kept["last_W"], kept["last_move"], np.nan, False) if "last_W" in kept else None
        return cls(State.from_arrays(kept), last, int(kept["revivals"]), int(kept["done"]))


def _set_out(run: Run, start: Factors) -> Position:
    """Where an interrupted run stood, or the start with the H that is best for it."""
    kept = run.resume()
    if kept is not None:
        return Position.from_arrays(kept)
    state = _at(run, start.W, start.H)
    if not run.constraint.contains(start.W):
        state = replace(state, objective=np.inf)  # what breaks the budget does not count
    return Position(state, None, start.W.shape[1], 0)


def _at(run: Run, W: np.ndarray, H: np.ndarray | None) -> State:
    """W with the H that is best for it, found from ``H`` by one pass."""
    sweep = run.sweep(W, H, run.penalty.cell_step(gram_of(W)))
    return State(W, sweep, run.objective(W, sweep))


def _gene_step(run: Run, state: State, *, may_revive: bool) -> GeneStep:
    quadratic = run.penalty.gene_quadratic(state.sweep.gram, gram_of(state.W))
    best = run.constraint.best(quadratic, state.sweep.cross, state.W, threads=run.blocks.threads)
    best = best.astype(state.W.dtype, copy=False)
    W = _revive(run, state, best) if may_revive else best
    return GeneStep(W, W - state.W, state.objective - run.objective(W, state.sweep), W is not best)


def _advance(run: Run, state: State, step: GeneStep, last: GeneStep | None) -> State:
    if last is not None and np.isfinite(state.objective):
        trial = _at(run, _accelerated(state, step, last), state.sweep.H)
        if trial.objective <= state.objective:
            return trial
    return _at(run, step.W, state.sweep.H)


def _accelerated(state: State, step: GeneStep, last: GeneStep) -> np.ndarray:
    """Anderson acceleration with a memory of one: the mix of the last two W steps that would have moved least.

    Only entries in use all along are mixed; a gene that has just entered the budget has no course to be extrapolated.
    """
    in_use = (step.W > 0) & (state.W > 0) & (last.W > 0)
    bend = np.where(in_use, step.move - last.move, 0).astype(np.float64)
    size = float(np.vdot(bend, bend))
    weight = float(np.vdot(bend, step.move)) / size if size > 0 else 0.0
    mixed = np.maximum(step.W - weight * (step.W - last.W), 0)
    return np.where(in_use, mixed, step.W).astype(step.W.dtype, copy=False)


def _revive(run: Run, state: State, W: np.ndarray) -> np.ndarray:
    """Reseed one program that died with the worst-fitted cell.

    Its usages are zero, so this leaves the objective as it is. The new column is made small enough for the projection
    to keep all other entries; where the budget has no room for it, the program stays empty.
    """
    dead = np.flatnonzero(~W.any(axis=0))
    if dead.size == 0 or not W.any():
        return W
    seed = run.blocks.worst_cell(W, state.W, run.penalty.cell_step(gram_of(state.W)))
    if not seed.any():
        return W
    revived = W.copy()
    revived[:, dead[0]] = seed * (W[W > 0].min() / (2.0 * seed.max() * np.sqrt(W.shape[1])))
    return run.constraint.project(revived)


# ------------------------------------------------------------------------------------------------ continuation


def continuation(
    solver: Solver, run: Run, start: Factors, penalties: Sequence[Penalty], *, tol: float, last: Penalty | None = None
) -> Result:
    """Solve under one penalty after the other, each from the last one's end, until H is orthogonal (Alg. 4).

    Then, if it is given, under the ``last`` one.
    """
    result = None

    def solve(stage: int, penalty: Penalty) -> Result:
        run.stage, run.penalty = stage, penalty
        return solver(run, start if result is None else result.factors)

    for stage, penalty in enumerate(penalties):
        if run.is_past(stage):
            continue
        result = solve(stage, penalty)
        if run.stopped or orthogonality_error(result.gram) <= tol:
            break
    if last is not None and not run.stopped:
        result = solve(len(penalties), last)
    assert result is not None, "there is at least one penalty"
    return result


def orthogonality_error(gram: np.ndarray) -> float:
    """``||Hn^T Hn - I||_F / rank^2`` from ``H^T H``, with the columns of Hn at unit norm."""
    norms = np.sqrt(np.diag(gram))
    safe = np.where(norms > 0, norms, 1.0)
    return float(np.linalg.norm(gram / np.outer(safe, safe) - np.eye(len(gram)))) / len(gram) ** 2
