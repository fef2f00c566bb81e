"""Selected genes judged: how many are truly raised in some program, and how much of known types they keep."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.genes.planted import draw
from benchmarks.genes.selectors import SELECTORS
from benchmarks.harness.results import Record
from benchmarks.quality.cells import Labelled, prepared
from benchmarks.quality.data import load
from benchmarks.quality.genes import judge

if TYPE_CHECKING:
    from anndata import AnnData

COUNTS = (50, 100, 200, 500, 1000, 2000, 4000)
LABELLED_COUNTS = COUNTS[:-1]


def on_planted(level: str, selector: str, seed: int, size: dict[str, Any]) -> Record:
    """Precision and recall of k genes of one draw, at every k that leaves a choice."""
    versions = SELECTORS[selector].versions()
    adata, labelled = drawn(level, seed, tuple(size.items()))
    raised = np.asarray(adata.varm["true_raised"]).any(axis=1)
    rank = adata.obsm["true_usages"].shape[1]
    pick = SELECTORS[selector].run(labelled.cells, rank, seed)
    counts = [{"k": k, **right(raised, pick(k))} for k in COUNTS if k < adata.n_vars]
    return {"counts": counts, "n_raised": int(raised.sum()), "shape": list(adata.shape), "versions": versions}


def on_labelled(data: str, selector: str, seed: int) -> Record:
    """The two measures of benchmarks/quality at every k that leaves a choice."""
    versions, labelled = SELECTORS[selector].versions(), load(data)
    pick = SELECTORS[selector].run(labelled.cells, labelled.n_classes, seed)
    counts = [k for k in LABELLED_COUNTS if k < labelled.cells.X.shape[1]]
    return {"counts": [{"k": k, **judge(labelled, pick(k), seed)} for k in counts], "versions": versions}


def right(raised: np.ndarray, genes: np.ndarray) -> dict[str, float]:
    """The share of some genes that is raised, and the share of the raised genes that is among them."""
    found = float(raised[genes].sum())
    return {"precision": found / len(genes), "recall": found / raised.sum()}


@lru_cache(maxsize=1)
def drawn(level: str, seed: int, size: tuple[tuple[str, Any], ...]) -> tuple[AnnData, Labelled]:
    """Counts with their truth, prepared; the selectors of one process share them."""
    adata = draw(level, seed, dict(size))
    return adata, prepared(adata, adata.obs["cell_type"].astype(str).to_numpy())
