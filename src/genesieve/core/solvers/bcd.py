"""Exact blocks (bcd): the best H for W by a pass over the cells, the best W for H from the sums of that pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genesieve.core.cells.blocks import FROM_ZERO, WITH_CELLS, Usages
from genesieve.core.objective import gram_of
from genesieve.core.solvers.run import Arrays, Factors, Journal, Problem, Result, State

# Entries of a program that are smaller, relative to its largest, change the objective by less than rounding does.
NO_MATTER = float(np.sqrt(np.finfo(np.float64).eps))
# How far beyond a W step the next pass is tried, as a share of the way from the last W step to this one: at first, its
# growth after a pass with a good gain, the most, and what is left of it after one with less, and after one that raised
# the objective. Of quick steps, a gain is good from so many times the decrease that the W step alone is sure of: where
# it is smaller, the pass went too far and left some of that to the next one.
FIRST_STRIDE = 0.5
STRIDE_GROWTH = 1.2
LONGEST_STRIDE = 1.0
STRIDE_AFTER_LESS, STRIDE_AFTER_RISE = 0.7, 0.5
GOOD_GAIN = 1.2


@dataclass(frozen=True)
class GeneStep:
    """The W step at a state: the best W for its H, from cached sums alone."""

    W: np.ndarray
    decrease: float  # of the objective, at the H of the state
    revived: bool  # a program that had died was reseeded


@dataclass(frozen=True)
class Position:
    """Where bcd stands after an iteration. H is no part of a snapshot: it follows from W."""

    state: State
    last: np.ndarray | None  # W of the last W step
    stride: float  # beyond the next one
    revivals: int  # that are left
    done: int  # iterations

    def arrays(self) -> Arrays:
        """For a snapshot."""
        last = {} if self.last is None else {"last_W": self.last}
        return self.state.arrays(revivals=self.revivals, done=self.done, stride=self.stride, **last)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Position:
        """The position of a snapshot."""
        state, stride = State.from_arrays(arrays, FROM_ZERO), float(arrays["stride"])
        return cls(state, arrays.get("last_W"), stride, int(arrays["revivals"]), int(arrays["done"]))


def bcd(problem: Problem, start: Factors, *, journal: Journal | None = None) -> Result:
    """Alternate the best H and the best W until the W step has next to nothing to gain.

    Every pass is tried somewhat beyond the W step; where that would raise the objective, it is redone at the W step. It
    ends with the H that is best for its W, so that transforming the training cells gives the same H. Steps that are not
    ``exact`` only lower the objective: for fits that another one goes on from.
    """
    journal = journal or Journal()
    at, converged = _begin(problem, start, journal), False
    for iteration in range(at.done + 1, problem.max_iter + 1):
        state = at.state
        step = _gene_step(problem, state, may_revive=at.revivals > 0)
        if step.decrease <= problem.least_decrease(state) < np.inf and not step.revived:
            converged = True
            break
        # a reseeded program may have left usages behind, which only an exact step is sure to mend
        new, stride = _advance(replace(problem, exact=problem.exact or step.revived), journal, at, step)
        if new.objective > state.objective:  # possible only where the cells' problem is not convex, or by rounding
            converged = True
            break
        at = Position(new, step.W, stride, at.revivals - step.revived, iteration)
        if journal.report(new.objective, at.arrays()):
            break
    if not journal.history:
        journal.report(at.state.objective, at.arrays())
    return journal.result(problem, at.state, converged=converged)


def _begin(problem: Problem, start: Factors, journal: Journal) -> Position:
    """Where an interrupted run stood, or the start with the H that is best for it."""
    saved = journal.resume(problem.constraint)
    if saved is not None:
        return Position.from_arrays(saved)
    state = _with_best_usages(problem, journal, start.W, start.H)
    if not (problem.constraint.contains(start.W) and problem.constraint.is_spent(start.W)):
        state = replace(state, objective=np.inf)  # what breaks the budget, or leaves some of it, does not count
    else:
        journal.found(state.objective)
    return Position(state, None, FIRST_STRIDE, start.W.shape[1], 0)


def _with_best_usages(problem: Problem, journal: Journal, W: np.ndarray, H: Usages) -> State:
    """W with the H that is best for it, found from ``H`` by one pass."""
    penalty = problem.penalty
    step = penalty.cell_step if problem.exact or H is WITH_CELLS else penalty.quick_cell_step
    sweep = journal.sweep(problem.cells, W, H, step(gram_of(W)))
    return State(W, sweep, problem.objective(W, sweep))


def _gene_step(problem: Problem, state: State, *, may_revive: bool) -> GeneStep:
    quadratic = problem.penalty.gene_quadratic(state.sweep.gram, gram_of(state.W))
    about: dict[str, Any] = {"threads": problem.cells.threads, "exact": problem.exact}
    best = problem.constraint.best(quadratic, state.sweep.cross, state.W, **about)
    best = best.astype(state.W.dtype, copy=False)
    W = _revive(problem, state, best) if may_revive else best
    return GeneStep(W, state.objective - problem.objective(W, state.sweep), W is not best)


def _advance(problem: Problem, journal: Journal, at: Position, step: GeneStep) -> tuple[State, float]:
    """The state after a pass, tried beyond the W step, and how far beyond the next one to try."""
    H, stride = at.state.sweep.H, at.stride
    if at.last is not None and np.isfinite(at.state.objective):
        trial = _with_best_usages(problem, journal, _beyond(at, step.W), H)
        gain = at.state.objective - trial.objective
        if gain >= 0.0:
            is_good = problem.exact or gain >= GOOD_GAIN * step.decrease
            return trial, min(STRIDE_GROWTH * stride, LONGEST_STRIDE) if is_good else STRIDE_AFTER_LESS * stride
        stride *= STRIDE_AFTER_RISE
    return _with_best_usages(problem, journal, step.W, H), stride


def _beyond(at: Position, W: np.ndarray) -> np.ndarray:
    """A W step, and further the way that it went since the last one: extrapolation, as Nesterov's.

    Only entries in use all along go further; a gene that has just entered the budget has no course to be extrapolated.
    """
    assert at.last is not None
    in_use = (W > 0) & (at.state.W > 0) & (at.last > 0)
    further = np.maximum(W + at.stride * (W - at.last), 0)
    return np.where(in_use, further, W).astype(W.dtype, copy=False)


def _revive(problem: Problem, state: State, W: np.ndarray) -> np.ndarray:
    """Reseed one program that died with the worst-fitted cell.

    Its usages are zero, so this leaves the objective as it is. The new column is made small enough for the projection
    to keep all other entries that matter; where the budget has no room for it, the program stays empty. Genes that have
    a baseline to lose stay outside.
    """
    dead = np.flatnonzero(~W.any(axis=0))
    if dead.size == 0 or not W.any():
        return W
    seed = problem.cells.worst_cell(W, state.W, problem.penalty.cell_step(gram_of(state.W)))
    if not seed.any():
        return W
    revived = W.copy()
    smallest = W[NO_MATTER * W.max(axis=0) < W].min()
    revived[:, dead[0]] = seed * (smallest / (2.0 * seed.max() * np.sqrt(W.shape[1])))
    revived = problem.constraint.project(revived)
    outside = problem.constraint.gain_outside
    return revived if outside(revived) == outside(W) else np.where(W.any(axis=1, keepdims=True), revived, 0)
