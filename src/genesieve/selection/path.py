"""One number of programs, many budgets of genes: each fit sets out from the one with the next larger budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from genesieve.metrics import nmi

# Budgets of a path, evenly spaced by their logarithm from the number of programs or so to all genes.
N_BUDGETS = 8
LEAST_GENES_EACH = 5  # a program, at the small end


class Fitted(NamedTuple):
    """A fit as a path needs it."""

    H: np.ndarray  # (cells, rank)
    W: np.ndarray  # (genes, rank)
    labels: np.ndarray  # (cells,)
    explained: float


def budgets_for(rank: int, n_genes: int) -> list[int]:
    """A range of budgets for so many genes."""
    least = min(LEAST_GENES_EACH * rank, n_genes)
    return sorted({round(budget) for budget in np.geomspace(least, n_genes, N_BUDGETS)})


def path(fit: Callable[[int, Any], Fitted], budgets: Sequence[int]) -> dict[str, np.ndarray]:
    """A table with a row for each budget; ``fit`` takes a budget and where to set out from.

    ``labels_kept`` is how far labels agree with those of the largest budget, ``genes_kept`` the share of the genes that
    were in the next larger budget, too.
    """
    start: Any = "nmf"
    rows, first, last = [], None, None
    for budget in sorted(budgets, reverse=True):
        found = fit(budget, start)
        used = found.W.any(axis=1)
        first = found.labels if first is None else first
        kept = 1.0 if last is None else float((used & last).sum() / max(used.sum(), 1))
        rows.append((budget, found.explained, float(nmi(first, found.labels)), kept))
        start, last = (found.H, found.W), used
    columns = ("n_genes", "explained", "labels_kept", "genes_kept")
    return {name: np.array(column)[::-1] for name, column in zip(columns, zip(*rows, strict=True), strict=True)}
