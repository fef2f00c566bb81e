"""Choosing the genes of a panel one by one, so that the first k genes are the panel of size k."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genesieve.interpret.panels.rules import Rules
from genesieve.interpret.panels.statistics import GeneStatistics

# What counts: the share of the leading variation that is kept, against groups that are told apart.
VARIATION = 0.7
# Two groups are confused as Bhattacharyya's bound says, exp(-d^2 / 8) at a distance d in units of the scatter within
# them, if genes scatter as a normal distribution does; they do not quite, so that more distance is asked for.
BOUND = 8.0
# Genes that are looked at, the best by what each would gain alone.
CANDIDATES = 3000
# Genes whose gain is worked out at a time, best bound first, and by how much rounding may bring a gain above its bound.
AT_ONCE = 64
ROUNDING = 1e-9


@dataclass(frozen=True)
class Choice:
    """Genes in the order of choice, and what each added when it was chosen."""

    genes: np.ndarray  # (chosen,)
    variation: np.ndarray  # (chosen,), share of the leading variation
    separation: np.ndarray  # (chosen,), by how much the mean confusion of pairs of groups fell
    direction: np.ndarray  # (chosen,), of the leading ones, the one that it adds most to
    pair: np.ndarray  # (chosen,), of groups, the one that it sets apart most; -1 where there is none


def choose_panel(
    statistics: GeneStatistics, rules: Rules, n_genes: int, *, variation: float = VARIATION, bound: float = BOUND
) -> Choice:
    """Genes that together keep the leading variation and the differences between groups of cells best.

    Each gene is the one that adds most, given those before it: to the share of the variance along the leading
    directions that a linear prediction from the panel explains (A-optimal design), and to how well the groups are
    told apart (by the bound on the error of a discriminant on the panel). What a gene repeats of the panel adds
    nothing. Fewer genes come back where the rules allow no more.
    """
    alone = _State(statistics, bound)
    gains = variation * alone.variation_gains() + (1 - variation) * alone.separation_gains()
    pool = rules.pool(gains, max(CANDIDATES, 6 * n_genes))
    rules, state = rules.of(pool), _State(statistics.of(pool), bound)
    chosen: list[int] = []
    added: list[tuple[float, float, int, int]] = []
    for place in range(n_genes):
        may = rules.candidates(chosen, n_genes - place)
        if not may.any():
            break
        gene = _best(state, may, variation)
        added.append(state.add(gene))
        chosen.append(gene)
    shares, separations, directions, pairs = np.array(added, dtype=np.float64).reshape(-1, 4).T
    return Choice(pool[chosen], shares, separations, directions.astype(np.int64), pairs.astype(np.int64))


def _best(state: _State, may: np.ndarray, variation: float) -> int:
    """The gene that gains most, of those that may come; gains are worked out where their bound is not too low."""
    by_variation = variation * state.variation_gains()
    most = np.where(may, by_variation + (1 - variation) * state.separation_bounds(), -np.inf)
    order, gains = np.argsort(-most, kind="stable"), np.full(len(most), -np.inf)
    for first in range(0, len(order), AT_ONCE):
        genes = order[first : first + AT_ONCE]
        if most[genes[0]] * (1 + ROUNDING) < gains.max():
            break
        gains[genes] = by_variation[genes] + (1 - variation) * state.separation_gains(genes)
    return int(np.argmax(np.where(may, gains, -np.inf)))


class _State:
    """What is known of the directions and the groups from the genes chosen so far."""

    def __init__(self, statistics: GeneStatistics, bound: float) -> None:
        self._of, self._bound = statistics, bound
        self._unknown = np.eye(statistics.loadings.shape[1])  # covariance of the directions, given the panel
        self._unknown_within = np.eye(statistics.within_loadings.shape[1])
        self._gaps = statistics.gaps.copy()  # of every gene, beyond what the panel says
        self._apart = np.zeros(len(statistics.pairs))  # squared distance of the groups of every pair

    def variation_gains(self) -> np.ndarray:
        """Share of the leading variance that each gene would add (genes,)."""
        return np.asarray(self._by_direction().sum(axis=1))

    def _by_direction(self, gene: int | slice = slice(None)) -> np.ndarray:
        loadings = np.atleast_2d(self._of.loadings[gene])
        seen = loadings @ self._unknown
        noise = self._of.noise[gene] + (seen * loadings).sum(axis=1)
        return np.asarray(seen**2 * self._of.shares / noise[:, None])

    def separation_gains(self, genes: np.ndarray | slice = slice(None)) -> np.ndarray:
        """By how much the mean confusion of pairs would fall with each of some genes."""
        return self._by_pair(genes).mean(axis=1) if len(self._apart) else np.zeros(len(self._gaps[genes]))

    def separation_bounds(self) -> np.ndarray:
        """What these gains are at most (genes,): 1 - exp(-x) is at most x, which takes no exponentials."""
        confused = np.exp(-self._apart / self._bound) / max(len(self._apart), 1)
        return np.asarray((self._gaps**2 @ confused) / (self._scatter() * self._bound))

    def _by_pair(self, gene: int | np.ndarray | slice = slice(None)) -> np.ndarray:
        added = np.atleast_2d(self._gaps[gene]) ** 2 / np.atleast_1d(self._scatter(gene))[:, None]
        return np.asarray(np.exp(-self._apart / self._bound) * -np.expm1(-added / self._bound))

    def _scatter(self, gene: int | np.ndarray | slice = slice(None)) -> np.ndarray:
        """Variance within groups given the panel, of some genes."""
        loadings = np.atleast_2d(self._of.within_loadings[gene])
        return np.asarray(self._of.within_noise[gene] + ((loadings @ self._unknown_within) * loadings).sum(axis=1))

    def add(self, gene: int) -> tuple[float, float, int, int]:
        """Take a gene into the panel; what it adds, and to which direction and pair most."""
        by_direction, by_pair = self._by_direction(gene)[0], self._by_pair(gene)[0]
        step = self._unknown @ self._of.loadings[gene]
        self._unknown -= np.outer(step, step) / (self._of.noise[gene] + self._of.loadings[gene] @ step)
        scatter = self._scatter(gene)[0]
        self._apart += self._gaps[gene] ** 2 / scatter
        step = self._unknown_within @ self._of.within_loadings[gene]
        shared = self._of.within_loadings @ step  # covariance with every gene within groups, given the panel
        shared[gene] = scatter
        self._gaps -= np.outer(shared / scatter, self._gaps[gene])
        self._unknown_within -= np.outer(step, step) / scatter
        separation = float(by_pair.mean()) if len(by_pair) else 0.0
        pair = int(by_pair.argmax()) if len(by_pair) else -1
        return float(by_direction.sum()), separation, int(by_direction.argmax()), pair
