"""Consensus: what fits from many starts agree on, and how many of them have each program.

In the manner of consensus NMF (Kotliar et al. 2019), with programs as points: those of all fits are clustered, the ones
that few others are like are left out, and the median of every cluster is a program. Cells are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from genesieve.core.solvers import Result

# The share of the fits that a program is compared with, those most like it: one that so many fits have is dense.
NEIGHBOURING_FITS = 0.3
# The least mean cosine to the nearest program of each of them; below it, a program is an outlier. It is cNMF's: a
# distance of 0.5 between unit vectors.
LEAST_DENSITY = 0.875
# The least cosine of programs that are the same one, reached from two starts.
SAME_PROGRAM = 0.998
# Rounds in which programs go to the cluster that they are most like.
ROUNDS = 50


class Consensus(NamedTuple):
    """Programs that fits agree on."""

    W: np.ndarray  # (genes, rank), at unit length
    stability: np.ndarray  # (rank,), the share of the fits that have each


def agreed(fits: Sequence[Result]) -> Consensus:
    """The medians of the clusters of all programs, each cluster around a program of the lowest fit.

    Where many fits have a program that it lacks, theirs takes the place of one that it alone has; else that one stays,
    and its stability says that it is alone.
    """
    lowest = int(np.argmin([fit.objective for fit in fits]))
    programs = np.concatenate([unit_columns(fit.factors.W).T for fit in fits])  # (fits * rank, genes)
    rank = len(programs) // len(fits)
    of_fit = np.repeat(np.arange(len(fits)), rank)
    cosines = similarities(programs)
    dense = densities(cosines, of_fit) >= LEAST_DENSITY
    kept = np.flatnonzero(dense | (of_fit == lowest))
    labels = clusters(cosines[np.ix_(kept, kept)], np.flatnonzero(of_fit[kept] == lowest))
    found = [kept[labels == cluster] for cluster in range(rank)]
    members = [one[dense[one]] if dense[one].any() else one for one in found]
    W = np.column_stack([np.median(programs[one], axis=0) for one in members])
    return Consensus(unit_columns(W), np.array([len(np.unique(of_fit[one])) for one in members]) / len(fits))


def distinct(fits: Sequence[Result]) -> list[Result]:
    """The first of all fits with the same programs: of many cells, whatever goes on from these ends alike."""
    found: list[Result] = []
    for fit in fits:
        if not any(_have_the_same(fit.factors.W, other.factors.W) for other in found):
            found.append(fit)
    return found


def _have_the_same(W: np.ndarray, other_W: np.ndarray) -> bool:
    """Whether every program has one of the other's to itself that is the same."""
    cosines = unit_columns(W).T @ unit_columns(other_W)
    partners = cosines.argmax(axis=1)
    return len(set(partners)) == len(partners) and bool(cosines.max(axis=1).min() >= SAME_PROGRAM)


def similarities(programs: np.ndarray) -> np.ndarray:
    """Cosines (programs, programs) of what tells programs apart: their mean, which all of them share, is taken off."""
    apart = unit_columns((programs - programs.mean(axis=0)).T)
    return np.asarray(apart.T @ apart)


def densities(cosines: np.ndarray, of_fit: np.ndarray) -> np.ndarray:
    """The mean cosine of every program with the one most like it in each of the fits that are nearest to it."""
    n_fits = int(of_fit[-1]) + 1
    best = cosines.reshape(len(cosines), n_fits, -1).max(axis=2)  # (programs, fits)
    best[np.arange(len(best)), of_fit] = -np.inf  # not its own
    count = min(max(round(NEIGHBOURING_FITS * n_fits), 1), n_fits - 1)
    return np.asarray(np.sort(best, axis=1)[:, n_fits - count :].mean(axis=1))


def clusters(cosines: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Spherical k-means of points with these cosines, from the points ``seeds``; each stays in its own cluster."""
    labels = cosines[:, seeds].argmax(axis=1)
    labels[seeds] = np.arange(len(seeds))
    for _ in range(ROUNDS):
        members = np.equal.outer(labels, np.arange(len(seeds))).astype(np.float64)  # (points, clusters)
        sums = cosines @ members
        lengths = np.sqrt(np.maximum((members * sums).sum(axis=0), np.finfo(np.float64).tiny))
        moved = (sums / lengths).argmax(axis=1)
        moved[seeds] = np.arange(len(seeds))
        if np.array_equal(moved, labels):
            break
        labels = moved
    return np.asarray(labels)


def unit_columns(W: np.ndarray) -> np.ndarray:
    """Columns at unit length; empty ones stay so."""
    lengths = np.linalg.norm(W, axis=0)
    return np.asarray(W / np.where(lengths > 0, lengths, 1.0))
