"""The solvers by name, and what each of them needs and knows; how they work is in their own modules.

Each takes a problem, a start and a journal, and returns a ``Result``. They are silent: progress goes to the journal's
callback. An iteration costs one pass over X (two where a trial step was refused).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from genesieve.core.objective import Orthogonal, Overlap, Penalty, RelativeOverlap
from genesieve.core.solvers.bcd import bcd
from genesieve.core.solvers.continuation import continuation, orthogonality_error
from genesieve.core.solvers.palm import line_search_step, mapalm, palm, proximal_step
from genesieve.core.solvers.run import (
    FINISH,
    PLACE,
    SETTLE,
    Callback,
    Factors,
    Journal,
    Monitor,
    Problem,
    Progress,
    Result,
    Snapshot,
    Solve,
    Stand,
    best_of,
    check_snapshot,
    different_minima,
)

__all__ = [
    "FINISH",
    "LOW_RANK",
    "PLACE",
    "SETTLE",
    "SOLVERS",
    "Callback",
    "Factors",
    "Journal",
    "Monitor",
    "Problem",
    "Progress",
    "Result",
    "Snapshot",
    "Solve",
    "Solver",
    "Stand",
    "bcd",
    "best_of",
    "check_snapshot",
    "continuation",
    "different_minima",
    "fine_tolerance",
    "line_search_step",
    "mapalm",
    "orthogonality_error",
    "palm",
    "proximal_step",
]


# Relative decrease of the objective at which bcd stops, on many cells and on few: these are cheap, and what they leave
# takes full passes to mend.
TOLERANCE = 2e-5
FINE_TOLERANCE = 1e-6
# Beyond this rank, hundreds of iterations gain less than starts differ by: the fine tolerance grows with the rank.
LOW_RANK = 16
GROWTH_OF_TOLERANCE = 1 / 8
# Relative change of both factors at which the paper's solvers stop.
PAPER_TOLERANCE = 1e-3


def fine_tolerance(rank: int) -> float:
    """The tolerance on few cells, at this rank."""
    return FINE_TOLERANCE if rank <= LOW_RANK else min(GROWTH_OF_TOLERANCE * rank * FINE_TOLERANCE, TOLERANCE)


@dataclass(frozen=True)
class Solver:
    """A solver, and what there is to know of it before it runs."""

    run: Solve
    needs_usages: bool = False  # to set out from; one that does not goes on from W alone, wherever the cells are
    line_search: Solve | None = None  # the same with step lengths found by backtracking
    penalty: Callable[[float], Penalty] = RelativeOverlap  # on overlapping programs, from its strength
    last_penalty: Penalty | None = None  # that an exactly orthogonal H ends under
    tol: float = TOLERANCE
    few_cells_tol: Callable[[int], float] = fine_tolerance  # by the rank
    saves: tuple[str, ...] = ("done", "revivals", "stride")  # in its snapshots, besides what every state has
    of_paper: bool = False  # nothing is added to the paper's objective unless it is asked for


def _of_paper(run: Callable[..., Result]) -> Solver:
    line_search = partial(run, line_search=True)
    tol, saves = PAPER_TOLERANCE, ("H", "previous_H", "previous_W", "momentum", "converged", "done")
    tolerances = {"tol": tol, "few_cells_tol": lambda rank: tol}
    return Solver(run, True, line_search, penalty=Overlap, **tolerances, saves=saves, of_paper=True)  # type: ignore[arg-type]


SOLVERS = {"bcd": Solver(bcd, last_penalty=Orthogonal()), "mapalm": _of_paper(mapalm), "palm": _of_paper(palm)}
