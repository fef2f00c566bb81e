"""Tables of a fit, made here once for `genesieve.tl`, the files of a run and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from genesieve._slots.read import Fit, read_column, read_fit, read_projection
from genesieve.interpret.genes import marker_scores, specificity, z_scores
from genesieve.interpret.programs import flags

if TYPE_CHECKING:
    from anndata import AnnData

    from genesieve.interpret.genesets import Enrichment, RankedEnrichment

ALPHA = 0.05
"""Adjusted p-value up to which a gene set counts as enriched."""

FDR = 0.05
"""False discovery rate that markers are cut at."""

N_MARKERS = 20
TOP_NAMES = 10  # genes that the table of programs names of each


def significant(enrichment: pd.DataFrame, alpha: float = ALPHA) -> pd.DataFrame:
    """The tests of gene sets that share genes with a program and have an adjusted p-value of at most ``alpha``."""
    return enrichment[(enrichment["p_adjusted"] <= alpha) & (enrichment["overlap"] > 0)]


def gene_table(fit: Fit, members: np.ndarray) -> pd.DataFrame:
    """One row for every member (genes, rank), by program and falling weight."""
    W = fit.weights
    programs, genes = _rows(members, W)
    return pd.DataFrame(
        {
            "program": programs,
            "gene": fit.genes[genes],
            "weight": W[genes, programs].astype(np.float64),
            "z": z_scores(W)[genes, programs],
            "specificity": specificity(W)[genes, programs],
        }
    )


def marker_table(fit: Fit, n: int | None, fdr: float | None) -> pd.DataFrame:
    """One row a program and marker gene, by program and falling score."""
    members, p_values, p_adjusted = markers_of(fit, n, fdr)
    programs, genes = _rows(members, fit.scores)
    return pd.DataFrame(
        {
            "program": programs,
            "gene": fit.genes[genes],
            "score": fit.scores[genes, programs],
            "p_value": p_values[genes, programs],
            "p_adjusted": p_adjusted[genes, programs],
            "weight": fit.weights[genes, programs].astype(np.float64),
            "specificity": specificity(fit.weights)[genes, programs],
            "selected": fit.selected[genes],
        }
    )


def markers_of(fit: Fit, n: int | None, fdr: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mask (genes, rank) of the markers; p-values of all genes, and these adjusted, NaN where there are none."""
    scores, p_values = fit.scores, fit.score_p_values
    if p_values is None:
        unknown = np.full(scores.shape, np.nan)
        return leading(scores, n), unknown, unknown
    p_adjusted = false_discovery_control(p_values, axis=0)
    passed = p_adjusted <= (1.0 if fdr is None else fdr)
    return leading(np.where(passed, scores, 0.0), n), p_values, p_adjusted


