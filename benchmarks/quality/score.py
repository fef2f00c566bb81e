"""The one scorer of clusters: agreement with the classes, and agreement of runs with each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np


@dataclass(frozen=True)
class Score:
    """How well clusters agree with classes."""

    nmi: float  # geometric mean of the two entropies
    ari: float
    purity: float
    entropy: float  # of the classes inside a cluster; 0 is pure
    n_clusters: int  # that hold cells


def score(classes: np.ndarray, labels: np.ndarray) -> Score:
    """Score one labelling; names of clusters do not matter."""
    from sklearn.metrics import adjusted_rand_score

    from genesieve import metrics

    return Score(
        nmi=metrics.nmi(classes, labels),
        ari=float(adjusted_rand_score(classes, labels)),
        purity=metrics.purity(classes, labels),
        entropy=metrics.entropy(classes, labels),
        n_clusters=len(np.unique(labels)),
    )


def stability(labellings: list[np.ndarray]) -> float | None:
    """Mean adjusted Rand index of all pairs of runs, 1 where they agree; ``None`` for a single run."""
    from sklearn.metrics import adjusted_rand_score

    pairs = [float(adjusted_rand_score(one, other)) for one, other in combinations(labellings, 2)]
    return float(np.mean(pairs)) if pairs else None
