"""What a panel is chosen by: how genes vary along the leading directions, and how they set groups of cells apart."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.low_rank import svd
from genesieve.core.cells.streamed import as_source
from genesieve.core.constraints import row_gains
from genesieve.core.nnls import nnls
from genesieve.core.objective import gram_of

# Leading directions of the variation that a panel is to keep: more of them are mostly noise of single genes. Scores
# change little from 15 to 30; 50 are better for large panels and worse for small ones (docs/panels.md).
DIRECTIONS = 20
# The mean gene and what else is not variation: the leading directions of values that are not centred hold it too.
SPARE_DIRECTIONS = 5
# Variance along a direction, as a share of the mean square of cells, below which it is rounding.
LEAST_VARIANCE = 1e-24
# Groups that cells are put into where no types are known, finer than types mostly are.
GROUPS = 20
GROUP_STARTS = 3
# A group is to be set apart from so many that are nearest to it, the others are far anyway.
NEAREST_GROUPS = 10
# Measurement noise that a gene has beside what is seen in it, as a share of the mean variance of so many most variable
# genes, for the leading directions and for groups: genes of small variance cannot be relied on.
VARIABLE_GENES = 200
LEAST_NOISE = 0.3
LEAST_NOISE_WITHIN = 0.05


@dataclass(frozen=True)
class GeneStatistics:
    """Genes as a panel is chosen from them.

    A gene is ``loadings`` times uncorrelated directions of unit variance plus noise; the same within groups of cells.
    """

    mean: np.ndarray  # (genes,)
    loadings: np.ndarray  # (genes, directions)
    noise: np.ndarray  # (genes,), variance that the directions leave
    shares: np.ndarray  # (directions,), of the variance along them
    gaps: np.ndarray  # (genes, pairs), by how much its mean differs between two groups
    pairs: np.ndarray  # (pairs, 2), the groups
    within_loadings: np.ndarray  # (genes, directions)
    within_noise: np.ndarray  # (genes,)

    def of(self, genes: np.ndarray) -> GeneStatistics:
        """The same of some of the genes."""
        by_gene = ("mean", "loadings", "noise", "gaps", "within_loadings", "within_noise")
        rest = {"shares": self.shares, "pairs": self.pairs}
        return GeneStatistics(**{name: getattr(self, name)[genes] for name in by_gene}, **rest)


def gene_model(X: Any, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best weights W (genes, rank) of every gene given H, and the mean squared residual of every gene."""
    H = np.asarray(H, dtype=np.float64)
    gram = gram_of(H)
    cross, squares = Blocks(as_source(X)).gene_products(H)
    W = nnls(gram, cross, np.zeros_like(cross))
    return W, np.maximum(squares - row_gains(gram, cross, W), 0.0) / len(H)


def leading_scores(cells: Blocks, rng: np.random.Generator, *, n_directions: int = DIRECTIONS) -> np.ndarray:
    """Cells (cells, directions) along the leading directions of their variation, uncorrelated, the strongest first."""
    left, scale, _ = svd(cells, min(n_directions + SPARE_DIRECTIONS, *cells.shape), rng)
    scores = np.asarray(left * scale, dtype=np.float64)
    rounding = LEAST_VARIANCE * np.square(scores).sum() / len(scores)
    scores -= scores.mean(axis=0)
    variances, axes = np.linalg.eigh(gram_of(scores) / len(scores))
    strongest = np.argsort(-variances, kind="stable")[:n_directions]
    least = max(1e-9 * variances.max(initial=0.0), rounding)
    if not (variances > least).any():
        raise ValueError("a panel needs cells that differ, got cells that are all alike")
    return np.asarray(scores @ axes[:, strongest[variances[strongest] > least]])


def group_cells(scores: np.ndarray, seed: int, *, n_groups: int = GROUPS) -> np.ndarray:
    """Groups of cells that are near each other along the leading directions (cells,), where no types are known."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    n_groups = min(n_groups, len(np.unique(scores, axis=0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that there are fewer groups
        groups = KMeans(n_groups, n_init=GROUP_STARTS, random_state=seed).fit_predict(scores)
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)  # cells alike may leave groups empty


def gene_statistics(cells: Blocks, scores: np.ndarray, groups: np.ndarray) -> GeneStatistics:
    """Statistics of all genes, from cells along their leading directions (`leading_scores`) and their groups.

    ``groups`` (cells,) are numbers from 0 on; cells of group -1 are in none.
    """
    members = (groups[:, None] == np.arange(groups.max() + 1)).astype(np.float64)  # (cells, groups)
    sizes = members.sum(axis=0)
    variances = scores.var(axis=0)
    factors = scores / np.sqrt(variances)
    rest = np.where(groups[:, None] >= 0, factors - (members @ (members.T @ factors / sizes[:, None])), 0.0)
    within = rest @ _whitening(gram_of(rest) / sizes.sum())
    cross, squares = cells.gene_products(np.column_stack([factors, within, members, np.ones(len(scores))]))
    widths = [factors.shape[1], within.shape[1], len(sizes)]
    loadings, within_loadings, sums, total = np.split(cross, np.cumsum(widths), axis=1)
    mean, means = total[:, 0] / len(scores), sums / sizes
    variance = np.maximum(squares / len(scores) - mean**2, 0.0)
    loadings, within_loadings = loadings / len(scores), within_loadings / sizes.sum()
    between = (means**2) @ sizes / sizes.sum() - (sums.sum(axis=1) / sizes.sum()) ** 2
    level = np.sort(variance)[-VARIABLE_GENES:].mean()
    pairs = nearest_pairs(means)
    return GeneStatistics(
        mean=mean,
        loadings=loadings,
        noise=_left(variance, loadings) + LEAST_NOISE * level,
        shares=variances / variances.sum(),
        gaps=means[:, pairs[:, 0]] - means[:, pairs[:, 1]],
        pairs=pairs,
        within_loadings=within_loadings,
        within_noise=_left(variance - between, within_loadings) + LEAST_NOISE_WITHIN * level,
    )


def nearest_pairs(means: np.ndarray, n_nearest: int = NEAREST_GROUPS) -> np.ndarray:
    """Pairs of groups (pairs, 2), each group with those whose means (genes, groups) are nearest to its own."""
    gram = gram_of(means)
    distances = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, : min(n_nearest, len(gram) - 1)]
    pairs = {(min(a, b), max(a, b)) for a, others in enumerate(near.tolist()) for b in others}
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def _left(variance: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    """Variance of every gene that its loadings leave."""
    return np.asarray(np.maximum(variance - (loadings**2).sum(axis=1), 0.0))


def _whitening(covariance: np.ndarray) -> np.ndarray:
    """Axes that bring a covariance to unit variance, those without any left out."""
    variances, axes = np.linalg.eigh(covariance)
    kept = variances > 1e-9 * variances.max(initial=0.0)
    return np.asarray(axes[:, kept] / np.sqrt(variances[kept]))
