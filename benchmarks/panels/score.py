"""The evaluator of Spapros on a set of genes: what its authors report, and their combined score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from benchmarks.harness.peers import Missing
from benchmarks.panels.cells import TYPES, read

METRICS = ["cluster_similarity", "knn_overlap", "forest_clfs", "gene_corr"]
# Its names for what it measures, and ours.
FIELDS = {
    "forest_clfs accuracy": "accuracy",
    "forest_clfs perct acc > 0.8": "types_above",
    "knn_overlap mean_overlap_AUC": "neighbours",
    "cluster_similarity nmi_5_20": "nmi_coarse",
    "cluster_similarity nmi_21_60": "nmi_fine",
    "gene_corr 1 - mean": "uncorrelated",
}


@cache
def evaluator(data: str, n_cells: int) -> Any:
    """One for a data set, so that what it does to all genes it does once."""
    try:
        import spapros
    except ImportError:
        raise Missing("spapros is not installed, whose evaluator scores the panels") from None
    adata = read(data, n_cells).copy()
    return spapros.ev.ProbesetEvaluator(
        adata, celltype_key=TYPES, results_dir=None, scheme="custom", metrics=METRICS, verbosity=0, n_jobs=1
    )


def scored(data: str, n_cells: int, genes: Sequence[str], name: str) -> dict[str, float]:
    """The scores of a panel."""
    judge = evaluator(data, n_cells)
    judge.evaluate_probeset(list(genes), set_id=name)
    found = {ours: float(judge.summary_results.loc[name, theirs]) for theirs, ours in FIELDS.items()}
    return combined(found)


def combined(parts: dict[str, float]) -> dict[str, float]:
    """The parts, how well types are recognised, how much of the variation is kept, and the mean of these two."""
    types = (parts["accuracy"] + parts["types_above"]) / 2
    variation = (parts["neighbours"] + parts["nmi_coarse"] + parts["nmi_fine"]) / 3
    return parts | {"types": types, "variation": variation, "score": (types + variation) / 2}
