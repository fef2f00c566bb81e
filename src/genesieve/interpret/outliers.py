"""Outliers: cells that use no program much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# The outlier rule. Low cells have at most this share of the typical cell's usage: over 100 seeds the paper's
# outliers have 0.68 to 0.77 of it, and the lower half of cells without outliers has 0.83 to 0.90.
OUTLIER_RATIO = 0.8
# And the two groups stand this far apart, in standard deviations within them: one Gaussian cut in two has 2.65.
OUTLIER_SEPARATION = 3.0
# Outliers are the exception; a low group of more cells, and of a larger share, is a part of the data: in real ones, a
# type that expresses less than the others. The paper's set has 20 outliers among its 60 cells; up to 26 are low.
OUTLIER_CELLS = 30
OUTLIER_SHARE = 0.05
# Noise agrees on no program: over 50 seeds at most 0.82 of the paper's outliers share the one that they use most. Where
# more do, they are a type or a batch that expresses less (Goolam: 16 of 17 low cells are of one stage); of so few cells
# it says nothing.
OUTLIER_AGREEMENT = 0.9
FEWEST_TO_AGREE = 10


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
    cut in two where the groups differ most (exact 2-means on a line). The low group is flagged if it is the exception
    (at most 30 cells or 5 % of them, and less than half) and no type of its own (ten cells or more of which over 90 %
    use the same program most, where there are several), its geometric mean is at most ``max_ratio`` of the high
    group's, and the means differ by at least ``min_separation`` standard deviations within the groups. Cells without
    any usage are always flagged.
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
        few = low.sum() <= max(OUTLIER_CELLS, OUTLIER_SHARE * len(low)) and low.mean() < 0.5
        apart = ratio <= max_ratio and separation >= min_separation
        parts = H[~flagged] * np.sqrt(np.diag(gene_gram))  # of every program, in any gauge
        found = few and apart and not _agree(parts[low])
        flagged[~flagged] = low & found
    typical = float(np.exp(np.log(usage[~flagged]).mean())) if not flagged.all() else 0.0
    score = 1.0 - usage / typical if typical > 0 else np.ones(len(usage))
    return Outliers(flagged, usage, score, typical, ratio, separation)


def _agree(parts: np.ndarray) -> bool:
    """Whether cells use one program most, by its part (cells, rank) in them: then they are a group, no outliers."""
    if len(parts) < FEWEST_TO_AGREE or parts.shape[1] < 2:
        return False
    return bool(np.bincount(parts.argmax(axis=1)).max() > OUTLIER_AGREEMENT * len(parts))


def _lower_group(values: np.ndarray) -> np.ndarray:
    """Mask of the lower group of the cut with the largest sum of squares between the groups."""
    ordered = np.sort(values)
    below = np.arange(1, len(ordered))  # cells below the cut, for every cut
    above = len(ordered) - below
    sums = np.cumsum(ordered)[:-1]
    between = below * above * (sums / below - (ordered.sum() - sums) / above) ** 2
    between[ordered[1:] == ordered[:-1]] = -1.0  # equals stay together
    return np.asarray(values <= ordered[np.argmax(between)])


def _spread_within(values: np.ndarray, low: np.ndarray) -> float:
    """Pooled standard deviation of the two groups; 0 where there is none to speak of."""
    squares = sum(((group - group.mean()) ** 2).sum() for group in (values[low], values[~low]))
    return float(np.sqrt(squares / max(len(values) - 2, 1)))
