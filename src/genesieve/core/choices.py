"""What a fit is to do: its choices, and the problems that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from genesieve.core import starts
from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import Cells
from genesieve.core.cells.low_rank import LowRank
from genesieve.core.constraints import ColumnSparse, Constraint, EntrySparse, NonNegative, RowSparse
from genesieve.core.solvers import LOW_RANK, SOLVERS, Factors, Journal, Problem, Result, Solver, continuation
from genesieve.core.solvers.continuation import ORTHOGONALITY_TOLERANCE, STRENGTHS

SPARSITIES = ("rows", "columns", "entries", None)

# Up to so many cells a fit with a budget goes on to the fine tolerance: its last passes settle which genes are in, and
# with them the usages of programs of few genes (docs/programs.md).
BUDGET_FEW_CELLS = sampling.SETTLE_CELLS


@dataclass(frozen=True)
class Choices:
    """The choices of a fit; the estimator documents and checks them."""

    rank: int
    n_genes: int | None
    sparsity: str | None
    orthogonality: float | str
    solver: str
    init: str | Factors
    max_iter: int
    tol: float | None
    line_search: bool
    required: np.ndarray | None  # mask of genes sure of a place in the budget
    consensus: int = 0  # fits whose consensus is the start; 0: the lowest of some is

    @property
    def solver_row(self) -> Solver:
        """What the solver needs and knows."""
        return SOLVERS[self.solver]

    @property
    def keeps_budget(self) -> bool:
        """Whether entries of W are limited."""
        return self.n_genes is not None and self.sparsity is not None

    @property
    def tries_starts(self) -> bool:
        """Whether some starts are tried, under the penalty, for the lowest or for what they agree on."""
        return self.init == "nmf" and bool(self.consensus or self.keeps_budget)

    @property
    def chooses_genes(self) -> bool:
        """Whether genes are in the budget, or out of it, as a whole, and starts are tried."""
        return self.keeps_budget and self.sparsity == "rows" and self.tries_starts

    @property
    def is_plain(self) -> bool:
        """Whether the start is a fit with the same objective."""
        return self.init == "nmf" and self.orthogonality == 0.0 and not self.tries_starts

    def problem(self, cells: Cells) -> Problem:
        """The problem on all cells."""
        strength = STRENGTHS[0] if self.orthogonality == "exact" else float(self.orthogonality)
        few = cells.shape[0] <= (BUDGET_FEW_CELLS if self.keeps_budget else sampling.SAMPLE_CELLS)
        tol = self.solver_row.few_cells_tol(self.rank) if few else self.solver_row.tol
        tol = tol if self.tol is None else self.tol
        return Problem(cells, self.constraint(cells), self.solver_row.penalty(strength), self.max_iter, tol)

    def early(self, problem: Problem, cells: Cells, tol: float, *, genes: np.ndarray | None = None) -> Problem:
        """The problem on some or simpler cells, and on some of the genes, before X itself is visited."""
        # Of few cells, quick steps lead few programs to other minima: graph labels of Deng fall from NMI 0.85 to 0.76.
        few = self.keeps_budget and self.rank <= LOW_RANK and sampling.has_fewer(cells)
        exact, max_iter = few or not isinstance(cells, LowRank), min(self.max_iter, starts.EARLY_ITERATIONS)
        constraint = self.constraint(cells, genes)
        return replace(problem, cells=cells, constraint=constraint, max_iter=max_iter, tol=tol, exact=exact)

    def constraint(self, cells: Cells, genes: np.ndarray | None = None) -> Constraint:
        """The set for W, on all genes or on some of them, with the baseline of the cells."""
        if self.n_genes is None or self.sparsity is None:
            return NonNegative()
        if self.sparsity == "columns":
            return ColumnSparse(self.n_genes)
        if self.sparsity == "entries":
            return EntrySparse(self.n_genes * self.rank)
        required = self.required if self.required is None or genes is None else self.required[genes]
        return RowSparse(self.n_genes, required, cells.baseline_gains)

    def solve(self, problem: Problem, start: Factors, journal: Journal | None = None) -> Result:
        """Under the penalty of the problem; for an orthogonal H under growing ones, unless these are behind it."""
        solver = self.solver_row
        run = solver.line_search if self.line_search and solver.line_search else solver.run
        if self.orthogonality != "exact" or problem.penalty == solver.last_penalty:
            return run(problem, start, journal=journal)
        penalties = [solver.penalty(strength) for strength in STRENGTHS]
        tol, last = ORTHOGONALITY_TOLERANCE, solver.last_penalty
        return continuation(run, problem, start, penalties, tol=tol, last=last, journal=journal)
