"""How much every gene belongs to every program, and the genes that mark a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import check_unique_genes, log_base, own, read_fitted, select_genes
from genesieve._checks import check_choice, check_integer, check_number
from genesieve._slots.read import Fit, read_fit
from genesieve._slots.write import write_found, write_scores
from genesieve.core.usages import score_cells
from genesieve.interpret.scores import METHODS, PARTS, HeldOut, cnmf_scores, parts_of, score_genes
from genesieve.tl._tables import FDR, N_MARKERS, marker_table

if TYPE_CHECKING:
    from anndata import AnnData


def gene_scores(
    adata: AnnData,
    *,
    method: str = "regression",
    key: str = "ssnmf",
    n_jobs: int | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Score every gene of the object, selected or not, by how much it belongs to each program.

    The logged values of a gene are regressed on the usages of all programs together, each as a share of the cell. A
    score is how far a cell that uses this program alone lies above the typical program (the median over them), in
    standard deviations of the gene. Every score has a p-value, so that `genesieve.tl.markers` can cut the list of a
    program at a false discovery rate; what programs of the same cells may leak into each other does not count as
    raised. A gene that the model was fitted to is scored by usages from the other genes, as its own noise would pass
    for a signal.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`. Values outside memory are read in blocks of cells.
    method
        ``"regression"``, or ``"cnmf"`` for the scores of cNMF: least squares of z-scored TPM, not logged, on the
        usages as they are. They have no p-values.
    key
        Name of the fit.
    n_jobs
        Threads; ``None`` or -1 uses every core there is.
    copy
        Return a copy with the result instead of working in place.

    Returns
    -------
    AnnData or None
        The copy with ``copy=True``. Sets ``varm["ssnmf_scores"]`` (genes x programs) and, with ``"regression"``,
        ``varm["ssnmf_score_p_values"]``.

    References
    ----------
    ``method="cnmf"``: Kotliar et al. (2019), `doi:10.7554/eLife.43803 <https://doi.org/10.7554/eLife.43803>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 6, 200)
    >>> gs.tl.gene_scores(adata)
    >>> adata.varm["ssnmf_scores"].shape == (adata.n_vars, 6)
    True
    """
    check_choice("method", method, METHODS)
    adata = own(adata, copy=copy)
    fit = read_fit(adata, key)
    X = read_fitted(adata, fit)
    if method == "cnmf":
        write_scores(adata, key, cnmf_scores(X, fit.usages, log_base=_log_base(adata, fit), n_jobs=n_jobs), None)
    else:
        found = score_genes(X, fit.usages, held_out=_held_out(X, fit, n_jobs), n_jobs=n_jobs)
        write_scores(adata, key, found.score, found.p_value)
    return adata if copy else None


def _held_out(X: Any, fit: Fit, n_jobs: int | None) -> HeldOut | None:
    """Usages without each part of the selected genes; None where a program would be left without any."""
    part, weights = parts_of(fit.selected), fit.weights
    rests = [fit.selected & (part != number) for number in range(PARTS)]
    complete = all(np.array_equal(weights[rest].any(axis=0), weights.any(axis=0)) for rest in rests)
    if (part < 0).all() or not complete:
        return None
    return HeldOut((_usages_from(X, fit, rest, n_jobs) for rest in rests), part)


def _usages_from(X: Any, fit: Fit, genes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Usages by some of the selected genes, which count for more, so that a penalty weighs what it did in the fit."""
    gene_weights = np.ones(len(genes)) if fit.gene_weights is None else fit.gene_weights
    weighted = np.square(fit.weights * gene_weights[:, None], dtype=np.float64).sum(axis=1)
    raised = gene_weights[genes] * np.sqrt(weighted.sum() / weighted[genes].sum())
    return score_cells(
        select_genes(X, genes),
        fit.weights[genes],
        scale=fit.scale,
        penalty=fit.penalty,
        gene_weights=raised,
        n_jobs=n_jobs,
    )


def _log_base(adata: AnnData, fit: Fit) -> float | None:
    """The base of the logarithm of the values, e where nothing is said; None if they are not logged."""
    if fit.params.get("values", "log") != "log":
        return None
    return log_base(adata)


def markers(adata: AnnData, n: int | None = N_MARKERS, *, fdr: float | None = FDR, key: str = "ssnmf") -> pd.DataFrame:
    """The genes that mark every program: those with the highest scores, up to a false discovery rate.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`. Genes are scored with `genesieve.tl.gene_scores` if they were not.
    n
        Genes of each program, at most; ``None`` takes all that pass the cut.
    fdr
        The cut: of the genes of a program with an adjusted p-value up to this, at most this share is expected not to
        be raised. ``None`` has no cut, and scores without p-values (``method="cnmf"``) have none either.
    key
        Name of the fit.

    Returns
    -------
    pandas.DataFrame
        One row a program and gene, highest score first: ``program``, ``gene``, ``score``, ``p_value``, ``p_adjusted``
        (Benjamini-Hochberg over all genes of the program), ``weight`` and ``specificity`` as in
        `genesieve.tl.top_genes`, and ``selected``, whether the gene is one of the budget. Also written to
        ``uns["ssnmf_markers"]``.

    References
    ----------
    False discovery rates: Benjamini and Hochberg (1995), `doi:10.1111/j.2517-6161.1995.tb02031.x
    <https://doi.org/10.1111/j.2517-6161.1995.tb02031.x>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 6, 200)
    >>> table = gs.tl.markers(adata, 5)
    >>> bool((table["p_adjusted"] <= 0.05).all())
    True
    """
    if n is not None:
        check_integer("n", n, 1)
    if fdr is not None:
        check_number("fdr", fdr)
    adata = own(adata)
    check_unique_genes(adata)
    table = marker_table(scored_fit(adata, key), n, fdr)
    write_found(adata, key, markers=table)
    return table


def scored_fit(adata: AnnData, key: str) -> Fit:
    """The fit with scores of its genes, found now if they were not."""
    fit = read_fit(adata, key)
    if not fit.scored:
        gene_scores(adata, key=key)
    return fit
