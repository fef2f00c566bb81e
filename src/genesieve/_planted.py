"""Counts with known programs: types, activities that some cells of several types share, and batches.

A gamma-Poisson simulation in the manner of Splatter and of the cNMF paper (Kotliar et al. 2019). Cells are drawn in
chunks, each from random streams of its own: fewer cells are the first of more, and any number can be drawn in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

CHUNK_CELLS = 256
# What the random streams are for.
GENES, CELLS, COUNTS, BATCHES = range(4)
LEAST_MEAN = 1e-12  # of a count, where Splatter's trend divides by its root


@dataclass(frozen=True)
class Recipe:
    """How cells are drawn; what is named ``log`` is the mean and spread of a normal distribution, then raised to e."""

    n_cells: int = 3000
    n_genes: int = 8000
    n_types: int = 12
    n_activities: int = 2
    types_an_activity: int = 5
    active_cells: tuple[float, float] = (0.2, 0.3)  # share of the cells of those types, from and to
    activity_usage: tuple[float, float] = (0.1, 0.7)  # in a cell that is active, from and to
    doublets: float = 0.06
    raised: float = 0.02  # share of the genes that a type raises
    raised_by_activity: float = 0.025
    log_fold: tuple[float, float] = (1.0, 1.0)  # by how much
    log_depth: tuple[float, float] = (7.64, 0.78)  # counts of a cell
    gene_means: tuple[float, float] = (0.34, 7.68)  # shape and rate
    outliers: tuple[float, float, float] = (0.00286, 6.15, 0.49)  # share of the genes, and their log over the median
    variation: float = 0.448  # biological coefficient of variation
    freedom: float = 22.087  # of the scatter of that over the genes
    trend: bool = False  # Splatter's: rare genes vary more, by one over the root of their mean
    n_batches: int = 1
    batch_effect: float = 0.0  # spread of the logarithm of the factor that each batch has on each gene
    mixing: float = 2.0  # of Dirichlet: the larger, the more alike the shares of the types in the batches
    n_private: int = 0  # activities, the last ones, that only cells of one batch each have


LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"log_fold": (1.25, 1.0), "raised": 0.025, "raised_by_activity": 0.03},
    "medium": {"log_fold": (1.0, 1.0), "raised": 0.02, "raised_by_activity": 0.025},
    "hard": {"log_fold": (0.75, 1.0), "raised": 0.018, "raised_by_activity": 0.025},
    "faint": {"log_fold": (0.65, 1.0), "raised": 0.0155, "raised_by_activity": 0.022},
}
CNMF = Recipe(
    n_cells=15_000,
    n_genes=25_000,
    n_types=13,
    n_activities=1,
    types_an_activity=4,
    active_cells=(0.3, 0.3),
    raised=0.025,
    raised_by_activity=0.04,
    trend=True,
)
CNMF_LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"log_fold": (1.0, 1.0)},
    "medium": {"log_fold": (0.75, 1.0)},
    "hard": {"log_fold": (0.5, 1.0)},
}
PRESETS = {None: (Recipe(), LEVELS), "cnmf": (CNMF, CNMF_LEVELS)}


class Genes(NamedTuple):
    """The programs as they are drawn, types first."""

    spectra: np.ndarray  # (genes, programs): the gene's share of the counts that a program makes
    raised: np.ndarray  # (genes, programs): whether the program raises the gene
    scatter: np.ndarray  # (genes,): the gene's own factor to the coefficient of variation
    active: np.ndarray  # (types, activities): share of the cells of a type that have the activity
    shares: np.ndarray  # (types, batches): where the cells of a type are
    factors: np.ndarray  # (batches, genes): what a batch does to each gene
    allowed: np.ndarray  # (batches, activities): whether cells of a batch may have the activity


class Cells(NamedTuple):
    """Some cells as they are drawn."""

    types: np.ndarray  # (cells,)
    batch: np.ndarray  # (cells,)
    doublet: np.ndarray  # (cells,)
    usages: np.ndarray  # (cells, programs): shares that add up to one
    depth: np.ndarray  # (cells,)


def draw_genes(recipe: Recipe, seed: int) -> Genes:
    """All that does not depend on the cells."""
    rng, n_genes = _stream(seed, GENES), recipe.n_genes
    means = _gene_means(recipe, rng)
    shares = np.repeat([recipe.raised, recipe.raised_by_activity], [recipe.n_types, recipe.n_activities])
    raised = rng.random((n_genes, len(shares))) < shares
    folds = np.exp(np.abs(rng.normal(*recipe.log_fold, raised.shape)))
    spectra = means[:, None] * np.where(raised, folds, 1.0)
    scatter = np.sqrt(recipe.freedom / rng.chisquare(recipe.freedom, n_genes))
    active = np.zeros((recipe.n_types, recipe.n_activities))
    for activity in range(recipe.n_activities):
        types = rng.choice(recipe.n_types, min(recipe.types_an_activity, recipe.n_types), replace=False)
        active[types, activity] = rng.uniform(*recipe.active_cells)
    return Genes(spectra / spectra.sum(axis=0), raised, scatter, active, *_draw_batches(recipe, seed))


def _draw_batches(recipe: Recipe, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What tells batches apart, from a stream of its own: shares of the types, factors on genes, activities."""
    rng, n_batches = _stream(seed, BATCHES), recipe.n_batches
    shares = rng.dirichlet(np.full(n_batches, recipe.mixing), recipe.n_types)
    factors = np.exp(recipe.batch_effect * rng.standard_normal((n_batches, recipe.n_genes)))
    allowed = np.ones((n_batches, recipe.n_activities), dtype=bool)
    for number in range(recipe.n_private):
        allowed[:, recipe.n_activities - 1 - number] = np.arange(n_batches) == number % n_batches
    return shares, factors, allowed


