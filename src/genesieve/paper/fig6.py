"""Figure 6 and the biological analysis: W and H, biclusters, their overlap, and enriched pathways."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from genesieve import pl, tl
from genesieve.estimators.methods import METHODS
from genesieve.interpret.genes import Z_THRESHOLD
from genesieve.paper.printed import BICLUSTERS, GENES_IN_ALL, GENES_IN_ANY, PATHWAYS, Z_THRESHOLDS, Bicluster
from genesieve.paper.report import BLANK, Section, markdown
from genesieve.paper.study import Labelled, Study

if TYPE_CHECKING:
    from anndata import AnnData

TITLE = "Figure 6: W and H, biclusters and their genes"
PAPER, DEFAULT = "paper", "genesieve"  # names of the two fits
COLUMNS = ("printed", "NMF_l20 here", "genesieve's default")
GIVEN_BY_TL = ("n_components", "n_genes", "random_state", "callback", "required_genes")  # not options of gs.tl.ssnmf
SHOWN_TERMS = 3  # of each bicluster, where the paper prints none


def run(study: Study) -> Section:
    """NMF_l20 as the paper writes it, and genesieve's default, on every data set given."""
    parts: list[str] = []
    figures: dict[str, Figure] = {}
    tables: dict[str, pd.DataFrame] = {}
    for labelled in study.labelled:
        name = labelled.data.name
        fits = {key: _fit(labelled, key) for key in (PAPER, DEFAULT)}
        parts.append(_report(labelled, fits))
        _name_programs(labelled.adata, fits[PAPER].order)
        figures |= {f"fig6-{name}-{kind}": figure for kind, figure in _figures(labelled).items()}
        tables[f"fig6-{name}-biclusters"] = labelled.adata.uns[f"{PAPER}_biclusters"]
        if study.gene_sets is not None:
            text, tables[f"fig6-{name}-enrichment"], figure = _enrich(labelled, study.gene_sets, fits)
            parts.append(text)
            figures[f"fig6-{name}-enrichment"] = figure
    if study.gene_sets is None:
        parts.append("No enrichment: no gene sets were given (`--gene-sets FILE.gmt`).\n")
    return Section("fig6", TITLE, "\n".join(parts), figures, tables)


class Fitted(NamedTuple):
    """The biclusters of a fit in the order of the printed ones, and the programs that they are."""

    biclusters: list[Bicluster]
    order: list[int]


def _fit(labelled: Labelled, key: str) -> Fitted:
    """Fit, find biclusters, and put them in the order of the printed ones."""
    data, adata = labelled.data, labelled.adata
    paper = METHODS["nmf_l20"](data.rank, n_genes=data.recipe.n_genes).get_params()
    options = {name: value for name, value in paper.items() if name not in GIVEN_BY_TL} if key == PAPER else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # programs may be alike; the paper's are
        tl.ssnmf(adata, data.rank, data.recipe.n_genes, clusters=False, key_added=key, random_state=0, **options)
    tl.biclusters(adata, threshold=Z_THRESHOLDS.get(data.name, Z_THRESHOLD), key=key)
    order = _order(labelled, key)
    return Fitted([_bicluster(labelled, key, program) for program in order], order)


def _name_programs(adata: AnnData, order: Sequence[int]) -> None:
    """Call the programs M1, M2, ... as the paper does, in every plot."""
    names = {str(program): f"M{number}" for number, program in enumerate(order, start=1)}
    adata.obs[PAPER] = adata.obs[PAPER].cat.rename_categories(names)


def _bicluster(labelled: Labelled, key: str, program: int) -> Bicluster:
    adata = labelled.adata
    genes = int((adata.uns[f"{key}_biclusters"]["program"] == str(program)).sum())
    classes = adata.obs.loc[adata.obs[key].astype(str) == str(program), labelled.column].astype(str)
    return Bicluster(genes, {str(name): int(count) for name, count in classes.value_counts().items()})


def _order(labelled: Labelled, key: str) -> list[int]:
    """Programs matched to the printed biclusters by their cells; as they come where nothing is printed."""
    rank = labelled.data.rank
    printed = BICLUSTERS.get(labelled.data.name, ())
    if len(printed) != rank:
        return list(range(rank))
    found = [_bicluster(labelled, key, program) for program in range(rank)]
    shared = [[_shared_cells(target, each) for each in found] for target in printed]
    return [int(program) for program in linear_sum_assignment(shared, maximize=True)[1]]


