"""Gene scores: how much every gene belongs to every program, selected or not, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from genesieve.core.cells.regression import Regression, cross_products, regress
from genesieve.core.cells.streamed import as_source

METHODS = ("regression", "cnmf")
"""How genes are scored: see `score_genes` and `cnmf_scores`."""

# A gene that the model was fitted to is scored by usages from genes of the other parts: its noise is in its own
# usages, and would pass for a signal. With fewer parts usages get noisier, with more they cost more.
PARTS = 3
# The scatter of a gene among the cells of a program is known the less the fewer they are; its scatter in the cells of
# all programs counts as much as so many cells more.
PRIOR_FREEDOM = 10
# And at least as much as this share: of a gene that few cells show, the scatter among the cells of a program is large
# just where its mean is, which hides genes that are raised. With this share up to 1 % of the p-values of usages that
# were dealt out to other cells are below 0.01; with 0.7 more are, of three to five programs.
POOLED_SHARE = 0.6
# Usages are not exact, and logged values of a cell that mixes programs lie above their mixture. Both give a program
# some of what other programs of its cells raise: as much as this share of its overlap with one of them.
LEAK = 0.33
# What another program raises is counted as far as it is sure: less so many standard errors.
SURE = 2.0
# cNMF's least variance of a gene.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class GeneScores:
    """Scores of every gene in every program, as arrays (genes, rank)."""

    score: np.ndarray  # standard deviations of the gene above what it has in the typical program
    error: np.ndarray  # standard error of the score
    p_value: np.ndarray  # of a gene that is not raised, one-sided
    p_adjusted: np.ndarray  # Benjamini-Hochberg over the genes, by program


class HeldOut(NamedTuple):
    """Usages from all genes but those of one part, by part."""

    usages: Iterable[np.ndarray]  # (cells, rank), part by part
    part: np.ndarray  # (genes,), -1 for genes that the usages do not rest on


def parts_of(selected: np.ndarray) -> np.ndarray:
    """The part of every selected gene (genes,), -1 for the others; none where there are too few to take some away."""
    part = np.full(len(selected), -1)
    genes = np.flatnonzero(selected)
    if len(genes) > PARTS:
        part[genes] = np.arange(len(genes)) % PARTS
    return part


def score_genes(X: Any, H: np.ndarray, *, held_out: HeldOut | None = None, n_jobs: int | None = None) -> GeneScores:
    """Score genes by regressing their logged values X on the usages H (cells, rank), all programs together.

    Usages are taken as shares of a cell, so a coefficient is what a cell has that uses one program only. A score is
    how far that lies above the median over the programs, in standard deviations of the gene, once every program's
    values are made comparable: a program that raises some genes leaves less depth for all others, so the factor that
    most of its genes share is taken out. The p-value is of a gene whose true score is not above what programs that its
    cells use beside it would leak into it, which is zero where there are none.
    """
    rank = H.shape[1]
    which = np.zeros(X.shape[1], dtype=np.int64) if held_out is None else held_out.part + 1
    found = regress(as_source(X, n_jobs=n_jobs), _designs(H, held_out), which)
    used = np.asarray(H > 0).any(axis=0)
    raised = _raised(found, which)
    p_value = _p_values(raised, found.overlap, found.freedom[which] + PRIOR_FREEDOM)[:, :rank]
    score, error = raised.score[:, :rank] * used, raised.error[:, :rank] * used
    p_value[error <= 0] = 1.0
    return GeneScores(score, error, p_value, false_discovery_control(p_value, axis=0))


def cnmf_scores(X: Any, H: np.ndarray, *, log_base: float | None = None, n_jobs: int | None = None) -> np.ndarray:
    """Scores (genes, rank) as cNMF defines them: least squares of z-scored TPM on the usages, no intercept.

    X is TPM, or any multiple of it; with ``log_base`` its logarithms ``log(1 + x)``, which are undone.
    """
    H = np.asarray(H, dtype=np.float64)
    change = Linear(None if log_base is None else float(np.log(log_base)))
    cross, sums, squares = cross_products(as_source(X, n_jobs=n_jobs), H, change)
    mean = sums / len(H)
    spread = np.sqrt(np.maximum(squares / len(H) - mean**2, LEAST_VARIANCE))
    standardised = (cross - np.outer(mean, H.sum(axis=0))) / spread[:, None]
    return np.asarray(np.linalg.lstsq(H.T @ H, standardised.T, rcond=None)[0].T)


@dataclass(frozen=True)
class Linear:
    """Undoes a logarithm; a record, so that it can be sent to a cluster."""

    log_of_base: float | None

    def __call__(self, X: Any) -> Any:
        if self.log_of_base is None:
            return X
        return np.expm1(X * self.log_of_base) if not sparse.issparse(X) else (X * self.log_of_base).expm1()


def _designs(H: np.ndarray, held_out: HeldOut | None) -> np.ndarray:
    """Shares (cells, designs, columns) from all genes, and without each part; one copy, as cells may be many."""
    shares = _shares(H)
    if held_out is None:
        return shares[:, None]
    designs = np.empty((len(H), 1 + PARTS, shares.shape[1]), dtype=H.dtype)
    designs[:, 0] = shares
    for number, usages in enumerate(held_out.usages, start=1):
        designs[:, number] = _shares(usages)
    return designs


def _shares(H: np.ndarray) -> np.ndarray:
    """Usages as shares of a cell; of a single program, beside its absence."""
    if H.shape[1] == 1:
        share = H / max(float(H.max()), np.finfo(H.dtype).tiny)
        return np.hstack([share, 1.0 - share])
    totals = H.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(H, totals, out=np.zeros_like(H), where=totals > 0))


class Raised(NamedTuple):
    """How far coefficients lie above the median over the columns, in standard deviations of the gene."""

    score: np.ndarray  # (genes, columns)
    error: np.ndarray  # (genes, columns)
    half_step: np.ndarray  # (genes, 1), half the distance between coefficients in the middle, if none is raised


def _raised(found: Regression, which: np.ndarray) -> Raised:
    """Scores with their errors: of the coefficient, and of the median.

    Near their middle, r errors with the harmonic mean h have a density of r / h times that of a normal one. So the
    median has the variance pi / 2r h^2, and coefficients next to it are sqrt(2 pi) h / r apart.
    """
    above = found.coefficients - found.mean[:, None]
    # What a common factor does to logged values: they move by it where they are high, and stay where they are zero.
    moved = 1.0 - np.exp(-found.mean)
    factors = np.array([_common_factor(*column, moved) for column in zip(above.T, found.errors.T, strict=True)])
    above -= np.outer(moved, factors)
    share = np.maximum(PRIOR_FREEDOM / (PRIOR_FREEDOM + found.freedom[which]), POOLED_SHARE)
    squares = (1.0 - share) * found.errors**2 + share * found.pooled_errors**2
    spread = np.where(found.spread > 0, found.spread, np.inf)[:, None]
    score = (above - np.median(above, axis=1, keepdims=True)) / spread
    half_step = np.sqrt(np.pi / 2) * _harmonic_mean(np.sqrt(squares)) / above.shape[1]
    return Raised(score, np.sqrt(squares + above.shape[1] * half_step**2) / spread, half_step / spread)


def _harmonic_mean(errors: np.ndarray) -> np.ndarray:
    """The harmonic mean (genes, 1) over the columns that have an error: all but those that no cell has."""
    known = errors > 0
    inverses = np.divide(1.0, errors, out=np.zeros_like(errors), where=known).sum(axis=1, keepdims=True)
    harmonic = np.divide(known.sum(axis=1, keepdims=True), inverses, out=np.zeros_like(inverses), where=inverses > 0)
    return np.asarray(harmonic)


def _p_values(raised: Raised, overlap: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """One-sided, of coefficients (genes, columns) that have no more than leaked into them.

    A coefficient is part of the median that it is measured from: one above it has drawn it up, by half a step, or by as
    much as it is above where that is less.
    """
    score, error, half_step = raised
    beyond = score + np.clip(score, 0.0, half_step) - _leaked(score, error, overlap)
    return np.asarray(student.sf(np.divide(beyond, error, out=np.zeros_like(score), where=error > 0), freedom))


def _leaked(score: np.ndarray, error: np.ndarray, overlap: np.ndarray) -> np.ndarray:
    """How much of every score (genes, columns) the programs beside may have left there: of the one that could most."""
    sure = np.maximum(score - SURE * error, 0.0)
    return LEAK * np.stack([(sure * beside).max(axis=1) for beside in overlap], axis=1)


def _common_factor(above: np.ndarray, errors: np.ndarray, moved: np.ndarray) -> float:
    """The factor that most genes share: the slope of least absolute deviations, in units of their errors."""
    seen = (moved > 0) & (errors > 0)
    if not seen.any():
        return 0.0
    slopes, weights = above[seen] / moved[seen], moved[seen] / errors[seen]
    order = np.argsort(slopes)
    counted = np.cumsum(weights[order])
    return float(slopes[order][np.searchsorted(counted, counted[-1] / 2)])
