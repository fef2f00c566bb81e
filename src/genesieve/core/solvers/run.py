"""What solvers share: the problem, where a run stands, the journal of it with its snapshots, and the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from genesieve.core.cells.blocks import Cells, Sweep, Usages
from genesieve.core.constraints import Constraint
from genesieve.core.objective import CellStep, Penalty, gram_of, half_squared_residual

# What the Gram form of the objective loses to cancellation where the fit is next to exact, relative to ||X||^2.
CANCELLATION = 1e-12
# The tolerance is relative to the objective, or to this share of ||X||^2 where programs leave less than that: to halve
# what is next to nothing is worth no iteration.
NEXT_TO_NOTHING = 1e-2
# Objectives this close are of one minimum, reached with another rounding.
SAME_MINIMUM = 1e-6
# Relative difference of objectives from which on fits count as different minima.
OTHER_MINIMUM = 3e-5

Arrays = dict[str, np.ndarray]
T = TypeVar("T")


class Factors(NamedTuple):
    """Both factors, tall: X is about ``H @ W.T``."""

    H: Any  # (cells, rank), or why it is not at hand (``NoUsages``)
    W: np.ndarray  # (genes, rank)


@dataclass(frozen=True)
class Progress:
    """What a callback is told after an iteration."""

    iteration: int
    objective: float
    passes: int
    seconds: float


Callback = Callable[[Progress], object]  # True ends the run after this iteration

PLACE, SETTLE, FINISH = "place", "settle", "finish"


@dataclass(frozen=True)
class Stand:
    """What a monitor is told of: where a fit stands, between iterations on X and before them."""

    stage: str  # PLACE, SETTLE or FINISH
    done: int  # of the stage: fits on few cells, iterations on many, passes over X
    of: int | None  # so many in all, where that is known
    n_cells: int  # of X
    fit: int  # which of the fits from several starts, from 1 on
    n_fits: int
    seconds: float  # since this fit began
    objective: float | None = None  # where one was found for X itself, between and before iterations


@runtime_checkable
class Monitor(Protocol):
    """A callback that is also told of what comes before and between iterations on X."""

    def __call__(self, progress: Progress, /) -> object: ...

    def stands(self, stand: Stand, /) -> None:
        """Told of every fit on few cells, iteration on many and pass over X, from one thread at a time."""


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
    stability: np.ndarray | None = None  # (rank,), where the start was a consensus: the share of its fits with each


def best_of(results: Sequence[Result]) -> Result:
    """The result with the lowest objective; of those that differ by rounding alone the first, wherever cells are."""
    lowest = min(result.objective for result in results)
    return next(result for result in results if result.objective <= lowest + SAME_MINIMUM * abs(lowest))


def different_minima(results: Sequence[Result]) -> list[Result]:
    """One result of every minimum, the lowest first."""
    found: list[Result] = []
    for result in sorted(results, key=lambda result: result.objective):
        if not found or result.objective > (1.0 + OTHER_MINIMUM) * found[-1].objective:
            found.append(result)
    return found


@dataclass(frozen=True)
class State:
    """A point of a run: the factors, the sums of the pass that made them, and their objective."""

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
    def from_arrays(cls, arrays: Arrays, H: Usages) -> State:
        """The state of a snapshot."""
        return cls(arrays["W"], Sweep(H, arrays["cross"], arrays["gram"]), float(arrays["objective"]))


@dataclass(frozen=True)
class Problem:
    """What is minimised, and how far."""

    cells: Cells
    constraint: Constraint
    penalty: Penalty
    max_iter: int
    tol: float
    exact: bool = True  # whether steps go to their end; if not, H must pass through the solver, from one to the next

    def objective(self, W: np.ndarray, sweep: Sweep) -> float:
        """Eq. 10 (or its scale-free form) at W and the H of the sweep, genes outside the budget by their baseline."""
        squared_norm = self.cells.squared_norm - self.constraint.gain_outside(W)
        residual = half_squared_residual(squared_norm, W, sweep.cross, sweep.gram)
        return residual + self.penalty.value(sweep.gram, gram_of(W))

    def least_decrease(self, state: State) -> float:
        """The decrease of the objective below which a run counts as converged.

        It is a share of the noise, as the residual shows it: factors of so many numbers leave a residual of what they
        leave of noise alone. Factors of as many numbers as X has leave none, and noise is as large as X then.
        """
        squared_norm, (n_cells, n_genes) = self.cells.squared_norm, self.cells.shape
        residual = max(state.objective, NEXT_TO_NOTHING * squared_norm)
        left = 1.0 - state.W.shape[1] * (1.0 / n_cells + 1.0 / n_genes)  # of noise
        noise = residual / left if residual < left * squared_norm else squared_norm
        return max(self.tol * noise, CANCELLATION * squared_norm)


@dataclass(frozen=True)
class Snapshot:
    """All that a solver needs to go on from the end of an iteration."""

    penalty_number: int  # of a continuation
    arrays: Arrays
    history: list[Progress]


def check_snapshot(arrays: Arrays, saved: Sequence[str], shape: tuple[int, int], rank: int) -> None:
    """Raise unless a snapshot of a solver that saves these holds what a fit of this shape and rank needs."""
    cells, genes = shape
    shapes = {"gram": (rank, rank), "H": (cells, rank), "previous_H": (cells, rank)}
    shapes |= dict.fromkeys(("W", "cross", "previous_W", "last_W"), (genes, rank))
    missing = {"W", "cross", "gram", "objective", *saved} - set(arrays)
    if missing:
        raise ValueError(f"a snapshot without {', '.join(sorted(missing))}")
    for name, array in arrays.items():
        whole = array.shape == shapes.get(name, ()) and array.dtype.kind in "fiub"
        if not whole or not (np.isfinite(array).all() or name == "objective") or np.isnan(array).any():
            raise ValueError(f"{name} must be numbers of shape {shapes.get(name, ())}, got {array.dtype} {array.shape}")
        if name in ("W", "H", "previous_W", "previous_H", "last_W") and (array < 0).any():
            raise ValueError(f"{name} must not be negative")


@dataclass
class Journal:
    """The record of a run, who is told of it, and where it goes on from if it was interrupted."""

    callback: Callback | None = None
    save: Callable[[Snapshot], object] | None = None  # is given a snapshot after every iteration
    snapshot: Snapshot | None = None  # to go on from
    penalty_number: int = 0  # of a continuation
    history: list[Progress] = field(default_factory=list)
    passes: int = 0
    stopped: bool = False  # by the callback
    _began: float = field(default_factory=time.perf_counter)
    n_cells: int = 0  # of X
    fit: int = 1  # which of several, from 1 on
    n_fits: int = 1
    _stand: tuple[str, int, int | None] = (FINISH, 0, None)
    _lock: Lock = field(default_factory=Lock, repr=False)
    _monitor: Monitor | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._monitor = self.callback if isinstance(self.callback, Monitor) else None  # to ask takes time

    def enter(self, stage: str, of: int | None = None) -> None:
        """A stage begins, of so many parts."""
        self._tell(stage, 0, of)

    def advance(self, _: object = None) -> None:
        """Another part of the stage is done."""
        with self._lock:  # fits side by side all report
            stage, done, of = self._stand
            self._tell(stage, done + 1, of)

    def noting(self, work: Callable[..., T]) -> Callable[..., T]:
        """The same work, told of whenever it is done."""

        def noted(*given: Any) -> T:
            result = work(*given)
            self.advance()
            return result

        return noted

    def found(self, objective: float) -> None:
        """Programs have this objective on X, before an iteration on it has ended."""
        with self._lock:
            self._tell(*self._stand, objective)

    def found_by(self, step: Progress) -> None:
        """The same, after an iteration of an early fit of X itself."""
        self.found(step.objective)

    def advance_to(self, step: Progress) -> None:
        """Both: another part of the stage is done, an iteration of an early fit of X itself."""
        self.advance()
        self.found(step.objective)

    def _tell(self, stage: str, done: int, of: int | None, objective: float | None = None) -> None:
        self._stand = stage, done, of
        if self._monitor is not None:
            about = stage, done, of, self.n_cells, self.fit, self.n_fits, self.seconds
            self._monitor.stands(Stand(*about, objective))

    @property
    def seconds(self) -> float:
        """Since the run began, without interruptions."""
        return time.perf_counter() - self._began

    def sweep(self, cells: Cells, W: np.ndarray, H: Usages, step: CellStep) -> Sweep:
        """One pass over the cells, counted."""
        swept = cells.sweep(W, H, step)
        self.passes += 1
        self.advance()
        return swept

    def report(self, objective: float, arrays: Arrays) -> bool:
        """Note and save the end of an iteration; whether the callback wants it to be the last."""
        self.history.append(Progress(len(self.history) + 1, objective, self.passes, self.seconds))
        if self.save is not None:
            self.save(Snapshot(self.penalty_number, arrays, self.history))
        if self.callback is not None:
            self.stopped = self.callback(self.history[-1]) is True
        return self.stopped

    def resume(self, constraint: Constraint) -> Arrays | None:
        """The snapshot's arrays, if it is of this penalty; its record goes on, too."""
        if self.snapshot is None or self.snapshot.penalty_number != self.penalty_number:
            return None
        if not constraint.contains(self.snapshot.arrays["W"]):
            raise ValueError("checkpoint must hold programs that keep the budget of genes, got some that do not")
        arrays, self.history, self.snapshot = self.snapshot.arrays, list(self.snapshot.history), None
        self.passes = self.history[-1].passes
        self._began = time.perf_counter() - self.history[-1].seconds
        return arrays

    def resumes_after(self, penalty_number: int) -> bool:
        """Whether the snapshot to go on from is of a later penalty."""
        return self.snapshot is not None and self.snapshot.penalty_number > penalty_number

    def result(self, problem: Problem, state: State, *, converged: bool) -> Result:
        """The finished run."""
        return Result(
            factors=state.factors,
            gram=state.sweep.gram,
            objective=state.objective,
            # the Gram form may cancel below zero
            squared_residual=max(problem.cells.squared_residual(state.W, state.sweep), 0.0),
            penalty=problem.penalty,
            converged=converged,
            stopped=self.stopped,
            history=self.history,
        )


class Solve(Protocol):
    """A solver: from a problem and a start to a result."""

    def __call__(self, problem: Problem, start: Factors, *, journal: Journal | None = None) -> Result: ...
