"""Gene sets that lead the enrichment of every program on real data: from biclusters as before, and from markers."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from benchmarks.genes.planted import MIN_CELLS
from benchmarks.harness.data import DATA, FOLDER
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Record

GENE_SETS = FOLDER / "genesets" / "KEGG_2021_Human.gmt"
LEADING = 3
# Every cell makes proteins: these sets say nothing about a type.
SHARED_BY_ALL = ("Ribosome", "Coronavirus disease")


@dataclass(frozen=True)
class Fitted:
    """How a data set is fitted."""

    rank: int
    n_genes: int


SETS = {"pbmc3k": Fitted(10, 1000), "xin": Fitted(5, 500), "kang": Fitted(12, 500)}


def measure(data: str, seed: int) -> Record:
    """One row a program: its cells, their type, its markers, and the leading sets before and after."""
    import genesieve as gs

    if not GENE_SETS.exists():
        raise Missing(f"{GENE_SETS.name} is not in ../shared/data/genesets beside the project")
    adata, fitted, classes = DATA[data].read(), SETS[data], DATA[data].classes
    gs.pp.prepare(adata, min_cells=MIN_CELLS)
    gs.tl.ssnmf(adata, fitted.rank, fitted.n_genes, random_state=seed)
    markers = gs.tl.markers(adata)
    tables = {
        "before": gs.tl.enrich(adata, GENE_SETS, genes="biclusters"),
        "after": gs.tl.enrich(adata, GENE_SETS),
        "ranked": gs.tl.enrich(adata, GENE_SETS, test="ranked"),
    }
    programs = []
    for program in map(str, range(fitted.rank)):
        types = adata.obs.loc[adata.obs["ssnmf"] == program, classes].value_counts()
        leading = {name: leading_terms(table, program) for name, table in tables.items()}
        genes = markers.loc[markers["program"] == program, "gene"].head(5).tolist()
        type_ = str(types.index[0]) if types.sum() else "-"
        programs.append({"cells": int(types.sum()), "type": type_, "markers": genes, **leading})
    return {"programs": programs}


def leading_terms(table: pd.DataFrame, program: str) -> list[str]:
    """The sets with the smallest p-values that share genes with the program."""
    rows = table[(table["program"] == program) & (table["overlap"] > 0)]
    return rows.sort_values("p_value", kind="stable")["term"].head(LEADING).astype(str).tolist()
