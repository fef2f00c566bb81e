"""What the page says: plain records for the template, section by section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genesieve._report.source import UNSURE, Grouping, Source
from genesieve._report.words import count, counted, p_value, percent
from genesieve.interpret.genes import marker_scores, specificity, z_scores
from genesieve.metrics import nmi

LEADING_GENES = 10  # named on a program's card
LEADING_SETS = 3
LEADING_TYPES = 3
STILL_GENES = 50  # of each program in the table that shows without JavaScript and in print
PRINTED_GENES = 15  # of these in print
STILL_SETS = 100
PRINTED_SETS = 40  # of these in print
STILL_SHARED = 12  # genes named of each of them
MOST_SETS = 5000  # rows of the table of gene sets, which would make the page heavy; the smallest p-values are kept
MOST_OUTLIERS = 100  # named on the page
ALPHA = 0.05  # adjusted p-value up to which a gene set is shown on a card


@dataclass(frozen=True)
class Share:
    """A part of a group, say a known type among its cells."""

    name: str
    color: str
    n: int
    share: float


@dataclass(frozen=True)
class Card:
    """A program, or a cluster, as a reader meets it."""

    number: int
    name: str
    title: str
    color: str
    n_cells: int
    share: float
    confidence: float  # median, NaN without cells
    unsure: float  # share of its cells
    types: list[Share]
    genes: list[str]
    n_standing_out: int
    sets: list[dict[str, Any]]


def program_cards(source: Source) -> list[Card]:
    """One card a program, in their order."""
    return [_card(source, source.programs, i, source.programs.of_cell == i) for i in range(len(source.programs))]


def cluster_cards(source: Source) -> list[Card]:
    """One card a cluster, without genes."""
    return [_card(source, source.clusters, i, source.clusters.of_cell == i) for i in range(len(source.clusters))]


def _card(source: Source, groups: Any, i: int, members: np.ndarray) -> Card:
    of_programs = groups is source.programs
    n = int(members.sum())
    sure = source.confidence.values[members]
    return Card(
        number=i,
        name=groups.names[i],
        title=source.programs.title(i, 60) if of_programs else groups.names[i],
        color=groups.colors[i],
        n_cells=n,
        share=n / len(source.cells),
        confidence=float(np.median(sure)) if n else float("nan"),
        unsure=float((sure < UNSURE).mean()) if n else float("nan"),
        types=_types(source.known, members),
        genes=_leading_genes(source, i) if of_programs else [],
        n_standing_out=int(source.standing_out[:, i].sum()) if of_programs else 0,
        sets=_leading_sets(source.enrichment, i) if of_programs else [],
    )


def _leading_genes(source: Source, program: int) -> list[str]:
    scores = marker_scores(source.weights)[:, program]
    order = np.argsort(-scores, kind="stable")[:LEADING_GENES]
    return [str(source.genes[gene]) for gene in order if scores[gene] > 0]


def _leading_sets(table: pd.DataFrame | None, program: int) -> list[dict[str, Any]]:
    if table is None:
        return []
    rows = table[(table["program"] == program) & (table["overlap"] > 0) & (table["p_adjusted"] <= ALPHA)]
    rows = rows.sort_values("p_value", kind="stable").head(LEADING_SETS)
    return [
        {"term": readable(row.term), "p": p_value(row.p_adjusted), "overlap": row.overlap, "size": row.set_size}
        for row in rows.itertuples()
    ]


def _types(known: Grouping | None, members: np.ndarray) -> list[Share]:
    """The known types among the members, commonest first."""
    if known is None or not members.any():
        return []
    codes = known.of_cell[members]
    sizes = np.bincount(codes[codes >= 0], minlength=len(known))
    order = [int(i) for i in np.argsort(-sizes, kind="stable") if sizes[i]]
    return [Share(known.names[i], known.colors[i], int(sizes[i]), sizes[i] / len(codes)) for i in order]


def headline(source: Source, cards: list[Card]) -> list[str]:
    """The findings in plain sentences."""
    n_cells, n_genes = len(source.cells), len(source.genes)
    genes = (
        f"{count(n_genes)} of {counted(source.n_given, 'gene')}"
        if n_genes < source.n_given
        else f"all {count(n_genes)} genes"
    )
    found = f"{counted(len(cards), 'program')} on {genes}"
    if source.explained is None:
        first = f"{found} describe {counted(n_cells, 'cell')}."
    else:
        share = percent(source.explained)
        first = f"{found} explain {share} of the variation (sum of squares) in {counted(n_cells, 'cell')}."
    return [first, *_sizes(source, cards), _sureness(source), *_agreement(source)]


def _sizes(source: Source, cards: list[Card]) -> list[str]:
    if len(cards) < 2:
        return []
    largest, smallest = max(cards, key=lambda card: card.n_cells), min(cards, key=lambda card: card.n_cells)
    said = f"The largest, {largest.title}, leads in {counted(largest.n_cells, 'cell')} ({percent(largest.share)})"
    sizes = f"{said}; the smallest, {smallest.title}, in {count(smallest.n_cells)}."
    return [sizes] if source.same else [sizes, f"The cells form {counted(len(source.clusters), 'cluster')}."]


def _sureness(source: Source) -> str:
    unsure = percent(float(source.confidence.unsure.mean()))
    if source.confidence.measured:
        return f"{unsure} of the cells are unsure: their label has a confidence below {UNSURE:g}."
    return f"{unsure} of the cells are unsure: they use a second program more than half as much as their first."


def _agreement(source: Source) -> list[str]:
    score = agreement(source)
    return [] if score is None else [f"Agreement with {known_title(source)} (NMI) is {score:.2f}."]


def agreement(source: Source) -> float | None:
    """NMI of clusters and known types over the cells that have both."""
    if source.known is None:
        return None
    both = (source.known.of_cell >= 0) & (source.clusters.of_cell >= 0)
    return nmi(source.known.of_cell[both], source.clusters.of_cell[both]) if both.sum() > 1 else None


def known_title(source: Source) -> str:
    """The known annotation as a sentence has it."""
    return "" if source.known is None else f"“{source.known.title}”"


def mean_usages(source: Source) -> list[list[float]]:
    """Mean usage of every program (columns) by every cluster (rows), relative to the program's largest mean."""
    usages, groups = source.programs.usages, source.clusters
    members = [groups.of_cell == i for i in range(len(groups))]
    means = np.array([usages[of].mean(axis=0) if of.any() else np.zeros(usages.shape[1]) for of in members])
    top = means.max(axis=0, initial=0.0)
    return (means / np.where(top > 0, top, 1.0)).tolist()


