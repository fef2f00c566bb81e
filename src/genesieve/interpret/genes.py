"""Genes of programs, from their weights: selected ones, z-scores, specificity, markers and biclusters."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import normalize

Z_THRESHOLD = 1.5
"""Of a bicluster's genes, as the paper has it on Pollen."""


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
    if not len(W):
        return np.zeros(np.shape(W))  # scikit-learn refuses what has no rows
    unit = normalize(np.asarray(W, dtype=np.float64), axis=0)
    total = unit.sum(axis=1, keepdims=True)
    return np.asarray(unit / np.where(total > 0, total, 1.0))


def marker_scores(W: np.ndarray) -> np.ndarray:
    """Weight times specificity (genes, rank): large for genes that weigh much in one program and little in others."""
    return np.asarray(np.asarray(W, dtype=np.float64) * specificity(W))


def bicluster_genes(W: np.ndarray, *, threshold: float = Z_THRESHOLD) -> np.ndarray:
    """Mask (genes, rank) of the genes of each bicluster: selected, with a z-score above the threshold."""
    return np.asarray((z_scores(W) > threshold) & selected_genes(W)[:, None])
