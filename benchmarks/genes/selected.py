"""Selected genes judged: how many are truly raised in some program, and how much of known types they keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.genes.planted import draw
from benchmarks.genes.selectors import SELECTORS
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Record
from benchmarks.quality.cells import Labelled, prepared
from benchmarks.quality.data import load
from benchmarks.quality.genes import Pick, judge

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
    counts = [{"k": k, **right(raised, genes)} for k, genes in picked(pick, COUNTS, adata.n_vars)]
    return {"counts": counts, "n_raised": int(raised.sum()), "shape": list(adata.shape), "versions": versions}


def on_labelled(data: str, selector: str, seed: int) -> Record:
    """The two measures of benchmarks/quality at every k that leaves a choice."""
    versions, labelled = SELECTORS[selector].versions(), load(data)
    pick = SELECTORS[selector].run(labelled.cells, labelled.n_classes, seed)
    chosen = picked(pick, LABELLED_COUNTS, labelled.cells.X.shape[1])
    return {"counts": [{"k": k, **judge(labelled, genes, seed)} for k, genes in chosen], "versions": versions}


def picked(pick: Pick, counts: tuple[int, ...], n_genes: int) -> Iterator[tuple[int, np.ndarray]]:
    """Genes at every count that leaves a choice and that the selector is made for."""
    for k in counts:
        if k < n_genes:
            with suppress(Missing):
                yield k, pick(k)


def right(raised: np.ndarray, genes: np.ndarray) -> dict[str, float]:
    """The share of some genes that is raised, and the share of the raised genes that is among them."""
    found = float(raised[genes].sum())
    return {"precision": found / len(genes), "recall": found / raised.sum()}


@lru_cache(maxsize=1)
def drawn(level: str, seed: int, size: tuple[tuple[str, Any], ...]) -> tuple[AnnData, Labelled]:
    """Counts with their truth, prepared; the selectors of one process share them."""
    adata = draw(level, seed, dict(size))
    return adata, prepared(adata, adata.obs["cell_type"].astype(str).to_numpy())
