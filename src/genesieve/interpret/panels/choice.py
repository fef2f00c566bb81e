"""Choosing the genes of a panel one by one, so that the first k genes are the panel of size k."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Protocol

import numpy as np

from genesieve.interpret.panels.neighbours import Nearness, NeighboursKept
from genesieve.interpret.panels.rules import Rules
from genesieve.interpret.panels.statistics import GeneStatistics

# Two groups are confused as Bhattacharyya's bound says, exp(-d^2 / 8) at a distance d in units of the scatter within
# them, if genes scatter as a normal distribution does; they do not quite, so that more distance is asked for.
BOUND = 8.0
# Genes that are looked at, the best by what each would gain alone: so many, or so many times the panel.
CANDIDATES = 2000
CANDIDATES_A_GENE = 6


@dataclass(frozen=True)
class Weights:
    """What counts, and how much."""

    variation: float = 0.35  # the share of the leading variation that is kept
    separation: float = 0.3  # groups that are told apart
    neighbours: float = 0.35  # cells that stay near each other


@dataclass(frozen=True)
class Choice:
    """Genes in the order of choice, and what each added when it was chosen."""

    genes: np.ndarray  # (chosen,)
    variation: np.ndarray  # (chosen,), share of the leading variation
    direction: np.ndarray  # (chosen,), of the leading ones, the one that it adds most to
    separation: np.ndarray  # (chosen,), by how much the mean confusion of pairs of groups fell
    pair: np.ndarray  # (chosen,), of groups, the one that it sets apart most; -1 where there is none
    neighbours: np.ndarray  # (chosen,), by how much the share of neighbours kept rose
    kind: np.ndarray  # (chosen,), the type whose cells' neighbours it keeps most; -1 where there is none


class Part(Protocol):
    """One of the things that count, for the genes chosen so far."""

    def gains(self) -> np.ndarray:
        """What each gene would add (genes,)."""

    def add(self, gene: int) -> tuple[float, int]:
        """Take a gene into the panel: what it adds, and to which direction, pair or type most."""


def choose_panel(
    statistics: GeneStatistics,
    rules: Rules,
    n_genes: int,
    *,
    nearness: Callable[[np.ndarray], Nearness] | None = None,
    weights: Weights | None = None,
    bound: float = BOUND,
) -> Choice:
    """Genes that together keep the leading variation, the differences between groups and the neighbours of cells best.

    Each gene is the one that adds most, given those before it: to the share of the variance along the leading
    directions that a linear prediction from the panel explains (A-optimal design), to how well the groups are told
    apart (by the bound on the error of a discriminant on the panel), and to the share of cells' neighbours that are
    nearer than other cells by the panel's genes. ``nearness`` makes what the last needs for some genes (numbers).
    What a gene repeats of the panel adds little. Fewer genes come back where the rules allow no more.
    """
    weights = weights or Weights()
    alone: list[Part] = [_Variation(statistics), _Separation(statistics, bound)]
    pool = rules.pool(_weighted(alone, weights), max(CANDIDATES, CANDIDATES_A_GENE * n_genes))
    rules, statistics = rules.of(pool), statistics.of(pool)
    parts: list[Part] = [_Variation(statistics), _Separation(statistics, bound)]
    if nearness is not None and weights.neighbours:
        parts.append(NeighboursKept(nearness(pool)))
    chosen: list[int] = []
    added: list[list[float]] = []
    for place in range(n_genes):
        may = rules.candidates(chosen, n_genes - place)
        if not may.any():
            break
        gene = int(np.argmax(np.where(may, _weighted(parts, weights), -np.inf)))
        added.append([value for part in parts for value in part.add(gene)] + [0.0, -1.0] * (3 - len(parts)))
        chosen.append(gene)
    columns = np.array(added, dtype=np.float64).reshape(-1, 6).T
    values = [column if place % 2 == 0 else column.astype(np.int64) for place, column in enumerate(columns)]
    return Choice(pool[chosen], *values)


def _weighted(parts: list[Part], weights: Weights) -> np.ndarray:
    """What each gene would add in all (genes,)."""
    return np.asarray(sum(weight * part.gains() for weight, part in zip(astuple(weights), parts, strict=False)))


class _Variation:
    """The share of the variance along the leading directions that the panel predicts."""

    def __init__(self, statistics: GeneStatistics) -> None:
        self._of = statistics
        self._unknown = np.eye(statistics.loadings.shape[1])  # covariance of the directions, given the panel

    def gains(self) -> np.ndarray:
        return np.asarray(self._by_direction().sum(axis=1))

    def add(self, gene: int) -> tuple[float, int]:
        by_direction = self._by_direction(gene)[0]
        step = self._unknown @ self._of.loadings[gene]
        self._unknown -= np.outer(step, step) / (self._of.noise[gene] + self._of.loadings[gene] @ step)
        return float(by_direction.sum()), int(by_direction.argmax())

    def _by_direction(self, gene: int | slice = slice(None)) -> np.ndarray:
        loadings = np.atleast_2d(self._of.loadings[gene])
        seen = loadings @ self._unknown
        noise = self._of.noise[gene] + (seen * loadings).sum(axis=1)
        return np.asarray(seen**2 * self._of.shares / noise[:, None])


class _Separation:
    """How far the mean confusion of pairs of groups is below that without any gene."""

    def __init__(self, statistics: GeneStatistics, bound: float) -> None:
        self._of, self._bound = statistics, bound
        self._unknown = np.eye(statistics.within_loadings.shape[1])  # as above, within groups
        self._gaps = statistics.gaps.copy()  # of every gene, beyond what the panel says
        self._apart = np.zeros(len(statistics.pairs))  # squared distance of the groups of every pair

    def gains(self) -> np.ndarray:
        return self._by_pair().mean(axis=1) if len(self._apart) else np.zeros(len(self._gaps))

    def add(self, gene: int) -> tuple[float, int]:
        by_pair, scatter = self._by_pair(gene)[0], self._scatter(gene)[0]
        self._apart += self._gaps[gene] ** 2 / scatter
        step = self._unknown @ self._of.within_loadings[gene]
        shared = self._of.within_loadings @ step  # covariance with every gene within groups, given the panel
        shared[gene] = scatter
        self._gaps -= np.outer(shared / scatter, self._gaps[gene])
        self._unknown -= np.outer(step, step) / scatter
        return (float(by_pair.mean()), int(by_pair.argmax())) if len(by_pair) else (0.0, -1)

    def _by_pair(self, gene: int | slice = slice(None)) -> np.ndarray:
        added = np.atleast_2d(self._gaps[gene]) ** 2 / np.atleast_1d(self._scatter(gene))[:, None]
        return np.asarray(np.exp(-self._apart / self._bound) * -np.expm1(-added / self._bound))

    def _scatter(self, gene: int | slice = slice(None)) -> np.ndarray:
        """Variance within groups given the panel, of some genes."""
        loadings = np.atleast_2d(self._of.within_loadings[gene])
        return np.asarray(self._of.within_noise[gene] + ((loadings @ self._unknown) * loadings).sum(axis=1))
