"""A fit as three steps: place programs on few cells, settle on many, finish on X."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from genesieve.core import budget, starts
from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import FROM_ZERO, Cells
from genesieve.core.cells.low_rank import LowRank, explained, low_rank_approximation
from genesieve.core.cells.threads import side_by_side, single_threaded_blas
from genesieve.core.consensus import agreed, distinct
from genesieve.core.constraints import ColumnSparse, Constraint, EntrySparse, NonNegative, RowSparse, largest
from genesieve.core.objective import Penalty
from genesieve.core.solvers import (
    FINISH,
    LOW_RANK,
    PLACE,
    SETTLE,
    SOLVERS,
    Factors,
    Journal,
    Problem,
    Result,
    Solver,
    best_of,
    continuation,
    different_minima,
    fine_tolerance,
)
from genesieve.core.solvers.continuation import ORTHOGONALITY_TOLERANCE, STRENGTHS
from genesieve.core.tolerances import SETTLE_TOLERANCE, settle_tolerance

SPARSITIES = ("rows", "columns", "entries", None)
STARTS = {"nmf": starts.nmf, "random": starts.random, "nndsvd": starts.nndsvd}

# On the way to a fixed penalty, shares of it: fits without one end much alike whatever the seed, and so do those that
# set out from there, while a penalty from the first step on leads to minima far apart.
WEAKER_PENALTIES = (0.0, 0.4)
# With a budget so many starts are tried, on chosen genes. They end in few minima, and the lowest there need not be so
# on all genes: up to so many of them, and the first fit, go on to all, where the lowest is kept.
CHOSEN_STARTS = 6
FIRST_TOLERANCE = 4  # times the fine one: it chooses these genes as well as a finer fit (docs/how-it-is-fast.md)
CHOSEN_STARTS_OF_MANY = 2  # programs: there the starts end as low as each other (docs/how-it-is-fast.md)
FINALISTS = 4
# Up to so many cells a fit with a budget goes on to the fine tolerance: its last passes settle which genes are in, and
# with them the usages of programs of few genes (docs/programs.md).
BUDGET_FEW_CELLS = sampling.SETTLE_CELLS


class WarmStart(NamedTuple):
    """What a step hands to the next."""

    factors: Factors
    penalty: Penalty  # that they were fitted under
    directions: np.ndarray | None = None  # (genes, width) that the cells were approximated on, if they were
    stability: np.ndarray | None = None  # of the programs, where they are a consensus
    others: tuple[Factors, ...] = ()  # other minima, which may be the lower ones on more cells


@dataclass(frozen=True)
class Schedule:
    """The choices of a fit, and its steps; the estimator documents and checks the choices."""

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

    def fit(self, cells: Cells, rng: np.random.Generator, *, journal: Journal | None = None) -> Result:
        """Fit from one start, or on from the snapshot of the journal."""
        problem, journal = self._problem(cells), journal or Journal()
        journal.n_cells = cells.shape[0]
        with single_threaded_blas():  # between passes its threads would spin on the cores that the next pass needs
            if not isinstance(self.init, str):
                return self._solve(problem, self.init, journal)
            if self._solver.needs_usages:
                return self._solve(problem, STARTS[self.init](cells, self.rank, rng), journal)
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
        cells, start = self._start(few.cells, problem, rng, journal, genes=few.genes)
        early = self._early(problem, cells, fine_tolerance(self.rank), genes=few.genes)
        fitted = self._solve(replace(early, max_iter=0) if self._is_plain else early, start.factors)
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
            cells, placed = self._start(many, problem, rng, journal)
        else:
            cells = low_rank_approximation(many, self.rank, rng, near=placed.directions, thorough=bool(self.consensus))
            placed = self._lowest(placed, problem, cells)
        as_is = self._settles_as_is(many)
        journal.enter(SETTLE)
        if cells is not problem.cells:
            goes_on = as_is and (self._keeps_budget or self.rank > LOW_RANK)  # by many quick steps on the cells
            tol = problem.tol if goes_on else self._settle_tolerance(problem.tol)
            early = self._early(problem, cells, tol)
            fitted = self._solve(replace(early, penalty=placed.penalty), placed.factors, Journal(journal.advance))
            at_hand = as_is or many is problem.cells
            factors = fitted.factors if at_hand else Factors(FROM_ZERO, fitted.factors.W)
            journal.passes += many is problem.cells  # over all of X, if only on some directions
            placed = placed._replace(factors=factors, penalty=fitted.penalty)
        if as_is:
            placed = self._settle_as_is(many, cells, problem, placed, rng, journal)
        return self._released(placed, cells) if self._chooses_genes else placed

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
        tol = share * problem.tol if self._keeps_budget else self._settle_tolerance(problem.tol)
        cells = sampling.at_hand(many, rng)
        if self.rank > LOW_RANK and not self._keeps_budget:  # there are many of these steps
            cells = cells.two_ways()
        early = replace(self._early(problem, cells, tol), exact=False)
        told = journal.advance_to if many is problem.cells else journal.advance
        H, W = placed.factors
        start = Factors(H if isinstance(approximation, LowRank) else FROM_ZERO, W)  # the same wherever H is
        fitted = self._solve(early, start, Journal(told)).factors
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
        constraint = replace(self, required=genes)._constraint(problem.cells)
        return replace(problem, constraint=constraint), settled._replace(factors=Factors(FROM_ZERO, W))

    def _lowest(self, placed: WarmStart, problem: Problem, cells: Cells) -> WarmStart:
        """The lowest of its minima on many cells: few show objectives so close together in another order."""
        if not (placed.others and isinstance(cells, LowRank)) or self.orthogonality == "exact":
            return placed
        early = self._early(problem, cells.on_one_thread(), max(problem.tol, self._solver.tol))
        tried = side_by_side(
            lambda start: self._solve(early, start), [placed.factors, *placed.others], problem.cells.threads
        )
        return placed._replace(factors=Factors(FROM_ZERO, best_of(tried).factors.W))

    def _settle_tolerance(self, tol: float) -> float:
        return settle_tolerance(tol, self.rank, keeps_budget=self._keeps_budget)

    def _settles_as_is(self, many: Cells) -> bool:
        """Whether quick steps on X itself come before the exact ones: on few cells, and on many without a budget."""
        quick = self.rank > LOW_RANK or not self._keeps_budget
        few = sampling.SAMPLE_CELLS if self._keeps_budget else sampling.held_cells(many.shape[1], self.rank > LOW_RANK)
        return quick and self.init == "nmf" and self.orthogonality != "exact" and many.shape[0] <= few

    def _finish(self, problem: Problem, settled: WarmStart, journal: Journal) -> Result:
        """Fit X as it is."""
        journal.enter(FINISH)
        result = self._solve(replace(problem, penalty=settled.penalty), settled.factors, journal)
        return replace(result, stability=settled.stability)

    # ------------------------------------------------------------------------------------------------ their parts

    def _with_wider_budget(self, cells: Cells) -> Schedule:
        """The schedule for the steps that find programs: with a baseline, by more genes than a small budget has."""
        if not self._chooses_genes or self.n_genes is None or not cells.baseline_gains.any():
            return self
        n_genes = budget.wider(self.n_genes, cells.shape[1])
        return self if n_genes == self.n_genes else replace(self, n_genes=n_genes)

    @property
    def _solver(self) -> Solver:
        return SOLVERS[self.solver]

    def _problem(self, cells: Cells) -> Problem:
        strength = STRENGTHS[0] if self.orthogonality == "exact" else float(self.orthogonality)
        few = cells.shape[0] <= (BUDGET_FEW_CELLS if self._keeps_budget else sampling.SAMPLE_CELLS)
        tol = self._solver.few_cells_tol(self.rank) if few else self._solver.tol
        tol = tol if self.tol is None else self.tol
        return Problem(cells, self._constraint(cells), self._solver.penalty(strength), self.max_iter, tol)

    def _early(self, problem: Problem, cells: Cells, tol: float, *, genes: np.ndarray | None = None) -> Problem:
        """The problem on some or simpler cells, and on some of the genes, before X itself is visited."""
        # Of few cells, quick steps lead few programs to other minima: graph labels of Deng fall from NMI 0.85 to 0.76.
        few = self._keeps_budget and self.rank <= LOW_RANK and cells.shape[0] < sampling.SAMPLE_CELLS
        exact, max_iter = few or not isinstance(cells, LowRank), min(self.max_iter, starts.EARLY_ITERATIONS)
        constraint = self._constraint(cells, genes)
        return replace(problem, cells=cells, constraint=constraint, max_iter=max_iter, tol=tol, exact=exact)

    def _solve(self, problem: Problem, start: Factors, journal: Journal | None = None) -> Result:
        """Under the penalty of the problem; for an orthogonal H under growing ones, unless these are behind it."""
        solver = self._solver
        run = solver.line_search if self.line_search and solver.line_search else solver.run
        if self.orthogonality != "exact" or problem.penalty == solver.last_penalty:
            return run(problem, start, journal=journal)
        penalties = [solver.penalty(strength) for strength in STRENGTHS]
        tol, last = ORTHOGONALITY_TOLERANCE, solver.last_penalty
        return continuation(run, problem, start, penalties, tol=tol, last=last, journal=journal)

    def _start(
        self,
        cells: Cells,
        problem: Problem,
        rng: np.random.Generator,
        journal: Journal,
        *,
        genes: np.ndarray | None = None,
    ) -> tuple[Cells, WarmStart]:
        """Cells (on these genes) on their leading directions, where that saves work, and the start by its name."""
        journal.enter(PLACE, self._n_placing_fits)
        if self.consensus:
            return self._agreed_start(cells, problem, rng, journal)
        approximation = low_rank_approximation(cells, self.rank, rng)
        first = self._first(approximation, problem, rng, journal, cells is not problem.cells)
        journal.advance()
        if not self._tries_starts:
            return approximation, WarmStart(first, problem.penalty)
        chosen = self._choose(cells, rng, lambda n: starts.best_rows(cells, first.W, n).any(axis=1))
        on_chosen = low_rank_approximation(chosen.cells, self.rank, rng)
        tried = starts.plain_fits(on_chosen, self.rank, rng.spawn(self._n_chosen_starts), journal, n_starts=1)
        if isinstance(on_chosen, LowRank):
            approximation = low_rank_approximation(cells, self.rank, rng, near=chosen.embed(on_chosen.directions))
        alike = replace(problem, cells=on_chosen, constraint=NonNegative())
        led = self._led(alike, [fit.factors for fit in distinct(tried)], journal)
        finalists = [Factors(FROM_ZERO, chosen.embed(fit.factors.W)) for fit in different_minima(led)[:FINALISTS]]
        on_all = self._early(problem, approximation, fine_tolerance(self.rank), genes=genes)
        minima = [fit.factors for fit in different_minima(self._led(on_all, [*finalists, first], journal))]
        return approximation, WarmStart(minima[0], problem.penalty, others=tuple(minima[1:]))

    def _agreed_start(
        self, cells: Cells, problem: Problem, rng: np.random.Generator, journal: Journal
    ) -> tuple[Cells, WarmStart]:
        """Cells on their leading directions, and what plain fits agree on; by their starts alone seeds differ."""
        approximation = low_rank_approximation(cells, self.rank, rng, thorough=True)
        gains = explained(approximation, self.rank, rng) - cells.baseline_gains
        chosen, on_chosen = self._choose(cells, rng, lambda n: largest(gains, n)), approximation
        if len(chosen.genes) < cells.shape[1]:
            on_chosen = low_rank_approximation(chosen.cells, self.rank, rng, thorough=True)
        found = agreed(starts.plain_fits(on_chosen, self.rank, rng.spawn(self.consensus), journal))
        factors = Factors(FROM_ZERO, chosen.embed(found.W))
        return approximation, WarmStart(factors, problem.penalty, stability=found.stability)

    def _first(self, cells: Cells, problem: Problem, rng: np.random.Generator, journal: Journal, few: bool) -> Factors:
        """The start by its name; where it is a fit of X itself, the journal is told of its objectives."""
        if self.init != "nmf":
            return STARTS[str(self.init)](cells, self.rank, rng)
        tol, watched = fine_tolerance(self.rank), cells is problem.cells and self._is_plain
        if few:  # programs go on from there: beside those of other starts, or else on all cells and genes
            tol = FIRST_TOLERANCE * tol if self._tries_starts else max(tol, problem.tol, self._solver.tol)
        return starts.nmf(cells, self.rank, rng, tol=tol, watch=journal.found_by if watched else None)

    @property
    def _keeps_budget(self) -> bool:
        return self.n_genes is not None and self.sparsity is not None

    @property
    def _is_plain(self) -> bool:  # the start is a fit with the same objective
        return self.init == "nmf" and self.orthogonality == 0.0 and not self._tries_starts

    @property
    def _chooses_genes(self) -> bool:
        """Whether genes are in the budget, or out of it, as a whole, and starts are tried."""
        return self._keeps_budget and self.sparsity == "rows" and self._tries_starts

    @property
    def _tries_starts(self) -> bool:
        return self.init == "nmf" and bool(self.consensus or self._keeps_budget)

    @property
    def _n_placing_fits(self) -> int:
        """Fits until programs are placed, at most: the first and the last, and those of the starts that are tried."""
        if self.consensus:
            return 1 + self.consensus  # it needs no first one
        return 2 + (2 * (n := self._n_chosen_starts) + min(FINALISTS, n) + 1 if self._tries_starts else 0)

    @property
    def _n_chosen_starts(self) -> int:
        return CHOSEN_STARTS if self.rank <= starts.MANY_PROGRAMS else CHOSEN_STARTS_OF_MANY

    def _choose(self, cells: Cells, rng: np.random.Generator, best: Callable[[int], ArrayLike]) -> sampling.Sample:
        """The cells on so many genes, the ``best`` (a mask); on all genes where all are kept."""
        n_genes = min(budget.chosen(self.rank), cells.shape[1])
        if n_genes == cells.shape[1] or not self._keeps_budget:
            return sampling.sample(cells, rng, n_cells=cells.shape[0], n_genes=cells.shape[1])
        genes = np.asarray(best(n_genes))
        return sampling.sample(cells, rng, n_cells=cells.shape[0], n_genes=int(genes.sum()), required=genes)

    def _led(self, problem: Problem, tried: Sequence[Factors], journal: Journal) -> list[Result]:
        """Where weaker penalties lead some starts."""
        shares = WEAKER_PENALTIES if self.orthogonality not in ("exact", 0.0) else (0.0,)
        strength = 0.0 if self.orthogonality == "exact" else float(self.orthogonality)
        penalties = [self._solver.penalty(share * strength) for share in shares]
        cells, tol = problem.cells if len(tried) == 1 else problem.cells.on_one_thread(), fine_tolerance(self.rank)
        alone = replace(problem, cells=cells, max_iter=starts.EARLY_ITERATIONS, tol=tol)
        lead = journal.noting(lambda start: continuation(self._solver.run, alone, start, penalties, tol=0.0))
        return side_by_side(lead, tried, problem.cells.threads)

    def _constraint(self, cells: Cells, genes: np.ndarray | None = None) -> Constraint:
        """The set for W, on all genes or on some of them, with the baseline of the cells."""
        if self.n_genes is None or self.sparsity is None:
            return NonNegative()
        if self.sparsity == "columns":
            return ColumnSparse(self.n_genes)
        if self.sparsity == "entries":
            return EntrySparse(self.n_genes * self.rank)
        required = self.required if self.required is None or genes is None else self.required[genes]
        return RowSparse(self.n_genes, required, cells.baseline_gains)
