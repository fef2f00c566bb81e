"""A model: what is fitted and how. Puts constraint, penalty, start and solver together, fits them and scores cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from genesieve.core import starts
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.low_rank import Rough, products, svd
from genesieve.core.cells.sources import side_by_side, single_threaded_blas
from genesieve.core.cells.streamed import as_source
from genesieve.core.constraints import ColumnSparse, Constraint, EntrySparse, NonNegative, RowSparse
from genesieve.core.objective import Orthogonal, Overlap, Penalty, RelativeOverlap, gram_of
from genesieve.core.solvers import (
    Callback,
    Factors,
    Result,
    Run,
    Snapshot,
    Solver,
    bcd,
    best_of,
    continuation,
    mapalm,
    palm,
)

SOLVERS: dict[str, Callable[..., Result]] = {"bcd": bcd, "mapalm": mapalm, "palm": palm}
SPARSITIES = ("rows", "columns", "entries", None)
STARTS = {"nmf": starts.nmf, "random": starts.random, "nndsvd": starts.nndsvd}

# Relative decrease of the objective at which bcd stops on many cells.
TOLERANCE = 2e-5
# Relative change of both factors at which the paper's solvers stop.
PAPER_TOLERANCE = 1e-3
# On the way to a fixed penalty, shares of it: fits without one end much alike whatever the seed, and so do those that
# set out from there, while a penalty from the first step on leads to minima far apart.
WEAKER_PENALTIES = (0.0, 0.4)
# The lowest of so many, each from the better of so many random ones: with fewer, seeds part on some data.
PENALISED_STARTS = 6
RANDOM_STARTS_EACH = 2
# Alg. 4: the penalty's first value, its growth, the stages, and the error at which H counts as orthogonal.
FIRST_PENALTY = 0.1
PENALTY_GROWTH = 1.5
PENALTY_STAGES = 10
ORTHOGONALITY_TOLERANCE = 1e-3


class Placed(NamedTuple):
    """Programs as fitted to few cells, and how to go on from there."""

    W: np.ndarray  # (genes, rank), zero on the genes that were left out
    penalty: Penalty
    directions: np.ndarray | None  # (genes, width) that the cells were seen through, if they were


@dataclass(frozen=True)
class Model:
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

    def fit(
        self,
        blocks: Blocks,
        rng: np.random.Generator,
        callback: Callback | None = None,
        *,
        keep: Callable[[Snapshot], object] | None = None,
        snapshot: Snapshot | None = None,
    ) -> Result:
        """Fit from one start, or on from a snapshot of that fit; ``keep`` is given one after every iteration."""
        run = Run(blocks, self._constraint(), self._penalty(), self.max_iter, self._tolerance(blocks), callback)
        run.keep, run.snapshot = keep, snapshot
        with single_threaded_blas():  # between passes its threads would spin on the cores that the next pass needs
            return self._fit(run, rng)

    def _fit(self, run: Run, rng: np.random.Generator) -> Result:
        if not isinstance(self.init, str):
            return self._solve(run, self.init)
        if self.solver == "bcd":
            return self._fit_in_stages(run, rng)
        return self._solve(run, self._start(run.blocks, run.constraint, rng))

    def _fit_in_stages(self, run: Run, rng: np.random.Generator) -> Result:
        """Place the programs on few cells, settle them on many, both seen roughly, and finish on X as it is."""
        many = starts.many_cells(run.blocks, rng)
        if self.init != "nmf" or not starts.is_large(many):
            seen = starts.roughly(many, self.rank, rng)
            solve, start = self._solve, self._start(seen, run.constraint, rng)
        else:
            placed = self._place(many, run.penalty, rng)
            seen = starts.roughly(many, self.rank, rng, near=placed.directions)
            solve, start = bcd, starts.without_usages(placed.W)
            run.penalty = placed.penalty
        if seen is run.blocks:
            return solve(run, start)
        settled = solve(self._early_run(seen, run.constraint, run.penalty, starts.SETTLE_TOLERANCE * run.tol), start)
        run.penalty = settled.penalty
        if many is not run.blocks:
            return bcd(run, starts.without_usages(settled.factors.W))
        run.passes += 1  # that was seen roughly, but all of it
        return bcd(run, settled.factors)

    def _place(self, many: Blocks, penalty: Penalty, rng: np.random.Generator) -> Placed:
        """Fit few of the cells, on the genes that count most in them."""
        genes = max(starts.SAMPLE_GENES, self.n_genes or 0, self.rank)
        few = starts.sample(many, rng, n_genes=genes, required=self.required)
        seen = starts.roughly(few.blocks, self.rank, rng)
        constraint = self._constraint(few.genes)
        early = self._early_run(seen, constraint, penalty, starts.SAMPLE_TOLERANCE)
        fitted = self._solve(early, self._start(seen, constraint, rng))
        directions = few.embed(seen.directions) if isinstance(seen, Rough) else None
        return Placed(few.embed(fitted.factors.W), fitted.penalty, directions)

    def _early_run(self, seen: Blocks, constraint: Constraint, penalty: Penalty, tol: float) -> Run:
        return Run(seen, constraint, penalty, min(self.max_iter, starts.SAMPLE_ITERATIONS), tol)

    def _start(self, blocks: Blocks, constraint: Constraint, rng: np.random.Generator) -> Factors:
        """The start by its name; for a fixed penalty from an NMF, the better of some that weaker ones led there."""
        assert isinstance(self.init, str)
        if self.solver != "bcd" or self.init != "nmf" or self.orthogonality in ("exact", 0.0):
            return STARTS[self.init](blocks, self.rank, rng)
        alone = blocks.on_one_thread()
        led = side_by_side(lambda rng: self._lead(alone, constraint, rng), rng.spawn(PENALISED_STARTS), blocks.threads)
        return best_of(led).factors

    def _lead(self, blocks: Blocks, constraint: Constraint, rng: np.random.Generator) -> Result:
        start = starts.nmf(blocks, self.rank, rng, n_starts=RANDOM_STARTS_EACH)
        penalties = [RelativeOverlap(share * float(self.orthogonality)) for share in WEAKER_PENALTIES]
        run = Run(blocks, constraint, penalties[0], starts.SAMPLE_ITERATIONS, starts.SAMPLE_TOLERANCE)
        return continuation(bcd, run, start, penalties, tol=0.0)

    def _solve(self, run: Run, start: Factors) -> Result:
        solver: Solver = bcd
        if self.solver != "bcd":
            solver = partial(SOLVERS[self.solver], line_search=self.line_search)
        if self.orthogonality != "exact":
            return solver(run, start)
        stages = [self._penalty(FIRST_PENALTY * PENALTY_GROWTH**stage) for stage in range(PENALTY_STAGES)]
        last = Orthogonal() if self.solver == "bcd" else None
        return continuation(solver, run, start, stages, tol=ORTHOGONALITY_TOLERANCE, last=last)

    def _penalty(self, strength: float = FIRST_PENALTY) -> Penalty:
        """The penalty of the given strength, or the fixed one: scale-free for bcd, the paper's for the others."""
        strength = strength if self.orthogonality == "exact" else float(self.orthogonality)
        return RelativeOverlap(strength) if self.solver == "bcd" else Overlap(strength)

    def _tolerance(self, blocks: Blocks) -> float:
        if self.tol is not None:
            return self.tol
        if self.solver != "bcd":
            return PAPER_TOLERANCE
        return starts.SAMPLE_TOLERANCE if blocks.shape[0] <= starts.SAMPLE_CELLS else TOLERANCE

    def _constraint(self, genes: np.ndarray | None = None) -> Constraint:
        """The set for W, on all genes or on some of them."""
        if self.n_genes is None or self.sparsity is None:
            return NonNegative()
        if self.sparsity == "columns":
            return ColumnSparse(self.n_genes)
        if self.sparsity == "entries":
            return EntrySparse(self.n_genes * self.rank)
        required = self.required if self.required is None or genes is None else self.required[genes]
        return RowSparse(self.n_genes, required)


