"""Programs that samples share, by method: how many of the planted ones are found, and whether any are merged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.harness.results import Record
from benchmarks.samples.peers import PEERS
from benchmarks.samples.simulate import Design, draw

if TYPE_CHECKING:
    from anndata import AnnData

MIN_CELLS = 0.005  # genes seen in a smaller share of the cells are dropped
FOUND = 0.6  # the least cosine of a program with the planted one that it is
MERGED = 0.5  # a second planted program with this share of the first one's part makes a merge


class Programs(NamedTuple):
    """What a method finds."""

    profiles: np.ndarray  # (programs, genes), not negative: how far genes are raised
    n_samples: np.ndarray  # (programs,): samples that have each


def measure(what: str, seed: int, design: Design, budget: int, ranks: tuple[int, ...]) -> Record:
    """Precision and recall of a method on one draw."""
    adata = draw(design, seed)
    import genesieve as gs

    gs.pp.prepare(adata, min_cells=MIN_CELLS)
    versions = PEERS[what].versions()
    began = time.perf_counter()
    found = PEERS[what].run(adata, budget, ranks, seed)
    seconds = time.perf_counter() - began
    return {**judged(adata, Programs(*found)), "seconds": seconds, "versions": versions, "shape": list(adata.shape)}


def true_profiles(adata: AnnData) -> np.ndarray:
    """How far programs raise genes (programs, genes), by the logarithm of their spectra over the typical one."""
    spectra = np.log(np.maximum(np.asarray(adata.varm["true_spectra"]), 1e-12))
    above = np.maximum(spectra - np.median(spectra, axis=1, keepdims=True), 0.0)
    raised = np.where(np.asarray(adata.varm["true_raised"]), above, 0.0) * seen(adata)[:, None]
    return unit(raised.T)


def seen(adata: AnnData) -> np.ndarray:
    """The share of cells that show each gene: what hardly any cell shows no method can find."""
    return np.asarray((adata.X > 0).mean(axis=0)).ravel()


def judged(adata: AnnData, found: Programs) -> Record:
    """Right, missing and merged programs among those that two samples or more share."""
    truth, shared = true_profiles(adata), set(np.asarray(adata.uns["programs"]["shared"]).tolist())
    profiles = unit(found.profiles[found.n_samples >= 2])
    matches, merges = [], 0
    for profile in profiles:
        parts = nnls(truth.T, profile)[0]
        order = np.argsort(-parts)
        merged = parts[order[1]] > MERGED * parts[order[0]] and parts[order[0]] > 0
        merges += int(merged)
        matches.append(-1 if merged or truth[order[0]] @ profile < FOUND else int(order[0]))
    right = len(set(matches) & shared)
    false = len(profiles) - right
    return {
        "f1": 2 * right / max(2 * right + false + len(shared) - right, 1),
        "right": right,
        "false": false,
        "merged": merges,
        "n_shared": len(shared),
        "private_shared": len(set(matches) - shared - {-1}),
    }


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
