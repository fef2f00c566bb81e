"""Where the programs of a fit come from: plain fits of few cells, and where weaker penalties lead them."""

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
from genesieve.core.cells.threads import side_by_side
from genesieve.core.choices import Choices
from genesieve.core.consensus import agreed, distinct
from genesieve.core.constraints import NonNegative, largest
from genesieve.core.objective import Penalty
from genesieve.core.solvers import (
    PLACE,
    Factors,
    Journal,
    Problem,
    Result,
    continuation,
    different_minima,
    fine_tolerance,
)

# On the way to a fixed penalty, shares of it: fits without one end much alike whatever the seed, and so do those that
# set out from there, while a penalty from the first step on leads to minima far apart.
WEAKER_PENALTIES = (0.0, 0.4)
# With a budget so many starts are tried, on chosen genes. They end in few minima, and the lowest there need not be so
# on all genes: up to so many of them, and the first fit, go on to all, where the lowest is kept.
CHOSEN_STARTS = 6
CHOSEN_STARTS_OF_MANY = 2  # programs: there the starts end as low as each other (docs/how-it-is-fast.md)
FINALISTS = 4
# The first fit, by which those genes are chosen, ends at so many times the fine tolerance on no fewer cells than a
# sample has: they are as good.
FIRST_TOLERANCE = 4


class WarmStart(NamedTuple):
    """What a step of a fit hands to the next."""

    factors: Factors
    penalty: Penalty  # that they were fitted under
    directions: np.ndarray | None = None  # (genes, width) that the cells were approximated on, if they were
    stability: np.ndarray | None = None  # of the programs, where they are a consensus
    others: tuple[Factors, ...] = ()  # other minima, which may be the lower ones on more cells


@dataclass(frozen=True)
class Placing:
    """Finds programs on few cells, or on all where these are few, for a problem on all."""

    choices: Choices
    problem: Problem
    rng: np.random.Generator
    journal: Journal

    def start(self, cells: Cells, genes: np.ndarray | None = None) -> tuple[Cells, WarmStart]:
        """Cells (on these genes) on their leading directions, where that saves work, and the start by its name."""
        self.journal.enter(PLACE, self._most_fits)
        if self.choices.consensus:
            return self._agreed(cells)
        approximation = self._approximation(cells)
        first = self._first(approximation, few=cells is not self.problem.cells)
        self.journal.advance()
        if not self.choices.tries_starts:
            return approximation, WarmStart(first, self.problem.penalty)
        chosen = self._choose(cells, lambda n: starts.best_rows(cells, first.W, n).any(axis=1))
        on_chosen = self._approximation(chosen.cells)
        tried = self._plain_fits(on_chosen, self._n_starts, n_starts=1)
        if isinstance(on_chosen, LowRank):
            approximation = self._approximation(cells, near=chosen.embed(on_chosen.directions))
        alike = replace(self._early(on_chosen), constraint=NonNegative())
        if not sampling.has_fewer(cells):  # of few, starts that ended alike may part again under the penalty
            tried = distinct(tried)
        led = self._led(alike, [fit.factors for fit in tried])
        finalists = [Factors(FROM_ZERO, chosen.embed(fit.factors.W)) for fit in different_minima(led)[:FINALISTS]]
        on_all = self._early(approximation, genes=genes)
        minima = [fit.factors for fit in different_minima(self._led(on_all, [*finalists, first]))]
        return approximation, WarmStart(minima[0], self.problem.penalty, others=tuple(minima[1:]))

    def _agreed(self, cells: Cells) -> tuple[Cells, WarmStart]:
        """Cells on their leading directions, and what plain fits agree on; by their starts alone seeds differ."""
        approximation = self._approximation(cells, thorough=True)
        gains = explained(approximation, self.choices.rank, self.rng) - cells.baseline_gains
        chosen, on_chosen = self._choose(cells, lambda n: largest(gains, n)), approximation
        if len(chosen.genes) < cells.shape[1]:
            on_chosen = self._approximation(chosen.cells, thorough=True)
        found = agreed(self._plain_fits(on_chosen, self.choices.consensus))
        factors = Factors(FROM_ZERO, chosen.embed(found.W))
        return approximation, WarmStart(factors, self.problem.penalty, stability=found.stability)

    def _first(self, cells: Cells, *, few: bool) -> Factors:
        """The start by its name; where it is a fit of X itself, the journal is told of its objectives."""
        choices, tol = self.choices, fine_tolerance(self.choices.rank)
        if choices.init != "nmf":
            return starts.STARTS[str(choices.init)](cells, choices.rank, self.rng)
        if choices.tries_starts and not sampling.has_fewer(cells):
            tol = FIRST_TOLERANCE * tol
        elif few and not choices.tries_starts:  # programs go on from there on all cells and genes
            tol = max(tol, self.problem.tol, choices.solver_row.tol)
        watch = self.journal.found_by if cells is self.problem.cells and choices.is_plain else None
        return starts.nmf(cells, choices.rank, self.rng, tol=tol, watch=watch)

    def _early(self, cells: Cells, *, genes: np.ndarray | None = None) -> Problem:
        return self.choices.early(self.problem, cells, fine_tolerance(self.choices.rank), genes=genes)

    def _approximation(self, cells: Cells, *, near: np.ndarray | None = None, thorough: bool = False) -> Cells:
        return low_rank_approximation(cells, self.choices.rank, self.rng, near=near, thorough=thorough)

    def _choose(self, cells: Cells, best: Callable[[int], ArrayLike]) -> sampling.Sample:
        """The cells on so many genes, the ``best`` (a mask); on all genes where all are kept."""
        n_genes = min(budget.chosen(self.choices.rank), cells.shape[1])
        if n_genes == cells.shape[1] or not self.choices.keeps_budget:
            return sampling.sample(cells, self.rng, n_cells=cells.shape[0], n_genes=cells.shape[1])
        genes = np.asarray(best(n_genes))
        return sampling.sample(cells, self.rng, n_cells=cells.shape[0], n_genes=int(genes.sum()), required=genes)

    def _plain_fits(self, cells: Cells, n_fits: int, *, n_starts: int | None = None) -> list[Result]:
        return starts.plain_fits(cells, self.choices.rank, self.rng.spawn(n_fits), self.journal, n_starts=n_starts)

    def _led(self, problem: Problem, tried: Sequence[Factors]) -> list[Result]:
        """Where weaker penalties lead some starts."""
        solver, orthogonality = self.choices.solver_row, self.choices.orthogonality
        strength = 0.0 if orthogonality == "exact" else float(orthogonality)
        penalties = [solver.penalty(share * strength) for share in (WEAKER_PENALTIES if strength else (0.0,))]
        alone = problem if len(tried) == 1 else replace(problem, cells=problem.cells.on_one_thread())
        lead = self.journal.noting(lambda start: continuation(solver.run, alone, start, penalties, tol=0.0))
        return side_by_side(lead, tried, problem.cells.threads)

    @property
    def _n_starts(self) -> int:
        return CHOSEN_STARTS if self.choices.rank <= starts.MANY_PROGRAMS else CHOSEN_STARTS_OF_MANY

    @property
    def _most_fits(self) -> int:
        """Fits until programs are placed, at most: the first and the last, and those of the starts that are tried."""
        if self.choices.consensus:
            return 1 + self.choices.consensus  # it needs no first one
        if not self.choices.tries_starts:
            return 2
        return 2 + 2 * self._n_starts + min(FINALISTS, self._n_starts) + 1