def score_cells(
    X: Any,
    W: np.ndarray,
    *,
    scale: np.ndarray,
    penalty: Penalty,
    seen: np.ndarray | None = None,
    gene_weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Usages (cells, rank) of cells X, as the fitted model would have them.

    ``scale`` takes a program from the public gauge to the solver's. The columns of X are the genes of ``W`` that are
    ``seen``, by default all; the cells count as zero on the others.
    """
    columns = np.ones(len(W), dtype=bool) if seen is None else seen
    W = W * scale
    if gene_weights is not None:
        W, gene_weights = W * gene_weights[:, None], gene_weights[columns]
    blocks = Blocks(as_source(X, n_jobs=n_jobs), gene_weights=gene_weights, n_jobs=n_jobs)
    return (blocks.usages(W[columns], penalty.cell_step(gram_of(W))) * scale).astype(blocks.value_dtype, copy=False)


def leading_scores(blocks: Blocks, genes: np.ndarray, n_directions: int, rng: np.random.Generator) -> np.ndarray:
    """Cells (cells, directions) along the leading singular directions of some genes (a mask), the strongest first."""
    many = starts.sample(blocks, rng, n_cells=starts.WHOLE_CELLS, n_genes=int(genes.sum()), required=genes)
    with single_threaded_blas():
        directions = svd(many.blocks, n_directions, rng)[2]
    return blocks.usages(many.embed(directions), products)
