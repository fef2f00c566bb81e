"""Gene sets that the genes of a program are rich in."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import pandas as pd

from genesieve._anndata import check_unique_genes, own
from genesieve._checks import check_choice, check_integer
from genesieve._slots.read import Fit, read_fit
from genesieve._slots.write import write_found
from genesieve.interpret.genesets import (
    MAX_SIZE,
    MIN_SIZE,
    GeneSets,
    case_note,
    over_representation,
    rank_enrichment,
    read_gene_sets,
)
from genesieve.tl._tables import FDR, enrichment_table, markers_of
from genesieve.tl.scores import scored_fit
from genesieve.tl.tables import biclusters, top_genes

if TYPE_CHECKING:
    from anndata import AnnData

LISTS = ("markers", "biclusters", "top_genes")  # of genes, that gene sets are tested on
TESTS = ("overlap", "ranked")
# Of many cells thousands of genes are raised for sure, if by little. The leading ones say what a program is about; on
# real data more of them bring back what all cells share.
LISTED_MARKERS = 50


def enrich(
    adata: AnnData,
    gene_sets: GeneSets | str | PathLike[str],
    *,
    test: str = "overlap",
    genes: str = "markers",
    background: Sequence[str] | None = None,
    min_size: int = MIN_SIZE,
    max_size: int | None = MAX_SIZE,
    key: str = "ssnmf",
) -> pd.DataFrame:
    """Gene sets that the genes of every program are rich in.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`.
    gene_sets
        A GMT file, or a mapping of names to genes.
    test
        ``"overlap"``: whether a list of the program's genes shares more genes with a set than chance has it
        (hypergeometric). ``"ranked"``: whether the genes of a set have higher scores than all others (rank sum of
        Mann, Whitney and Wilcoxon); it finds many small shifts as well as few large ones.
    genes
        The lists: ``"markers"``, the 50 genes with the highest scores that pass a false discovery rate of 5 %, or
        ``"biclusters"`` or ``"top_genes"``, taken from the functions of these names, which are run with their defaults
        if they were not. Markers need scores, which `genesieve.tl.gene_scores` makes if they are not there; of an
        object without values, which cannot be scored, the biclusters are taken.
    background
        Genes that a list could have had; ``None`` takes all genes of the object for markers, and the genes given to
        the model for the others.
    min_size, max_size
        Sets with fewer or more genes within the background are not tested; ``max_size=None`` has no upper bound.
    key
        Name of the fit.

    Returns
    -------
    pandas.DataFrame
        One row a program and set, smallest p-value first: ``program``, ``term``, ``overlap``, ``set_size``,
        ``list_size``, ``background`` (sizes within the background), ``fold`` (overlap relative to chance), ``p_value``,
        ``p_adjusted`` (Benjamini-Hochberg over all sets tested with a program, whether they overlap or not) and
        ``genes``, the shared ones with ";" between. The ranked test adds ``auc``, the chance that a gene of the set has
        a higher score than one outside it. Also written to ``uns["ssnmf_enrichment"]``.

    References
    ----------
    False discovery rates: Benjamini and Hochberg (1995), `doi:10.1111/j.2517-6161.1995.tb02031.x
    <https://doi.org/10.1111/j.2517-6161.1995.tb02031.x>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 50)
    >>> sets = {"killing": ["GNLY", "NKG7", "GZMB", "PRF1", "CST7"], "platelets": ["PF4", "PPBP", "SDPR", "GNG11"]}
    >>> table = gs.tl.enrich(adata, sets, min_size=3)
    >>> list(table)[:3]
    ['program', 'term', 'overlap']
    """
    check_choice("test", test, TESTS)
    check_choice("genes", genes, LISTS)
    check_integer("min_size", min_size, 1)
    if max_size is not None:
        check_integer("max_size", max_size, min_size)
    fit = read_fit(adata, key)
    check_unique_genes(adata)
    sets, adata = read_gene_sets(gene_sets), own(adata)
    genes = _lists_there_can_be(adata, fit, genes, test)
    names = _background(fit, background, genes, test)
    remark = case_note(sets, names)
    if remark is not None:
        warnings.warn(remark, UserWarning, stacklevel=2)
    tests = over_representation(_gene_lists(adata, key, genes), sets, names, min_size=min_size, max_size=max_size)
    ranked = None
    if test == "ranked":
        scores = scored_fit(adata, key).scores[pd.Index(fit.genes).get_indexer(names)]
        ranked = rank_enrichment(scores, sets, names, min_size=min_size, max_size=max_size)
    table = enrichment_table(tests, ranked)
    write_found(adata, key, enrichment=table)
    return table


def _background(fit: Fit, given: Sequence[str] | None, genes: str, test: str) -> list[str]:
    """Genes that a list could have had, each once; those alone that have a score, where the test needs one."""
    if given is None:
        return list(fit.genes if genes == "markers" or test == "ranked" else fit.genes[fit.given])
    names = list(dict.fromkeys(str(gene) for gene in given))
    return names if test == "overlap" else [name for name in names if name in fit.adata.var_names]


def _lists_there_can_be(adata: AnnData, fit: Fit, genes: str, test: str) -> str:
    """The lists asked for, or where markers cannot be found, as the values are gone, the biclusters."""
    missing = not fit.scored and adata.X is None and fit.values_from == {"layer": None, "use_raw": False}
    return "biclusters" if missing and genes == "markers" and test == "overlap" else genes


def _gene_lists(adata: AnnData, key: str, genes: str) -> list[list[str]]:
    """The genes of every program."""
    if genes == "markers":
        fit = scored_fit(adata, key)
        members = markers_of(fit, LISTED_MARKERS, FDR)[0]
        return [fit.genes[column].tolist() for column in members.T]
    fit = read_fit(adata, key)
    if not fit.has(genes):
        biclusters(adata, key=key) if genes == "biclusters" else top_genes(adata, key=key)
    table = fit.found(genes)
    return [table.loc[table["program"] == program, "gene"].astype(str).tolist() for program in range(fit.rank)]