def crossing(source: Source) -> list[dict[str, Any]]:
    """One row a known type: its cells in every cluster, as numbers and as shares of the type."""
    if source.known is None:
        return []
    rows = []
    for i, name in enumerate(source.known.names):
        codes = source.clusters.of_cell[source.known.of_cell == i]
        sizes = np.bincount(codes[codes >= 0], minlength=len(source.clusters))
        shares = sizes / max(len(codes), 1)
        cells = [{"n": int(n), "share": float(share)} for n, share in zip(sizes, shares, strict=True)]
        rows.append({"name": name, "color": source.known.colors[i], "n": len(codes), "cells": cells})
    return rows


def gene_rows(source: Source) -> list[dict[str, Any]]:
    """The heaviest genes of every program, for the table that needs no script."""
    z, shares, rows = z_scores(source.weights), specificity(source.weights), []
    for program in range(len(source.programs)):
        weights = source.weights[:, program]
        for rank, gene in enumerate(np.argsort(-weights, kind="stable")[:STILL_GENES]):
            if weights[gene] > 0:
                rows.append({
                    "program": program, "gene": source.genes[gene], "weight": weights[gene],
                    "z": z[gene, program], "specificity": shares[gene, program], "more": rank >= PRINTED_GENES,
                })  # fmt: skip
    return rows


def set_rows(source: Source) -> tuple[list[list[Any]], int]:
    """The gene sets that share genes with a program, smallest p-value first, and how many there are in all."""
    if source.enrichment is None:
        return [], 0
    table = source.enrichment[source.enrichment["overlap"] > 0].sort_values(["p_value", "program"], kind="stable")
    return [_set_row(row) for row in table.head(MOST_SETS).itertuples()], len(table)


def _set_row(row: Any) -> list[Any]:
    """Program, set, genes shared, size of the set, fold, p-value, adjusted p-value and the genes."""
    fold = float(row.fold) if np.isfinite(row.fold) else None
    sizes, p_values = [int(row.overlap), int(row.set_size)], [float(row.p_value), float(row.p_adjusted)]
    return [int(row.program), readable(row.term), *sizes, fold, *p_values, str(row.genes).replace(";", ", ")]


def readable(term: object) -> str:
    """A gene set's name with spaces for underscores."""
    return str(term).replace("_", " ")


def outlier_names(source: Source) -> list[str]:
    """Names of the cells flagged, as many as the page shows."""
    return [] if source.outliers is None else source.cells[source.outliers][:MOST_OUTLIERS].tolist()
