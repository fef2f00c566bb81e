"""A fit as three steps, place programs on few cells, settle on many, finish on X; and the usages of other cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from genesieve.core import starts
from genesieve.core.batches import Scaling
from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import FROM_ZERO, Blocks, Cells, NoUsages, on_one_thread
from genesieve.core.cells.low_rank import LowRank, low_rank_approximation
from genesieve.core.cells.sources import side_by_side, single_threaded_blas
from genesieve.core.cells.streamed import as_source
from genesieve.core.constraints import ColumnSparse, Constraint, EntrySparse, NonNegative, RowSparse
from genesieve.core.objective import Penalty, gram_of
from genesieve.core.solvers import (
    SOLVERS,
    Factors,
    Journal,
    Problem,
    Result,
    Solver,
    best_of,
    continuation,
    fine_tolerance,
)

SPARSITIES = ("rows", "columns", "entries", None)
STARTS = {"nmf": starts.nmf, "random": starts.random, "nndsvd": starts.nndsvd}

# Programs settle by cheap steps, so it costs little to be thorough: the share of the fit's tolerance to go to.
SETTLE_TOLERANCE = 0.05
# On the way to a fixed penalty, shares of it: fits without one end much alike whatever the seed, and so do those that
# set out from there, while a penalty from the first step on leads to minima far apart.
WEAKER_PENALTIES = (0.0, 0.4)
# The lowest of so many, each from the better of so many random ones: with fewer, seeds part on some data.
PENALISED_STARTS = 6
RANDOM_STARTS_EACH = 2
# Alg. 4: the penalty's first value, its growth, how many there are, and the error at which H counts as orthogonal.
FIRST_PENALTY = 0.1
PENALTY_GROWTH = 1.5
N_PENALTIES = 10
ORTHOGONALITY_TOLERANCE = 1e-3


class WarmStart(NamedTuple):
    """What a step hands to the next."""

    factors: Factors
    penalty: Penalty  # that they were fitted under
    directions: np.ndarray | None = None  # (genes, width) that the cells were approximated on, if they were


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

    def fit(self, cells: Cells, rng: np.random.Generator, *, journal: Journal | None = None) -> Result:
        """Fit from one start, or on from the snapshot of the journal."""
        problem, journal = self._problem(cells), journal or Journal()
        with single_threaded_blas():  # between passes its threads would spin on the cores that the next pass needs
            if not isinstance(self.init, str):
                return self._solve(problem, self.init, journal)
            if self._solver.needs_usages:
                return self._solve(problem, STARTS[self.init](cells, self.rank, rng), journal)
            many = sampling.many_cells(cells, rng)
            placed = self._place(many, problem, rng) if self.init == "nmf" and sampling.is_large(many) else None
            settled = self._settle(many, problem, placed, rng, journal)
            return self._finish(problem, settled, journal)

    # ------------------------------------------------------------------------------------------------ the steps

    def _place(self, many: Cells, problem: Problem, rng: np.random.Generator) -> WarmStart:
        """Fit few of the cells, on the genes that count most in them."""
        n_genes = max(sampling.SAMPLE_GENES, self.n_genes or 0, self.rank)
        few = sampling.sample(many, rng, n_genes=n_genes, required=self.required)
        cells = low_rank_approximation(few.cells, self.rank, rng)
        few_problem = self._early(problem, cells, fine_tolerance(self.rank), genes=few.genes)
        fitted = self._solve(few_problem, self._start(few_problem, rng))
        directions = few.embed(cells.directions) if isinstance(cells, LowRank) else None
        return WarmStart(Factors(FROM_ZERO, few.embed(fitted.factors.W)), fitted.penalty, directions)

    def _settle(
        self, many: Cells, problem: Problem, placed: WarmStart | None, rng: np.random.Generator, journal: Journal
    ) -> WarmStart:
        """Fit many of the cells on their leading directions, and few cells after that as they are."""
        cells = low_rank_approximation(many, self.rank, rng, near=None if placed is None else placed.directions)
        few = self.init == "nmf" and self.orthogonality != "exact" and many.shape[0] <= sampling.SAMPLE_CELLS
        early = self._early(problem, cells, (1.0 if few else SETTLE_TOLERANCE) * problem.tol)
        start = placed or WarmStart(self._start(early, rng), problem.penalty)
        if cells is not problem.cells:
            fitted = self._solve(replace(early, penalty=start.penalty), start.factors)
            start = WarmStart(fitted.factors, fitted.penalty)
            journal.passes += many is problem.cells  # over all of X, if only on some directions
        if few:
            early = self._early(problem, sampling.at_hand(many, rng), SETTLE_TOLERANCE * problem.tol)
            return WarmStart(self._solve(early, start.factors).factors, problem.penalty)
        return start if many is problem.cells else WarmStart(Factors(FROM_ZERO, start.factors.W), start.penalty)

    def _finish(self, problem: Problem, settled: WarmStart, journal: Journal) -> Result:
        """Fit X as it is."""
        return self._solve(replace(problem, penalty=settled.penalty), settled.factors, journal)

    # ------------------------------------------------------------------------------------------------ their parts

    @property
    def _solver(self) -> Solver:
        return SOLVERS[self.solver]

    def _problem(self, cells: Cells) -> Problem:
        strength = FIRST_PENALTY if self.orthogonality == "exact" else float(self.orthogonality)
        few = cells.shape[0] <= sampling.SAMPLE_CELLS
        tol = self._solver.few_cells_tol(self.rank) if few else self._solver.tol
        tol = tol if self.tol is None else self.tol
        return Problem(cells, self._constraint(cells), self._solver.penalty(strength), self.max_iter, tol)

    def _early(self, problem: Problem, cells: Cells, tol: float, *, genes: np.ndarray | None = None) -> Problem:
        """The problem on some or simpler cells, and on some of the genes, before X itself is visited."""
        constraint, max_iter = self._constraint(cells, genes), min(self.max_iter, starts.EARLY_ITERATIONS)
        return replace(problem, cells=cells, constraint=constraint, max_iter=max_iter, tol=tol, exact=False)

    def _solve(self, problem: Problem, start: Factors, journal: Journal | None = None) -> Result:
        """Under the penalty of the problem; for an orthogonal H under growing ones, unless these are behind it."""
        solver = self._solver
        run = solver.line_search if self.line_search and solver.line_search else solver.run
        if self.orthogonality != "exact" or problem.penalty == solver.last_penalty:
            return run(problem, start, journal=journal)
        penalties = [solver.penalty(FIRST_PENALTY * PENALTY_GROWTH**number) for number in range(N_PENALTIES)]
        tol, last = ORTHOGONALITY_TOLERANCE, solver.last_penalty
        return continuation(run, problem, start, penalties, tol=tol, last=last, journal=journal)

    def _start(self, problem: Problem, rng: np.random.Generator) -> Factors:
        """The start by its name; for a fixed penalty from an NMF, the best of some that weaker ones led there."""
        assert isinstance(self.init, str)
        if self.init != "nmf" or self.orthogonality in ("exact", 0.0):
            return STARTS[self.init](problem.cells, self.rank, rng)
        beside_others = replace(problem, cells=on_one_thread(problem.cells))
        rngs = rng.spawn(PENALISED_STARTS)
        tried = side_by_side(lambda rng: self._penalised_start(beside_others, rng), rngs, problem.cells.threads)
        return best_of(tried).factors

    def _penalised_start(self, problem: Problem, rng: np.random.Generator) -> Result:
        start = starts.nmf(problem.cells, self.rank, rng, n_starts=RANDOM_STARTS_EACH)
        penalties = [self._solver.penalty(share * float(self.orthogonality)) for share in WEAKER_PENALTIES]
        problem = replace(problem, max_iter=starts.EARLY_ITERATIONS, tol=fine_tolerance(self.rank))
        return continuation(self._solver.run, problem, start, penalties, tol=0.0)

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


def score_cells(
    X: Any,
    W: np.ndarray,
    *,
    scale: np.ndarray,
    penalty: Penalty,
    measured: np.ndarray | None = None,
    gene_weights: np.ndarray | None = None,
    scaling: Scaling | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Usages (cells, rank) of cells X, as the fit would have them.

    ``scale`` takes a program from the public gauge to the solver's. The columns of X are the genes of ``W`` that are
    ``measured`` (a mask), by default all; the cells count as zero on the others. ``scaling``, on the genes of W, is
    for a fit that knew batches.
    """
    columns = np.ones(len(W), dtype=bool) if measured is None else measured
    weights = np.ones(len(W)) if gene_weights is None else gene_weights
    plain, W = W * scale, W * scale * weights[:, None]
    step, source = penalty.cell_step(gram_of(W)), as_source(X, n_jobs=n_jobs)
    if scaling is not None:
        source = scaling.applied(source, columns, plain[columns], (W * weights[:, None])[columns], step)
    blocks = Blocks(source, gene_weights=None if gene_weights is None else weights[columns], n_jobs=n_jobs)
    return (blocks.usages(W[columns], step) * scale).astype(blocks.value_dtype, copy=False)


def usages_of(blocks: Blocks, result: Result) -> np.ndarray:
    """H of a result, solved from W where it stayed with the cells or was not saved."""
    H, W = result.factors
    return blocks.usages(W, result.penalty.cell_step(gram_of(W))) if isinstance(H, NoUsages) else H
