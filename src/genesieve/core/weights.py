"""Gene weights: by variation, for a factorisation, and those of sparse k-means, by how a gene tells clusters apart."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genesieve.core.constraints import largest

Vector = NDArray[np.float64]

# Added to a gene's mean, as a share of the mean of all genes: keeps the noise of hardly seen genes small. Where gains
# are counted from zero the weights have to take the mean out of them, and a small share does so best; where they are
# counted from the mean they need not, and labels and planted programs are better with a larger one.
MEAN_OFFSET = {"zero": 0.1, "mean": 0.5}
# Weights are at least this share of the largest, so that they can be undone: a gene that never varies gets it.
LEAST_WEIGHT = 1e-3
# Where genes are to vary alike, the least standard deviation of a gene that is made up for, as a share of the mean of
# all genes: one that hardly any cell shows would count as much as a marker of a type.
LEAST_SPREAD = 0.1


def variation_weights(mean: Vector, variance: Vector, *, baseline: str = "zero") -> Vector:
    """The coefficient of variation of every gene, scaled to a largest of one, for a fit with that baseline.

    A squared error sees the square of a gene's mean first, which every program shares; under these weights that share
    is about the gene's variance. So a budget of genes goes to those that vary, not to those that are abundant.
    """
    if not mean.any():
        return np.ones_like(mean)
    weights = np.sqrt(variance) / (mean + MEAN_OFFSET[baseline] * mean.mean())
    return np.maximum(weights / weights.max(), LEAST_WEIGHT) if weights.any() else np.ones_like(mean)


def even_weights(variance: Vector) -> Vector:
    """Weights under which all genes vary alike; genes that hardly vary beside the others, or never, stay below them."""
    spread = np.sqrt(variance)
    level = np.maximum(spread, LEAST_SPREAD * spread.mean())
    return np.divide(1.0, level, out=np.zeros_like(level), where=level > 0)


def dispersion(X: Any, labels: ArrayLike) -> Vector:
    """Between-cluster sum of squares of every gene, ``sum_c n_c (mean_c - mean)^2``, from the sums of clusters alone.

    ``labels`` (cells,) is the cluster of every cell of X (cells, genes), dense or sparse.
    """
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    sums, sizes = cluster_sums(X, codes, len(names))
    overall = sums.sum(axis=0) / sizes.sum()
    return np.asarray(sizes @ (sums / sizes[:, None] - overall) ** 2)


def l0_weights(dispersion: ArrayLike, n_genes: int) -> Vector:
    """Weight 1 for the ``n_genes`` genes with the largest dispersion, of equals the earlier, 0 for the rest."""
    return largest(np.asarray(dispersion, dtype=np.float64), n_genes).astype(np.float64)


def l1_weights(dispersion: ArrayLike, bound: float) -> Vector:
    """Non-negative weights that maximise ``w @ dispersion`` with ``||w||_2 <= 1`` and ``||w||_1 <= bound``.

    The maximiser is the dispersion with a threshold taken off, cut at 0 and scaled to unit norm. The threshold is found
    without iteration: the sum of weights falls as it rises, so a binary search over the sorted values tells which
    genes stay, and with those it is the root of a quadratic. Where at least ``bound**2`` genes share the largest
    dispersion no threshold is high enough, and those genes share the bound evenly. Negative dispersions get no weight;
    ``bound`` is at least 1.
    """
    gains = np.maximum(np.asarray(dispersion, dtype=np.float64), 0.0)
    bound = min(bound, math.sqrt(len(gains)))  # more has no effect
    top = gains.max()
    leaders = gains == top
    ties = np.count_nonzero(leaders)
    if top == 0.0 or bound**2 <= ties:
        return np.where(leaders, min(bound / ties, ties**-0.5), 0.0)
    gaps = (top - gains) / top  # to the leader: near ties keep their digits, squares neither overflow nor vanish
    excess = np.maximum(_depth(gaps, bound) - gaps, 0.0)
    return np.asarray(excess / np.linalg.norm(excess))


def _depth(gaps: Vector, bound: float) -> float:
    """How far below the leader the threshold lies: as deep as the bound allows, at most 1, which is no threshold."""
    levels = np.append(np.sort(gaps), 1.0)  # between two neighbours the same genes stay

    def over(count: int) -> bool:
        # a sum above the bound needs more than bound^2 genes; saying so keeps rounding from pretending otherwise
        excess = levels[count] - levels[:count]
        return count > bound**2 and bool(excess.sum() > bound * np.linalg.norm(excess))

    count = bisect_left(range(len(levels)), True, key=over)
    if count == len(levels):
        return 1.0
    stay = levels[:count]
    spread = ((stay - stay.mean()) ** 2).sum()
    total = bound * math.sqrt(spread / (1.0 - bound**2 / count))  # sum of the excess at which sum = bound * norm
    return float(min(stay.mean() + total / count, levels[count]))


def cluster_sums(X: Any, labels: NDArray[Any], n_clusters: int) -> tuple[Vector, Vector]:
    """Sum (clusters, genes) and size (clusters,) of every cluster."""
    members = np.equal.outer(np.arange(n_clusters), labels)  # (clusters, cells)
    sums = np.asarray(members.astype(X.dtype) @ X, dtype=np.float64)  # (clusters, genes)
    return sums, members.sum(axis=1).astype(np.float64)
