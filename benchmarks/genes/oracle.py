"""The best ranking there could be: how likely counts make it that a gene is raised, to one who knows all else.

It knows how the counts were drawn, the usages and depths of the cells, a gene's level and scatter, and what every other
program does to it. Only whether this program raises the gene, and by how much, is left to the counts. A method that has
to find any of these from the same counts has less to go by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

if TYPE_CHECKING:
    from anndata import AnnData

FOLDS = 24  # that stand for all: quantiles of the folds that raised genes are drawn with


def likelihood_ratios(adata: AnnData, level: str, seed: int, size: dict[str, Any]) -> np.ndarray:
    """The logarithm (genes, programs) of how much likelier the counts are of a raised gene than of one that is not."""
    from genesieve import _planted, datasets
    from genesieve._random import as_generator

    recipe = datasets._read_recipe(level, size.get("preset"), {k: v for k, v in size.items() if k != "preset"})
    drawn = _planted.draw_genes(recipe, int(as_generator(seed).integers(2**63)))
    genes = np.array([int(name.removeprefix("gene-")) for name in adata.var_names])
    spectra, scatter = drawn.spectra[genes], drawn.scatter[genes]  # (genes, programs), (genes,)
    typical = unraised(drawn.spectra, drawn.raised)[genes]
    counts, usages = adata.layers["raw"].tocsr(), np.asarray(adata.obsm["true_usages"])
    depth = np.asarray(counts.sum(axis=1)).ravel()
    folds, found = fold_quantiles(*recipe.log_fold), np.zeros(spectra.shape)
    for program in range(spectra.shape[1]):
        cells = np.flatnonzero(usages[:, program])
        Y, own = counts[cells].toarray(), depth[cells, None] * usages[cells, program, None] * typical[:, program]
        others = np.delete(usages[cells], program, axis=1) @ np.delete(spectra, program, axis=1).T
        rest = depth[cells, None] * others  # (cells, genes)
        trend = 1.0 / np.sqrt(np.maximum(rest + own, _planted.LEAST_MEAN)) if recipe.trend else 0.0
        shape = 1.0 / ((recipe.variation + trend) * scatter) ** 2 * np.ones_like(rest)
        gains = [log_ratio(Y, rest + own, rest + fold * own, shape) for fold in folds]
        found[:, program] = logsumexp(gains, axis=0)
    return found


def log_ratio(Y: np.ndarray, mean: np.ndarray, other: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Log-likelihood (genes,) of gamma-Poisson counts Y (cells, genes) of the other mean, less that of the mean."""
    each = Y * np.log(other / mean) - (Y + shape) * np.log((shape + other) / (shape + mean))
    return np.asarray(each.sum(axis=0))


def unraised(spectra: np.ndarray, raised: np.ndarray) -> np.ndarray:
    """What every gene (genes, programs) has of a program's counts where the program does not raise it."""
    even = ~raised.any(axis=1)
    totals = spectra[even, :1].sum() / spectra[even].sum(axis=0)  # of the programs, before they were scaled to one
    level = np.nanmedian(np.where(raised, np.nan, spectra * totals), axis=1)  # the same in all that do not raise it
    return level[:, None] / totals


def fold_quantiles(center: float, spread: float) -> np.ndarray:
    """Evenly likely folds among those that raised genes are drawn with, exp |normal|."""
    of_normal = norm.ppf((np.arange(10 * FOLDS) + 0.5) / (10 * FOLDS), center, spread)
    return np.exp(np.sort(np.abs(of_normal))[5::10])
