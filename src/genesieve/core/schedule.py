"""A fit as three steps: place programs on few cells, settle on many, finish on X."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genesieve.core import budget, starts
from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import FROM_ZERO, Cells
from genesieve.core.cells.low_rank import LowRank, low_rank_approximation
from genesieve.core.cells.threads import side_by_side, single_threaded_blas
from genesieve.core.choices import Choices
from genesieve.core.placing import Placing, WarmStart
from genesieve.core.solvers import (
    FINISH,
    LOW_RANK,
    SETTLE,
    Factors,
    Journal,
    Problem,
    Result,
    best_of,
    fine_tolerance,
)
from genesieve.core.tolerances import SETTLE_TOLERANCE, settle_tolerance


class Schedule(Choices):
    """The steps of a fit."""

    def fit(self, cells: Cells, rng: np.random.Generator, *, journal: Journal | None = None) -> Result:
        """Fit from one start, or on from the snapshot of the journal."""
        problem, journal = self.problem(cells), journal or Journal()
        journal.n_cells = cells.shape[0]
        with single_threaded_blas():  # between passes its threads would spin on the cores that the next pass needs
            if not isinstance(self.init, str):
                return self.solve(problem, self.init, journal)
            if self.solver_row.needs_usages:
                return self.solve(problem, starts.STARTS[self.init](cells, self.rank, rng), journal)
            many, early = sampling.many_cells(cells, rng), self._with_wider_budget(cells)
            is_placed = self.init == "nmf" and sampling.is_large(many)
            placed = early._place(many, problem, rng, journal) if is_placed else None
            settled = early._settle(many, problem, placed, rng, journal)
            if early is not self:
                problem, settled = self._narrowed(problem, settled, journal)
            return self._finish(problem, settled, journal)

    # ------------------------------------------------------------------------------------------------ the steps

    def _place(self, many: Cells, problem: Problem, rng: np.random.Generator, journal: Journal) -> WarmStart:
        """Fit few of the cells, on the genes that count most in them; all for a consensus, or each seed has its own."""
        n_genes = max(sampling.SAMPLE_GENES, self.n_genes or 0, self.rank)
        n_cells = many.shape[0] if self.consensus else sampling.SAMPLE_CELLS
        few = sampling.sample(many, rng, n_cells=n_cells, n_genes=n_genes, required=self.required)
        cells, start = Placing(self, problem, rng, journal).start(few.cells, few.genes)
        early = self.early(problem, cells, fine_tolerance(self.rank), genes=few.genes)
        fitted = self.solve(replace(early, max_iter=0) if self.is_plain else early, start.factors)
        journal.advance()
        directions = few.embed(cells.directions) if isinstance(cells, LowRank) else None
        factors = Factors(FROM_ZERO, few.embed(fitted.factors.W))
        others = tuple(Factors(FROM_ZERO, few.embed(other.W)) for other in start.others)
        return WarmStart(factors, fitted.penalty, directions, start.stability, others)

    def _settle(
        self, many: Cells, problem: Problem, placed: WarmStart | None, rng: np.random.Generator, journal: Journal
    ) -> WarmStart:
        """Fit many of the cells on their leading directions; what is left is for the last step."""
        if placed is None:
            cells, placed = Placing(self, problem, rng, journal).start(many)
        else:
            cells = low_rank_approximation(many, self.rank, rng, near=placed.directions, thorough=bool(self.consensus))
            placed = self._lowest(placed, problem, cells)
        as_is = self._settles_as_is(many)
        journal.enter(SETTLE)
        if cells is not problem.cells:
            goes_on = as_is and (self.keeps_budget or self.rank > LOW_RANK)  # by many quick steps on the cells
            tol = problem.tol if goes_on else self._settle_tolerance(problem.tol)
            early = self.early(problem, cells, tol)
            fitted = self.solve(replace(early, penalty=placed.penalty), placed.factors, Journal(journal.advance))
            at_hand = as_is or many is problem.cells
            factors = fitted.factors if at_hand else Factors(FROM_ZERO, fitted.factors.W)
            journal.passes += many is problem.cells  # over all of X, if only on some directions
            placed = placed._replace(factors=factors, penalty=fitted.penalty)
        if as_is:
            placed = self._settle_as_is(many, cells, problem, placed, rng, journal)
        return self._released(placed, cells) if self.chooses_genes else placed

    def _settle_as_is(
        self,
        many: Cells,
        approximation: Cells,
        problem: Problem,
        placed: WarmStart,
        rng: np.random.Generator,
        journal: Journal,
    ) -> WarmStart:
        """Go on by quick steps on the cells themselves."""
        share = SETTLE_TOLERANCE if many.shape[0] <= sampling.SAMPLE_CELLS else 1.0
        tol = share * problem.tol if self.keeps_budget else self._settle_tolerance(problem.tol)
        cells = sampling.at_hand(many, rng)
        if self.rank > LOW_RANK and not self.keeps_budget:  # there are many of these steps
            cells = cells.two_ways()
        early = replace(self.early(problem, cells, tol), exact=False)
        told = journal.advance_to if many is problem.cells else journal.advance
        H, W = placed.factors
        start = Factors(H if isinstance(approximation, LowRank) else FROM_ZERO, W)  # the same wherever H is
        fitted = self.solve(early, start, Journal(told)).factors
        return placed._replace(factors=fitted if many is problem.cells else Factors(FROM_ZERO, fitted.W))

    def _released(self, settled: WarmStart, cells: Cells) -> WarmStart:
        """Programs on the best genes of the budget, from which the others are chosen anew."""
        assert self.n_genes is not None
        W, n_core = settled.factors.W, budget.core(self.n_genes, self.rank)
        if n_core == self.n_genes:
            return settled
        core = W * starts.best_rows(cells, W, n_core).any(axis=1, keepdims=True)
        alive = bool((core.any(axis=0) == W.any(axis=0)).all())  # few genes may leave a program none
        return settled._replace(factors=Factors(FROM_ZERO, core)) if alive else settled

    def _narrowed(self, problem: Problem, settled: WarmStart, journal: Journal) -> tuple[Problem, WarmStart]:
        """Programs of a wider budget on the genes of this one, and X with a budget that keeps to these."""
        assert self.n_genes is not None
        W, saved = settled.factors.W, journal.snapshot  # an interrupted fit goes on with the genes that it had
        W = starts.best_rows(problem.cells, W, self.n_genes, self.required) if saved is None else saved.arrays["W"]
        journal.passes += saved is None
        genes = np.logical_or(W.any(axis=1), False if self.required is None else self.required)
        constraint = replace(self, required=genes).constraint(problem.cells)
        return replace(problem, constraint=constraint), settled._replace(factors=Factors(FROM_ZERO, W))

    def _lowest(self, placed: WarmStart, problem: Problem, cells: Cells) -> WarmStart:
        """The lowest of its minima on many cells: few show objectives so close together in another order."""
        if not (placed.others and isinstance(cells, LowRank)) or self.orthogonality == "exact":
            return placed
        early = self.early(problem, cells.on_one_thread(), max(problem.tol, self.solver_row.tol))
        tried = side_by_side(
            lambda start: self.solve(early, start), [placed.factors, *placed.others], problem.cells.threads
        )
        return placed._replace(factors=Factors(FROM_ZERO, best_of(tried).factors.W))

    def _settle_tolerance(self, tol: float) -> float:
        return settle_tolerance(tol, self.rank, keeps_budget=self.keeps_budget)

    def _settles_as_is(self, many: Cells) -> bool:
        """Whether quick steps on X itself come before the exact ones: on few cells, and on many without a budget."""
        quick = self.rank > LOW_RANK or not self.keeps_budget
        few = sampling.SAMPLE_CELLS if self.keeps_budget else sampling.held_cells(many.shape[1], self.rank > LOW_RANK)
        return quick and self.init == "nmf" and self.orthogonality != "exact" and many.shape[0] <= few

    def _finish(self, problem: Problem, settled: WarmStart, journal: Journal) -> Result:
        """Fit X as it is."""
        journal.enter(FINISH)
        result = self.solve(replace(problem, penalty=settled.penalty), settled.factors, journal)
        return replace(result, stability=settled.stability)

    # ------------------------------------------------------------------------------------------------ their parts

    def _with_wider_budget(self, cells: Cells) -> Schedule:
        """The schedule for the steps that find programs: with a baseline, by more genes than a small budget has."""
        if not self.chooses_genes or self.n_genes is None or not cells.baseline_gains.any():
            return self
        n_genes = budget.wider(self.n_genes, cells.shape[1])
        return self if n_genes == self.n_genes else replace(self, n_genes=n_genes)