def _rows(members: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Programs and genes of every member (genes, rank), by program and falling value."""
    programs, genes = np.nonzero(members.T)
    order = np.lexsort((-values[genes, programs], programs))
    return programs[order], genes[order]


def leading(scores: np.ndarray, n: int | None) -> np.ndarray:
    """Mask (genes, rank) of the ``n`` largest scores of every program, as far as they are above zero."""
    chosen = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(chosen, np.argsort(-scores, axis=0, kind="stable")[:n], True, axis=0)
    return chosen & (scores > 0)


def gene_scores(fit: Fit) -> np.ndarray:
    """How much every gene tells of every program (genes, rank).

    Where genes were not scored, those tell most that weigh much in it and little in others.
    """
    return fit.scores if fit.scored else marker_scores(fit.weights)


def marker_genes(fit: Fit, n: int = TOP_NAMES) -> list[list[str]]:
    """The genes of every program with the highest scores, first ones first."""
    scores = gene_scores(fit)
    order = np.argsort(-scores, axis=0, kind="stable")[:n].T  # (rank, n)
    return [fit.genes[genes[scores[genes, program] > 0]].tolist() for program, genes in enumerate(order)]


def genes_table(adata: AnnData, *, key: str = "ssnmf") -> pd.DataFrame:
    """One row a program and selected gene, largest weight first; rank 1 is the largest."""
    fit = read_fit(adata, key)
    table = gene_table(fit, np.tile(fit.selected[:, None], fit.rank))
    table.insert(3, "rank", np.tile(np.arange(1, fit.selected.sum() + 1), fit.rank))
    return table


def scores_table(adata: AnnData, *, key: str = "ssnmf") -> pd.DataFrame:
    """One row a gene of the object: its score in every program."""
    fit = read_fit(adata, key)
    scores = {f"score_{program}": column for program, column in enumerate(fit.scores.T)}
    return pd.DataFrame({"gene": fit.genes, "selected": fit.selected, **scores})


def programs_table(adata: AnnData, *, key: str = "ssnmf", known: str | None = None) -> pd.DataFrame:
    """One row a program: its cells, its genes and, where types are known, the most frequent one."""
    fit = read_fit(adata, key)
    markers, top, blocks = marker_genes(fit), fit.found("top_genes"), fit.found("biclusters")
    rows = []
    for program in range(fit.rank):
        members = fit.most_used == program
        genes = {
            "n_bicluster_genes": int((blocks["program"] == program).sum()),
            "marker_genes": ";".join(markers[program]),
            "top_genes": ";".join(top.loc[top["program"] == program, "gene"].astype(str)[:TOP_NAMES]),
        }
        name = {"name": fit.suggested_names[program]} if fit.has("annotation") else {}
        stability = {} if fit.stability is None else {"stability": float(fit.stability[program])}
        about = {"program": program, **name, **_sizes(members), **stability}
        rows.append({**about, **genes, **_mostly(adata, known, members)})
    return pd.DataFrame(rows).assign(flags=program_flags(fit))


def program_flags(fit: Fit) -> list[str]:
    """What to look at twice in every program, in words; nothing for most."""
    W = fit.weights if fit.gene_weights is None else fit.weights * fit.gene_weights[:, None]
    by_program = fit.has("confidence") and fit.centers is None  # else confidence is of clusters
    confidence = fit.of_cells("confidence").to_numpy(dtype=float) if by_program else None
    return flags(W, fit.most_used, confidence)


def clusters_table(adata: AnnData, *, key: str = "ssnmf", known: str | None = None) -> pd.DataFrame:
    """One row a cluster: its cells, their confidence and, where types are known, the most frequent one."""
    fit = read_projection(adata, key)
    names = ("cluster", "cluster_confidence") if fit.has("cluster") else ("labels", "confidence")
    (labels, confidence), rows = map(fit.of_cells, names), []
    for cluster in labels.cat.categories:
        members = (labels == cluster).to_numpy()
        sureness = {"median_confidence": float(confidence[members].median())}
        rows.append({"cluster": cluster, **_sizes(members), **sureness, **_mostly(adata, known, members)})
    return pd.DataFrame(rows)


def _sizes(members: np.ndarray) -> dict[str, Any]:
    return {"n_cells": int(members.sum()), "share": float(members.mean())}


def _mostly(adata: AnnData, known: str | None, members: np.ndarray) -> dict[str, Any]:
    """The most frequent known type of some cells, and its share in those whose type is known."""
    if known is None:
        return {}
    counts = _known_types(adata, known)[members].dropna().astype(str).value_counts(sort=False)
    if not counts.sum():
        return {"mostly": "", "purity": np.nan}
    return {"mostly": counts.idxmax(), "purity": float(counts.max() / counts.sum())}


def cells_table(adata: AnnData, *, key: str = "ssnmf", known: str | None = None) -> pd.DataFrame:
    """One row a cell: its program, what else is known of it, and its usage of every program."""
    fit = read_projection(adata, key)
    columns = {"cell": adata.obs_names.astype(str), "program": fit.most_used}
    if fit.has("cluster") or fit.centers is not None:
        of_cell = fit.of_cells("cluster" if fit.has("cluster") else "labels")
        columns["cluster"] = of_cell.astype(str).to_numpy()
    found = ("confidence", "cluster_confidence", "outlier", "outlier_score", "explained", "poor_fit")
    columns |= {name: fit.of_cells(name).to_numpy() for name in found if fit.has(name)}
    if known is not None:
        columns["known"] = _known_types(adata, known).to_numpy()
    usages = fit.usages.astype(np.float64)
    return pd.DataFrame(columns | {f"usage_{number}": column for number, column in enumerate(usages.T)})


def _known_types(adata: AnnData, known: str) -> pd.Series:
    return read_column(adata, known, "known must name a column")


def enrichment_table(tests: Enrichment, ranked: RankedEnrichment | None = None) -> pd.DataFrame:
    """One row a program and gene set, smallest p-value first, that of the ranked test where it is given."""
    n_lists, n_sets = tests.overlap.shape
    table = pd.DataFrame(
        {
            "program": np.repeat(np.arange(n_lists), n_sets),
            "term": np.tile(np.array(tests.sets, dtype=object), n_lists),
            "overlap": tests.overlap.ravel(),
            "set_size": np.tile(tests.set_sizes, n_lists),
            "list_size": np.repeat(tests.list_sizes, n_sets),
            "background": tests.n_background,
            "fold": tests.fold.ravel(),
            **({} if ranked is None else {"auc": ranked.auc.ravel()}),
            "p_value": (ranked or tests).p_value.ravel(),
            "p_adjusted": (ranked or tests).p_adjusted.ravel(),
            "genes": [";".join(shared) for of_list in tests.shared for shared in of_list],
        }
    )
    return table.sort_values(["program", "p_value"], kind="stable", ignore_index=True)