def _shared_cells(a: Bicluster, b: Bicluster) -> int:
    return sum(min(count, b.cells.get(name, 0)) for name, count in a.cells.items())


# ------------------------------------------------------------------------------------------------ tables


def _report(labelled: Labelled, fits: Mapping[str, Fitted]) -> str:
    data = labelled.data
    threshold = Z_THRESHOLDS.get(data.name, Z_THRESHOLD)
    printed = BICLUSTERS.get(data.name, ())
    rows: list[list[object]] = []
    for number in range(data.rank):
        target = _describe(printed[number]) if number < len(printed) else BLANK
        rows.append([f"M{number + 1}", target, *(_describe(fits[key].biclusters[number]) for key in (PAPER, DEFAULT))])
    in_any, in_all = zip(*(_counts(labelled.adata, key, data.rank) for key in (PAPER, DEFAULT)), strict=True)
    rows.append(["genes in any", GENES_IN_ANY.get(data.name, BLANK), *in_any])
    rows.append(["genes in all", GENES_IN_ALL.get(data.name, BLANK), *in_all])
    return (
        f"### {data.name.capitalize()}\n\n{data.note}; genes of a bicluster have z > {threshold}. Genes / cells:"
        f"\n\n{markdown(['bicluster', *COLUMNS], rows)}"
    )


def _describe(bicluster: Bicluster) -> str:
    cells = ", ".join(f"{count} {name}" for name, count in bicluster.cells.items())
    return f"{bicluster.genes} / {sum(bicluster.cells.values())}: {cells}"


def _counts(adata: AnnData, key: str, rank: int) -> tuple[int, int]:
    """Genes in any bicluster, and in all."""
    times = adata.uns[f"{key}_biclusters"]["gene"].value_counts()
    return len(times), int((times == rank).sum())


def _enrich(labelled: Labelled, gene_sets: Path, fits: Mapping[str, Fitted]) -> tuple[str, pd.DataFrame, Figure]:
    """Adjusted p of the pathways that the text names, or of the first few."""
    found = {key: tl.enrich(labelled.adata, gene_sets, genes="biclusters", key=key) for key in (PAPER, DEFAULT)}
    printed = PATHWAYS.get(labelled.data.name) or _first_terms(found[PAPER], fits[PAPER].order)
    rows = []
    for (term, number), value in printed.items():
        cells = [_p_of(found[key], term, fits[key].order[number]) for key in (PAPER, DEFAULT)]
        name = term.removeprefix("KEGG_").replace("_", " ").lower()
        rows.append([name, f"M{number + 1}", BLANK if value is None else f"{value:.1e}", *cells])
    table = markdown(["pathway", "bicluster", *(f"p, {column}" for column in COLUMNS)], rows)
    ax = pl.enrichment(labelled.adata, key=PAPER)
    tested = found[PAPER]["term"].nunique()
    text = (
        f"Adjusted p (hypergeometric test, Benjamini-Hochberg over {tested} gene sets, background the genes given):\n\n"
    )
    return text + table, found[PAPER], ax.figure.figure


def _first_terms(table: pd.DataFrame, order: Sequence[int]) -> dict[tuple[str, int], None]:
    tops = ((number, table[table["program"] == str(program)].head(SHOWN_TERMS)) for number, program in enumerate(order))
    return {(str(term), number): None for number, top in tops for term in top["term"]}


def _p_of(table: pd.DataFrame, term: str, program: int) -> str:
    row = table[(table["term"] == term) & (table["program"] == str(program))]
    return f"{row['p_adjusted'].iloc[0]:.1e}" if len(row) else BLANK


# ------------------------------------------------------------------------------------------------ figures


def _figures(labelled: Labelled) -> dict[str, Figure]:
    """The paper's fit: W, H, the overlap of the biclusters' genes, and the biclusters."""
    adata, column = labelled.adata, labelled.column
    axes = {
        "W": pl.loadings(adata, key=PAPER),
        "H": pl.usages(adata, key=PAPER, color=column),
        "overlap": pl.overlap(adata, key=PAPER),
        "biclusters": pl.biclusters(adata, key=PAPER, color=column),
    }
    return {name: ax.figure.figure for name, ax in axes.items()}
