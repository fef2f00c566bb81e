"""Names of programs, from sets of marker genes."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from genesieve._anndata import check_unique_genes, own
from genesieve._checks import check_integer, check_number
from genesieve._slots.read import read_fit
from genesieve._slots.write import rename_labels, write_found
from genesieve.interpret.genesets import GeneSets, read_gene_sets
from genesieve.interpret.names import MIN_SIZE, suggest_names, told_apart
from genesieve.tl._tables import FDR, markers_of
from genesieve.tl.scores import scored_fit

if TYPE_CHECKING:
    from anndata import AnnData

MARKERS = 50  # leading genes of a program that a set should share


def annotate(
    adata: AnnData,
    markers: GeneSets | str | PathLike[str],
    *,
    fdr: float = FDR,
    min_size: int = MIN_SIZE,
    max_size: int | None = None,
    rename: bool = False,
    key: str = "ssnmf",
) -> pd.DataFrame:
    """Suggest a name for every program, from sets of marker genes.

    Of the sets with a gene among the program's own markers, a program takes the name of the one whose genes have the
    highest scores in it (rank sum of Mann, Whitney and Wilcoxon over all genes, on `genesieve.tl.gene_scores`), if that
    passes a false discovery rate. Tables, plots and the report call programs by their names from then on.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`. Genes are scored if they were not.
    markers
        Names to marker genes: a mapping, or a GMT file.
    fdr
        Largest adjusted p-value (Benjamini-Hochberg over the sets, by program) of a set that gives its name.
    min_size, max_size
        Sets with fewer or more genes among those of the object are not tested; ``max_size=None`` has no upper bound.
    rename
        Rename the categories of ``obs["ssnmf"]`` too, where cells are labelled by their programs.
    key
        Name of the fit.

    Returns
    -------
    pandas.DataFrame
        One row a program: ``program``, ``name`` (empty where no set passes; programs with the same name are told apart
        by their leading gene), ``term`` (the best set), ``p_value``, ``p_adjusted``, ``auc`` (the chance that a gene of
        the set scores above another), ``set_size``, ``overlap`` and ``genes`` (those among the program's 50 leading
        markers, with ";" between), ``runner_up`` (the next set) and ``runner_up_p_adjusted``. Also written to
        ``uns["ssnmf_annotation"]``.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 6, 200)
    >>> table = gs.tl.annotate(adata, {"B": ["CD79A", "CD79B", "MS4A1"], "NK": ["GNLY", "NKG7", "GZMB", "PRF1"]})
    >>> {"B", "NK"} <= set(table["name"])
    True
    """
    check_number("fdr", fdr)
    check_integer("min_size", min_size, 1)
    if max_size is not None:
        check_integer("max_size", max_size, min_size)
    read_fit(adata, key)
    check_unique_genes(adata)
    sets, adata = read_gene_sets(markers), own(adata)
    fit = scored_fit(adata, key)
    scores = np.asarray(fit.scores)
    members = markers_of(fit, MARKERS, FDR)[0]
    leading = [fit.genes[np.flatnonzero(chosen)[np.argsort(-column[chosen], kind="stable")]].tolist()
               for chosen, column in zip(members.T, scores.T, strict=True)]  # fmt: skip
    found = suggest_names(scores, leading, sets, fit.genes.tolist(), fdr=fdr, min_size=min_size, max_size=max_size)
    names = told_apart([suggestion.name for suggestion in found], leading)
    table = pd.DataFrame(
        {
            "program": np.arange(len(found)),
            "name": names,
            "term": [each.term for each in found],
            "p_value": [each.p_value for each in found],
            "p_adjusted": [each.p_adjusted for each in found],
            "auc": [each.auc for each in found],
            "set_size": [each.set_size for each in found],
            "overlap": [len(each.shared) for each in found],
            "genes": [";".join(each.shared) for each in found],
            "runner_up": [each.runner_up for each in found],
            "runner_up_p_adjusted": [each.runner_up_p_adjusted for each in found],
        }
    )
    write_found(adata, key, annotation=table)
    if rename:
        rename_labels(adata, key, names)
    return table
