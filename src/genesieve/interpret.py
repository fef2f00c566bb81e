"""What programs mean, on plain arrays: z-scores, biclusters, panels, outliers and near duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from genesieve.core.blocks import Blocks
from genesieve.core.constraints import row_gains
from genesieve.core.nnls import nnls
from genesieve.core.objective import gram_of
from genesieve.core.streamed import as_source

Z_THRESHOLD = 1.5
"""Of a bicluster's genes, as the paper has it on Pollen."""

# Programs of logged data share their housekeeping genes: on six real data sets, without a penalty, the most alike two
# had a cosine of at most 0.95. Above this they say the same thing.
DUPLICATE_COSINE = 0.97

# The outlier rule. Low cells have at most this share of the typical cell's usage: over 100 seeds the paper's
# outliers have 0.68 to 0.77 of it, and the lower half of cells without outliers has 0.83 to 0.90.
OUTLIER_RATIO = 0.8
# And the two groups stand this far apart, in standard deviations within them: one Gaussian cut in two has 2.65.
OUTLIER_SEPARATION = 3.0
# Outliers are the exception; a low group larger than this is a part of the data.
OUTLIER_SHARE = 0.5

# A panel's genes are worth their signal over their noise; no gene has less noise than this share of the mean gene's.
LEAST_NOISE = 0.01
# What is known of the usages before any gene is measured, relative to a gene whose signal equals its noise.
PRIOR_INFORMATION = 0.01


# ------------------------------------------------------------------------------------------------ genes


def selected_genes(W: np.ndarray) -> np.ndarray:
    """Mask of the genes that carry a weight in any program."""
    return np.asarray((W != 0).any(axis=1))


