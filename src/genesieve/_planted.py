"""Counts with known programs: types, and activities that some cells of several types share.

A gamma-Poisson simulation in the manner of Splatter and of the cNMF paper (Kotliar et al. 2019). Cells are drawn in
chunks, each from a random stream of its own, so that the cells do not depend on how many are drawn at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

CHUNK_CELLS = 256
# What the random streams are for: the genes and their programs, and the cells.
GENES, CELLS = 0, 1


@dataclass(frozen=True)
class Recipe:
    """How cells are drawn; the means and spreads named ``log`` are of normal distributions before the exponential."""

    n_types: int = 12
    n_activities: int = 2
    types_an_activity: int = 5
    active_cells: tuple[float, float] = (0.2, 0.3)  # share of the cells of those types, from and to
    activity_usage: tuple[float, float] = (0.1, 0.7)  # in a cell that is active
    doublets: float = 0.06
    raised: float = 0.025  # share of the genes that a program raises
    raised_by_activity: float = 0.025
    log_fold: tuple[float, float] = (0.75, 1.0)  # mean and spread of how much it raises them
    log_depth: tuple[float, float] = (7.64, 0.78)  # counts of a cell
    gene_means: tuple[float, float] = (0.34, 7.68)  # shape and rate
    outliers: tuple[float, float, float] = (0.00286, 6.15, 0.49)  # share of the genes, and mean and spread of their log
    bcv: float = 0.448  # biological coefficient of variation
    bcv_freedom: float = 22.087
    bcv_trend: bool = False  # Splatter's: rarer genes vary more, by one over the root of their mean


class Genes(NamedTuple):
    """The programs as they are drawn, types first."""

    spectra: np.ndarray  # (genes, programs): each program's share of a cell's counts, a gene
    raised: np.ndarray  # (genes, programs): whether the program raises the gene
    noise: np.ndarray  # (genes,): the gene's own factor to the coefficient of variation
    active_in: np.ndarray  # (types, activities): share of the cells of a type with the activity


class Cells(NamedTuple):
    """Some cells as they are drawn."""

    types: np.ndarray  # (cells,)
    doublet: np.ndarray  # (cells,)
    usages: np.ndarray  # (cells, programs): shares that add up to one
    depth: np.ndarray  # (cells,)


def draw_genes(recipe: Recipe, n_genes: int, seed: int) -> Genes:
    """All that does not depend on the cells."""
    rng = _stream(seed, GENES)
    shape, rate = recipe.gene_means
    means = rng.gamma(shape, 1.0 / rate, n_genes)
    share, center, spread = recipe.outliers
    means = np.where(rng.random(n_genes) < share, np.median(means) * rng.lognormal(center, spread, n_genes), means)
    n_programs = recipe.n_types + recipe.n_activities
    shares = np.repeat([recipe.raised, recipe.raised_by_activity], [recipe.n_types, recipe.n_activities])
    raised = rng.random((n_genes, n_programs)) < shares
    folds = np.exp(np.abs(rng.normal(*recipe.log_fold, (n_genes, n_programs))))
    spectra = means[:, None] * np.where(raised, folds, 1.0)
    noise = np.sqrt(recipe.bcv_freedom / rng.chisquare(recipe.bcv_freedom, n_genes))
    active_in = np.zeros((recipe.n_types, recipe.n_activities))
    for activity in range(recipe.n_activities):
        chosen = rng.choice(recipe.n_types, min(recipe.types_an_activity, recipe.n_types), replace=False)
        active_in[chosen, activity] = rng.uniform(*recipe.active_cells)
    return Genes(spectra / spectra.sum(axis=0), raised, noise, active_in)


def draw_chunks(recipe: Recipe, genes: Genes, n_cells: int, seed: int) -> Iterator[tuple[Cells, sparse.csr_matrix]]:
    """Cells and their counts, a chunk at a time."""
    for chunk, first in enumerate(range(0, n_cells, CHUNK_CELLS)):
        rng = _stream(seed, CELLS, chunk)
        cells = _draw_cells(recipe, genes, rng)
        counts = _draw_counts(recipe, genes, cells, rng)
        wanted = min(n_cells - first, CHUNK_CELLS)
        yield Cells(*(part[:wanted] for part in cells)), counts[:wanted]


def _draw_cells(recipe: Recipe, genes: Genes, rng: np.random.Generator) -> Cells:
    types, usages, depth = _draw_singlets(recipe, genes, rng)
    _, other_usages, other_depth = _draw_singlets(recipe, genes, rng)
    doublet = rng.random(CHUNK_CELLS) < recipe.doublets
    usages = np.where(doublet[:, None], (usages + other_usages) / 2.0, usages)
    return Cells(types, doublet, usages, np.where(doublet, np.maximum(depth, other_depth), depth))


def _draw_singlets(recipe: Recipe, genes: Genes, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    types = rng.integers(recipe.n_types, size=CHUNK_CELLS)
    active = rng.random((CHUNK_CELLS, recipe.n_activities)) < genes.active_in[types]
    activity = active * rng.uniform(*recipe.activity_usage, active.shape)
    activity /= np.maximum(active.sum(axis=1, keepdims=True), 1)  # two activities leave the type its share
    identity = np.eye(recipe.n_types)[types] * (1.0 - activity.sum(axis=1, keepdims=True))
    return types, np.hstack([identity, activity]), rng.lognormal(*recipe.log_depth, CHUNK_CELLS)


def _draw_counts(recipe: Recipe, genes: Genes, cells: Cells, rng: np.random.Generator) -> sparse.csr_matrix:
    means = cells.depth[:, None] * (cells.usages @ genes.spectra.T)  # (cells, genes)
    spread = recipe.bcv + (1.0 / np.sqrt(np.maximum(means, 1e-12)) if recipe.bcv_trend else 0.0)
    squared = (spread * genes.noise) ** 2
    return sparse.csr_matrix(rng.poisson(rng.gamma(1.0 / squared, means * squared)).astype(np.float32))


def _stream(seed: int, *purpose: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=purpose))
