"""Targeted panels: the genes that together determine the usages of a cell best."""

from __future__ import annotations

from typing import Any

import numpy as np

from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.streamed import as_source
from genesieve.core.constraints import row_gains
from genesieve.core.nnls import nnls
from genesieve.core.objective import gram_of

# A panel's genes are worth their signal over their noise; no gene has less noise than this share of the mean gene's.
LEAST_NOISE = 0.01
# What is known of the usages before any gene is measured, relative to a gene whose signal equals its noise.
PRIOR_INFORMATION = 0.01


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