def z_scores(W: np.ndarray) -> np.ndarray:
    """Z-scores of the weights (genes, rank) of each program over the selected genes, 0 elsewhere; sd with n - 1."""
    W = np.asarray(W, dtype=np.float64)
    selected = selected_genes(W)
    scores = np.zeros(W.shape)
    if np.count_nonzero(selected) < 2:
        return scores
    chosen = W[selected]
    spread = chosen.std(axis=0, ddof=1)
    scores[selected] = (chosen - chosen.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scores


def specificity(W: np.ndarray) -> np.ndarray:
    """Share of each program in a gene's weight (genes, rank), with every program's gene vector at unit length."""
    unit = normalize(np.asarray(W, dtype=np.float64), axis=0)
    total = unit.sum(axis=1, keepdims=True)
    return unit / np.where(total > 0, total, 1.0)


def marker_scores(W: np.ndarray) -> np.ndarray:
    """Weight times specificity (genes, rank): large for genes that weigh much in one program and little in others."""
    return np.asarray(W, dtype=np.float64) * specificity(W)


def bicluster_genes(W: np.ndarray, *, threshold: float = Z_THRESHOLD) -> np.ndarray:
    """Mask (genes, rank) of the genes of each bicluster: selected, with a z-score above the threshold."""
    return (z_scores(W) > threshold) & selected_genes(W)[:, None]


def near_duplicates(W: np.ndarray, *, cosine: float = DUPLICATE_COSINE) -> list[tuple[int, int, float]]:
    """Pairs of programs whose gene vectors have a cosine above the given one, with it."""
    unit = normalize(np.asarray(W, dtype=np.float64), axis=0)
    cosines = np.triu(unit.T @ unit, k=1)
    return [(int(a), int(b), float(cosines[a, b])) for a, b in np.argwhere(cosines > cosine)]


# ------------------------------------------------------------------------------------------------ panels


def gene_model(X: Any, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best weights W (genes, rank) of every gene given H, and the mean squared residual of every gene."""
    H = np.asarray(H, dtype=np.float64)
    gram = gram_of(H)
    cross, squares = Blocks(as_source(X)).gene_products(H)
    W = nnls(gram, cross, np.zeros_like(cross))
    return W, np.maximum(squares - row_gains(gram, cross, W), 0.0) / len(H)


def choose_panel(
    W: np.ndarray, noise: np.ndarray, usage: np.ndarray, *, n_genes: int, required: np.ndarray | None = None
) -> np.ndarray:
    """Genes that together determine the usages of a cell best, in the order of choice.

    Greedy D-optimal design: each gene adds ``v v^T`` to the information on the usages, ``v`` being its weights times
    the programs' typical ``usage`` (rank,) over its noise, and the next gene is the one that raises the determinant
    most. ``required`` genes are chosen first. The first k genes of a panel are the panel of size k.
    """
    floor = LEAST_NOISE * noise.mean()
    signal = W * usage / np.sqrt(np.maximum(noise, floor if floor > 0 else 1.0))[:, None]  # (genes, rank)
    uncertainty = np.eye(W.shape[1]) / PRIOR_INFORMATION
    first = np.zeros(len(W), dtype=bool) if required is None else required
    free, chosen = np.ones(len(W), dtype=bool), np.empty(n_genes, dtype=np.int64)
    for place in range(n_genes):
        allowed = free & first if (free & first).any() else free
        gains = ((signal @ uncertainty) * signal).sum(axis=1)
        best = int(np.argmax(np.where(allowed, gains, -1.0)))
        step = uncertainty @ signal[best]
        uncertainty -= np.outer(step, step) / (1.0 + signal[best] @ step)  # Sherman and Morrison
        free[best], chosen[place] = False, best
    return chosen


# ------------------------------------------------------------------------------------------------ cells


@dataclass(frozen=True)
class Outliers:
    """Cells that use no program much."""

    flagged: np.ndarray  # (cells,), bool
    usage: np.ndarray  # (cells,), length of the fitted expression
    score: np.ndarray  # (cells,), 1 - usage / typical
    typical: float  # geometric mean of the other cells' usage
    ratio: float  # of the low group's geometric mean to the high group's
    separation: float  # between the groups, in standard deviations within them


def find_outliers(
    H: np.ndarray,
    gene_gram: np.ndarray,
    *,
    max_ratio: float = OUTLIER_RATIO,
    min_separation: float = OUTLIER_SEPARATION,
) -> Outliers:
    """Cells that use little of all programs, if they form a group of their own.

    A cell's usage is the length of its fitted expression ``h W^T``, from ``gene_gram = W^T W``. The logarithms are
    cut in two where the groups differ most (exact 2-means on a line). The low group is flagged if it holds less than
    half of the cells, its geometric mean is at most ``max_ratio`` of the high group's, and the means differ by at
    least ``min_separation`` standard deviations within the groups. Cells without any usage are always flagged.
    """
    H = np.asarray(H, dtype=np.float64)
    usage = np.sqrt(np.maximum(np.einsum("ij,ij->i", H @ gene_gram, H), 0.0))
    flagged = usage <= 0
    ratio, separation = 1.0, 0.0
    logs = np.log(usage[~flagged])
    if len(np.unique(logs)) > 1:
        low = _lower_group(logs)
        gap, within = logs[~low].mean() - logs[low].mean(), _spread_within(logs, low)
        ratio, separation = float(np.exp(-gap)), float(gap / within) if within > 0 else np.inf
        found = ratio <= max_ratio and separation >= min_separation and low.mean() < OUTLIER_SHARE
        flagged[~flagged] = low & found
    typical = float(np.exp(np.log(usage[~flagged]).mean())) if not flagged.all() else 0.0
    score = 1.0 - usage / typical if typical > 0 else np.ones(len(usage))
    return Outliers(flagged, usage, score, typical, ratio, separation)


def _lower_group(values: np.ndarray) -> np.ndarray:
    """Mask of the lower group of the cut with the largest sum of squares between the groups."""
    ordered = np.sort(values)
    below = np.arange(1, len(ordered))  # cells below the cut, for every cut
    above = len(ordered) - below
    sums = np.cumsum(ordered)[:-1]
    between = below * above * (sums / below - (ordered.sum() - sums) / above) ** 2
    between[ordered[1:] == ordered[:-1]] = -1.0  # equals stay together
    return values <= ordered[np.argmax(between)]


def _spread_within(values: np.ndarray, low: np.ndarray) -> float:
    """Pooled standard deviation of the two groups; 0 where there is none to speak of."""
    squares = sum(((group - group.mean()) ** 2).sum() for group in (values[low], values[~low]))
    return float(np.sqrt(squares / max(len(values) - 2, 1)))
