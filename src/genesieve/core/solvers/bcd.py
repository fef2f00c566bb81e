"""Exact blocks (bcd): the best H for W by a pass over the cells, the best W for H from the sums of that pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genesieve.core.cells.blocks import FROM_ZERO, Usages
from genesieve.core.objective import gram_of
from genesieve.core.solvers.run import Arrays, Factors, Journal, Problem, Result, State

# Entries of a program that are smaller, relative to its largest, change the objective by less than rounding does.
NO_MATTER = float(np.sqrt(np.finfo(np.float64).eps))


@dataclass(frozen=True)
class GeneStep:
    """The W step at a state: the best W for its H, from cached sums alone."""

    W: np.ndarray
    move: np.ndarray  # from the W of the state
    decrease: float  # of the objective, at the H of the state
    revived: bool  # a program that had died was reseeded


@dataclass(frozen=True)
class Position:
    """Where bcd stands after an iteration. H is no part of a snapshot: it follows from W."""

    state: State
    last: GeneStep | None
    revivals: int  # that are left
    done: int  # iterations

    def arrays(self) -> Arrays:
        """For a snapshot."""
        last = {} if self.last is None else {"last_W": self.last.W, "last_move": self.last.move}
        return self.state.arrays(revivals=self.revivals, done=self.done, **last)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Position:
        """The position of a snapshot."""
        last = GeneStep(arrays["last_W"], arrays["last_move"], np.nan, False) if "last_W" in arrays else None
        return cls(State.from_arrays(arrays, FROM_ZERO), last, int(arrays["revivals"]), int(arrays["done"]))


def bcd(problem: Problem, start: Factors, *, journal: Journal | None = None) -> Result:
    """Alternate the best H and the best W until the W step has next to nothing to gain.

    Every pass is tried at an accelerated W; where that would raise the objective, it is redone at the plain W. The run
    ends with the H that is best for its W, so that transforming the training cells gives the same H. Steps that are not
    ``exact`` only lower the objective: for fits that another one goes on from.
    """
    journal = journal or Journal()
    begin = _begin(problem, start, journal)
    state, last, revivals, converged = begin.state, begin.last, begin.revivals, False
    for iteration in range(begin.done + 1, problem.max_iter + 1):
        step = _gene_step(problem, state, may_revive=revivals > 0)
        revivals -= step.revived
        if step.decrease <= problem.least_decrease(state) < np.inf and not step.revived:
            converged = True
            break
        # a reseeded program may have left usages behind, which only an exact step is sure to mend
        new = _advance(replace(problem, exact=problem.exact or step.revived), journal, state, step, last)
        if new.objective > state.objective:  # possible only where the cells' problem is not convex, or by rounding
            converged = True
            break
        state, last = new, step
        if journal.report(state.objective, Position(state, last, revivals, iteration).arrays()):
            break
    if not journal.history:
        journal.report(state.objective, Position(state, last, revivals, 0).arrays())
    return journal.result(problem, state, converged=converged)


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
    return Position(state, None, start.W.shape[1], 0)


def _with_best_usages(problem: Problem, journal: Journal, W: np.ndarray, H: Usages) -> State:
    """W with the H that is best for it, found from ``H`` by one pass."""
    penalty = problem.penalty
    step = penalty.quick_cell_step if not problem.exact and isinstance(H, np.ndarray) else penalty.cell_step
    sweep = journal.sweep(problem.cells, W, H, step(gram_of(W)))
    return State(W, sweep, problem.objective(W, sweep))


def _gene_step(problem: Problem, state: State, *, may_revive: bool) -> GeneStep:
    quadratic = problem.penalty.gene_quadratic(state.sweep.gram, gram_of(state.W))
    about: dict[str, Any] = {"threads": problem.cells.threads, "exact": problem.exact}
    best = problem.constraint.best(quadratic, state.sweep.cross, state.W, **about)
    best = best.astype(state.W.dtype, copy=False)
    W = _revive(problem, state, best) if may_revive else best
    return GeneStep(W, W - state.W, state.objective - problem.objective(W, state.sweep), W is not best)


def _advance(problem: Problem, journal: Journal, state: State, step: GeneStep, last: GeneStep | None) -> State:
    if last is not None and np.isfinite(state.objective):
        trial = _with_best_usages(problem, journal, _accelerated(state, step, last), state.sweep.H)
        if trial.objective <= state.objective:
            return trial
    return _with_best_usages(problem, journal, step.W, state.sweep.H)


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
