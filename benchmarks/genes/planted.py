"""Gene scores on counts with known programs: how well they rank the raised genes, and whether their cut is honest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import false_discovery_control

from benchmarks.genes.oracle import likelihood_ratios
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Record

if TYPE_CHECKING:
    from anndata import AnnData

LEVELS = ("easy", "medium", "hard", "faint")
KINDS = ("identity", "activity")
N_GENES = 1000  # the budget of the fit
# Of a preset, what its paper has: the share of cells that show a gene that is kept, and the genes of a fit.
PAPERS = {"cnmf": (1 / 500, 2000)}

OFTEN = 0.05  # the share of cells that show a gene that is often seen
RATES = (0.05, 0.10)
BEST = 50  # genes that a reader looks at


def measure(level: str, seed: int, size: dict[str, Any]) -> Record:
    """Scores of a fit of one draw, under every definition, beside those from the true usages."""
    import genesieve as gs
    from genesieve.interpret.scores import cnmf_scores, score_genes

    adata = draw(level, seed, size)
    seen, n_genes = PAPERS.get(size.get("preset", ""), (None, N_GENES))
    gs.pp.prepare(adata, min_cells=seen)
    rank = adata.obsm["true_usages"].shape[1]
    gs.tl.ssnmf(adata, rank, min(n_genes, adata.n_vars), random_state=seed)
    order = matched(adata.obsm["X_ssnmf"], adata.obsm["true_usages"])
    gs.tl.gene_scores(adata)
    truth = score_genes(adata.X, adata.obsm["true_usages"])
    found = {
        "regression": (adata.varm["ssnmf_scores"][:, order], adata.varm["ssnmf_score_p_values"][:, order]),
        "true_usages": (truth.score, truth.p_value),
        "cnmf": (cnmf_scores(adata.X, adata.obsm["X_ssnmf"], log_base=np.e)[:, order], None),
        "weight": (adata.varm["ssnmf"][:, order], None),
    }
    if "preset" not in size:  # which has too many values
        found["oracle"] = (likelihood_ratios(adata, level, seed, size), None)
    scored = {name: judged(adata, *scores) for name, scores in found.items()}
    selected = adata.var["ssnmf_selected"].to_numpy()
    raised = np.asarray(adata.varm["true_raised"]).any(axis=1)
    return {"scores": scored, "selected_right": float(raised[selected].mean()), "shape": list(adata.shape)}


def draw(level: str, seed: int, size: dict[str, Any]) -> AnnData:
    """Counts with their truth."""
    import genesieve as gs

    if not hasattr(gs.datasets, "programs"):
        raise Missing("this version of genesieve draws no programs")
    return gs.datasets.programs(level, random_state=seed, **size)


def matched(usages: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The program that is most like each true one, each taken once."""
    from scipy.optimize import linear_sum_assignment

    shares = usages / np.maximum(usages.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    rank = usages.shape[1]
    alike = np.nan_to_num(np.corrcoef(true.T, shares.T)[:rank, rank:])
    return linear_sum_assignment(-alike)[1]


def judged(adata: AnnData, scores: np.ndarray, p_values: np.ndarray | None) -> Record:
    """Means over the programs of a kind."""
    raised = np.asarray(adata.varm["true_raised"])
    often = np.asarray((adata.X > 0).mean(axis=0)).ravel() >= OFTEN
    each = [judged_program(raised[:, k], scores[:, k], often) for k in range(raised.shape[1])]
    if p_values is not None:
        for k, record in enumerate(each):
            record |= judged_cut(raised[:, k], p_values[:, k])
    kinds = np.asarray(adata.uns["programs"]["kind"])
    return {
        kind: {name: float(np.mean([each[k][name] for k in np.flatnonzero(kinds == kind)])) for name in each[0]}
        for kind in KINDS
    }


def judged_program(raised: np.ndarray, scores: np.ndarray, often: np.ndarray) -> dict[str, float]:
    """How well scores rank the raised genes of a program."""
    from sklearn.metrics import average_precision_score

    return {
        "precision": float(average_precision_score(raised, scores)),
        "precision_often": float(average_precision_score(raised[often], scores[often])),
        "best_right": float(raised[np.argsort(-scores)[:BEST]].mean()),
    }


def judged_cut(raised: np.ndarray, p_values: np.ndarray) -> dict[str, float]:
    """What passes a false discovery rate: the share that is false, and the share of the raised genes that is found."""
    adjusted, found = false_discovery_control(p_values), {}
    for rate in RATES:
        passed = adjusted <= rate
        found[f"false_{rate:g}"] = float((passed & ~raised).sum() / max(passed.sum(), 1))
        found[f"sensitivity_{rate:g}"] = float((passed & raised).sum() / raised.sum())
    return found
