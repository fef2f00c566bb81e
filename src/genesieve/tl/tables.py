"""Reading a fit: leading genes, biclusters and outliers, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from genesieve._anndata import own
from genesieve._checks import check_integer, check_number
from genesieve._slots.read import read_fit, read_projection
from genesieve._slots.write import write_found, write_outliers
from genesieve.interpret.genes import Z_THRESHOLD, bicluster_genes
from genesieve.interpret.outliers import OUTLIER_RATIO, OUTLIER_SEPARATION, find_outliers
from genesieve.tl._tables import gene_table, leading

if TYPE_CHECKING:
    from anndata import AnnData

N_TOP = 20


def top_genes(adata: AnnData, n: int = N_TOP, *, key: str = "ssnmf") -> pd.DataFrame:
    """The genes with the largest weights of every program.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`.
    n
        Genes of each program, at most.
    key
        Name of the fit.

    Returns
    -------
    pandas.DataFrame
        One row a program and gene, largest weight first: ``program``, ``gene``, ``weight``, ``z``, the z-score of the
        weight among the selected genes of the program, and ``specificity``, the program's share in the gene's weight
        over all programs (with every program's gene vector at unit length). Also written to ``uns["ssnmf_top_genes"]``.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 50)
    >>> list(gs.tl.top_genes(adata, 3))
    ['program', 'gene', 'weight', 'z', 'specificity']
    """
    check_integer("n", n, 1)
    fit = read_fit(adata, key)
    table = gene_table(fit, leading(fit.weights, n))
    write_found(own(adata), key, top_genes=table)
    return table


def biclusters(adata: AnnData, *, threshold: float = Z_THRESHOLD, key: str = "ssnmf") -> pd.DataFrame:
    """Genes and cells that belong together, one bicluster a program.

    The genes of a bicluster have a z-score above the threshold: of their weight in the program, over the selected
    genes, with the standard deviation over n - 1. Its cells are those that use the program most, as ``obs["ssnmf"]``
    says.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`.
    threshold
        Z-score above which a gene belongs to a bicluster; the paper has 1.5 on Pollen and 1.2 on Camp1.
    key
        Name of the fit.

    Returns
    -------
    pandas.DataFrame
        One row a program and gene, highest z-score first: ``program``, ``gene``, ``weight``, ``z``, ``specificity``.
        Also written to ``uns["ssnmf_biclusters"]``. The numbers of genes and cells of every bicluster are written to
        ``uns["ssnmf_bicluster_sizes"]``: ``program``, ``n_genes``, ``n_cells``.

    References
    ----------
    Min, Xu, Wan and Chang (2021), `arXiv:2104.13171 <https://arxiv.org/abs/2104.13171>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 50)
    >>> genes = gs.tl.biclusters(adata)
    >>> int(adata.uns["ssnmf_bicluster_sizes"]["n_cells"].sum())
    700
    """
    fit = read_fit(adata, key)
    members = bicluster_genes(fit.weights, threshold=threshold)  # (genes, rank)
    table = gene_table(fit, members)
    sizes = pd.DataFrame(
        {
            "program": np.arange(fit.rank),
            "n_genes": members.sum(axis=0),
            "n_cells": np.bincount(fit.most_used, minlength=fit.rank),
        }
    )
    write_found(own(adata), key, biclusters=table, bicluster_sizes=sizes)
    return table


def outliers(
    adata: AnnData,
    *,
    max_ratio: float = OUTLIER_RATIO,
    min_separation: float = OUTLIER_SEPARATION,
    key: str = "ssnmf",
) -> pd.DataFrame:
    """Find cells that use no program much (the paper's Fig. 5).

    A cell's usage is the length of its fitted expression. Where every cell uses one program, as in an orthogonal fit,
    that is its largest coefficient, by which the paper sorts cells; unlike it, a cell that shares its usage between two
    programs is not taken for an outlier. The logarithms of the usages are cut in two where the groups differ most. The
    low group are outliers if it is the exception (30 cells or 5 % of them at most, and less than half), has at most
    ``max_ratio`` of the high group's usage (geometric means), the groups stand at least ``min_separation`` standard
    deviations apart, and the low cells do not agree on a program (of ten or more, over 90 %): noise has none of its
    own. Otherwise there are none. A cell without any usage is always one. On real data a small cell type
    with little expression can stand apart in the same way: look at the flagged cells before dropping them.

    On the paper's outlier data (`genesieve.datasets.synthetic_outliers`; rank 3, 90 genes, ``orthogonality="exact"``)
    precision is 0.93 and recall 0.98 over seeds 0 to 29. On the set without outliers (`genesieve.datasets.synthetic`)
    no cell is flagged in any of them, and none in ten labelled sets of real cells (``python -m benchmarks.runs``).

    Parameters
    ----------
    adata
        Data with usages, from `genesieve.tl.ssnmf` or `genesieve.tl.project`.
    max_ratio
        Usage of outliers relative to that of the other cells, at most.
    min_separation
        Distance of the groups' means in standard deviations within the groups. Cutting a single Gaussian gives 2.65.
    key
        Name of the fit.

    Returns
    -------
    pandas.DataFrame
        One row a cell: ``usage``, ``score`` (1 minus its ratio to the typical usage: 0 is typical, 1 is no usage at
        all) and ``outlier``. The last two are also written to ``obs["ssnmf_outlier_score"]`` and
        ``obs["ssnmf_outlier"]``, and the rule with what it found to ``uns["ssnmf_outlier_rule"]``.

    References
    ----------
    Min, Xu, Wan and Chang (2021), `arXiv:2104.13171 <https://arxiv.org/abs/2104.13171>`__.

    Examples
    --------
    >>> import anndata as ad
    >>> import genesieve as gs
    >>> adata = ad.AnnData(gs.datasets.synthetic_outliers(random_state=2).X)
    >>> gs.tl.ssnmf(adata, 3, 90, orthogonality="exact", baseline="zero")
    >>> int(gs.tl.outliers(adata)["outlier"].sum())
    20
    """
    check_number("max_ratio", max_ratio)
    check_number("min_separation", min_separation)
    rule = {"max_ratio": float(max_ratio), "min_separation": float(min_separation)}
    cells = read_projection(adata, key)
    found = find_outliers(cells.usages, cells.gene_gram, **rule)
    write_outliers(own(adata), key, found, rule)
    columns = {"usage": found.usage, "score": found.score, "outlier": found.flagged}
    return pd.DataFrame(columns, index=adata.obs_names)