def _gene_means(recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    shape, rate = recipe.gene_means
    means = rng.gamma(shape, 1.0 / rate, recipe.n_genes)
    share, center, spread = recipe.outliers
    outliers = np.median(means) * rng.lognormal(center, spread, recipe.n_genes)
    return np.where(rng.random(recipe.n_genes) < share, outliers, means)


def draw_cells(recipe: Recipe, genes: Genes, seed: int) -> Cells:
    """What all cells are, without their counts."""
    streams = ((_stream(seed, CELLS, chunk), _stream(seed, BATCHES, chunk)) for chunk in range(_n_chunks(recipe)))
    chunks = [_draw_chunk(recipe, genes, *both) for both in streams]
    return Cells(*(np.concatenate(parts)[: recipe.n_cells] for parts in zip(*chunks, strict=True)))


def draw_counts(recipe: Recipe, genes: Genes, cells: Cells, seed: int) -> Iterator[sparse.csr_matrix]:
    """The counts of all cells, a chunk after the other."""
    for chunk in range(_n_chunks(recipe)):
        rows = slice(chunk * CHUNK_CELLS, (chunk + 1) * CHUNK_CELLS)
        means = cells.depth[rows, None] * _shares_of_genes(genes, cells, rows)  # (cells, genes)
        trend = 1.0 / np.sqrt(np.maximum(means, LEAST_MEAN)) if recipe.trend else 0.0
        squared = ((recipe.variation + trend) * genes.scatter) ** 2 * np.ones_like(means)
        gammas = _stream(seed, COUNTS, chunk, 0).gamma(1.0 / squared, means * squared)
        yield sparse.csr_matrix(_stream(seed, COUNTS, chunk, 1).poisson(gammas).astype(np.float32))


def _shares_of_genes(genes: Genes, cells: Cells, rows: slice) -> np.ndarray:
    """What every gene has of a cell's counts, on average, in the batch of the cell."""
    shares: np.ndarray = cells.usages[rows] @ genes.spectra.T
    if (genes.factors == 1).all():
        return shares
    shares *= genes.factors[cells.batch[rows]]
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _draw_chunk(recipe: Recipe, genes: Genes, rng: np.random.Generator, of_batch: np.random.Generator) -> Cells:
    """Cells of a chunk; a doublet is half itself and half another cell, as deep as the deeper."""
    types, batch, usages, depth = _draw_singlets(recipe, genes, rng, partial(_place, genes.shares, of_batch))
    _, _, others, other_depth = _draw_singlets(recipe, genes, rng, lambda _: batch)
    doublet = rng.random(CHUNK_CELLS) < recipe.doublets
    usages = np.where(doublet[:, None], (usages + others) / 2.0, usages)
    return Cells(types, batch, doublet, usages, np.where(doublet, np.maximum(depth, other_depth), depth))


def _draw_singlets(
    recipe: Recipe, genes: Genes, rng: np.random.Generator, batch_of: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Types, batches, usages and depths; ``batch_of`` gives cells of known types a batch."""
    types = rng.integers(recipe.n_types, size=CHUNK_CELLS)
    batch = batch_of(types)
    active = rng.random((CHUNK_CELLS, recipe.n_activities)) < genes.active[types]
    active &= genes.allowed[batch]
    activity = active * rng.uniform(*recipe.activity_usage, active.shape)
    activity /= np.maximum(active.sum(axis=1, keepdims=True), 1)  # several leave the type its share
    identity = np.eye(recipe.n_types)[types] * (1.0 - activity.sum(axis=1, keepdims=True))
    return types, batch, np.hstack([identity, activity]), rng.lognormal(*recipe.log_depth, CHUNK_CELLS)


def _place(shares: np.ndarray, rng: np.random.Generator, types: np.ndarray) -> np.ndarray:
    """Batches of cells of these types."""
    return np.asarray((rng.random((len(types), 1)) > shares[types].cumsum(axis=1)[:, :-1]).sum(axis=1))


def _n_chunks(recipe: Recipe) -> int:
    return -(-recipe.n_cells // CHUNK_CELLS)


def _stream(seed: int, *purpose: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=purpose))
