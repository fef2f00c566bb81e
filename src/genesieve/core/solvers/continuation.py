"""Continuation in the penalty: solve under one after the other until H is orthogonal, Alg. 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from genesieve.core.objective import Penalty
from genesieve.core.solvers.run import Factors, Journal, Problem, Result, Solve

# Alg. 4: the strengths of the growing penalty, and the error at which H counts as orthogonal.
STRENGTHS = tuple(0.1 * 1.5**number for number in range(10))
ORTHOGONALITY_TOLERANCE = 1e-3


def continuation(
    solve: Solve,
    problem: Problem,
    start: Factors,
    penalties: Sequence[Penalty],
    *,
    tol: float,
    last: Penalty | None = None,
    journal: Journal | None = None,
) -> Result:
    """Solve under one penalty after the other, each from the last one's end, until H is orthogonal to ``tol``.

    Then, if it is given, under the ``last`` one.
    """
    journal, result = journal or Journal(), None

    def solve_under(number: int, penalty: Penalty) -> Result:
        journal.penalty_number = number
        return solve(replace(problem, penalty=penalty), start if result is None else result.factors, journal=journal)

    for number, penalty in enumerate(penalties):
        if journal.resumes_after(number):
            continue
        result = solve_under(number, penalty)
        if journal.stopped or orthogonality_error(result.gram) <= tol:
            break
    if last is not None and not journal.stopped:
        result = solve_under(len(penalties), last)
    assert result is not None, "there is at least one penalty"
    return result


def orthogonality_error(gram: np.ndarray) -> float:
    """``||Hn^T Hn - I||_F / rank^2`` from ``H^T H``, with the columns of Hn at unit norm."""
    norms = np.sqrt(np.diag(gram))
    safe = np.where(norms > 0, norms, 1.0)
    return float(np.linalg.norm(gram / np.outer(safe, safe) - np.eye(len(gram)))) / len(gram) ** 2
