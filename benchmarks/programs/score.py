"""The one scorer: from usages and the truth of a draw to what was recovered of every program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import false_discovery_control, rankdata

from benchmarks.harness.results import Record

if TYPE_CHECKING:
    from anndata import AnnData

LEVELS = ("easy", "medium", "hard", "faint")
KINDS = ("identity", "activity")
LOST = 0.5  # a program whose usages correlate less than this with the true ones is lost
ALIKE = 0.8  # spectra that correlate more than this are recovered
RATE = 0.05  # of false discoveries


def shares(usages: np.ndarray) -> np.ndarray:
    """Usages as shares of a cell."""
    return usages / np.maximum(usages.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def matched(usages: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The program most like each true one, each taken once, and the correlation of their usages."""
    rank = true.shape[1]
    alike = np.nan_to_num(np.corrcoef(true.T, shares(usages).T)[:rank, rank:])
    order = linear_sum_assignment(-alike)[1]
    return order, alike[np.arange(rank), order]


def judged(adata: AnnData, usages: np.ndarray) -> Record:
    """Means over the programs of a kind, and what is worst; spectra and genes follow from usages alike for everyone."""
    from genesieve.interpret.scores import score_genes

    true, kinds = np.asarray(adata.obsm["true_usages"]), np.asarray(adata.uns["programs"]["kind"])
    order, usage_r = matched(usages, true)
    found = shares(usages)[:, order]
    spectrum_r = spectra_alike(adata, found)
    p_value = score_genes(adata.X, usages[:, order]).p_value
    passed = false_discovery_control(p_value, axis=0) <= RATE
    raised = np.asarray(adata.varm["true_raised"])
    each = {
        "usage_r": usage_r,
        "classified": classified(found, true),
        "spectrum_r": spectrum_r,
        "spectrum_found": spectrum_r > ALIKE,
        "sensitivity": sensitivity(p_value, raised),
        "passed": (passed & raised).sum(axis=0) / np.maximum(raised.sum(axis=0), 1),
        "false": (passed & ~raised).sum(axis=0) / np.maximum(passed.sum(axis=0), 1),
    }
    means = {kind: {name: float(np.mean(values[kinds == kind])) for name, values in each.items()} for kind in KINDS}
    return {**means, "worst": float(usage_r.min()), "lost": int((usage_r < LOST).sum()), "usage_r": usage_r.tolist()}


def classified(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The chance that a cell with the program has a larger share of it than one without (AUROC), program by program."""
    has = true > 0
    ranks = rankdata(found, axis=0)
    n_with, n_without = has.sum(axis=0), (~has).sum(axis=0)
    above = (ranks * has).sum(axis=0) - n_with * (n_with + 1) / 2
    return np.asarray(above / np.maximum(n_with * n_without, 1))


def sensitivity(p_value: np.ndarray, raised: np.ndarray, rate: float = RATE) -> np.ndarray:
    """The share of a program's raised genes among its leading ones, as many as hold ``rate`` of false ones at most."""
    right = np.take_along_axis(raised, np.argsort(p_value, axis=0, kind="stable"), axis=0).cumsum(axis=0)
    taken = np.arange(1, len(p_value) + 1)[:, None]
    found = np.where(taken - right <= rate * taken, right, 0).max(axis=0)
    return np.asarray(found / np.maximum(raised.sum(axis=0), 1))


def spectra_alike(adata: AnnData, usage_shares: np.ndarray) -> np.ndarray:
    """Correlation of every program's spectrum with the true one, both less the mean of all programs.

    The spectrum is what least squares makes of counts at one depth, given the usages.
    """
    counts = adata.layers["raw"]
    depth = np.asarray(counts.sum(axis=1)).ravel()
    products = np.asarray((counts.T @ (usage_shares / np.maximum(depth, 1)[:, None])), dtype=np.float64)
    spectra = products @ np.linalg.pinv(usage_shares.T @ usage_shares)  # (genes, rank)
    true = np.asarray(adata.varm["true_spectra"])
    pairs = zip(
        (spectra - spectra.mean(axis=1, keepdims=True)).T, (true - true.mean(axis=1, keepdims=True)).T, strict=True
    )
    return np.array([np.nan_to_num(np.corrcoef(one, other)[0, 1]) for one, other in pairs])
