"""What the page says: plain records for the template, section by section."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from genesieve._report.findings import Confidence, Findings, Grouping
from genesieve._report.words import count, counted, listed, number, p_value, percent
from genesieve.interpret.genes import specificity
from genesieve.interpret.programs import TINY_CELLS, UNSURE
from genesieve.metrics import nmi
from genesieve.pl._programs import Programs
from genesieve.pp import describe
from genesieve.tl._tables import marker_genes, significant

LEADING_GENES = 10  # named on a program's card
LEADING_SETS = 3
LEADING_TYPES = 3
STILL_GENES = 50  # of each program in the table that shows without JavaScript and in print
PRINTED_GENES = 15  # of these in print
STILL_SETS = 100
PRINTED_SETS = 40  # of these in print
STILL_SHARED = 12  # genes named of each of them
MOST_SETS = 5000  # rows of the table of gene sets, which would make the page heavy; the smallest p-values are kept
FLAGGED = 5  # programs that the headline names
MOST_OUTLIERS = 100  # named on the page


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
    genes: list[str] = field(default_factory=list)
    n_standing_out: int = 0
    sets: list[dict[str, Any]] = field(default_factory=list)
    flag: str = ""  # what to look at twice


def program_cards(findings: Findings) -> list[Card]:
    """One card a program, in their order."""
    programs, markers = findings.programs, marker_genes(findings.fit, LEADING_GENES)
    return [
        replace(
            _card(findings, programs, i, findings.confidence),
            title=programs.title(i, 60),
            genes=markers[i],
            n_standing_out=int(findings.standing_out[:, i].sum()),
            sets=_leading_sets(findings.enrichment, i),
            flag=findings.flags[i],
        )
        for i in range(len(programs))
    ]


def cluster_cards(findings: Findings) -> list[Card]:
    """One card a cluster, without genes."""
    confidence = findings.cluster_confidence or findings.confidence
    return [_card(findings, findings.clusters, i, confidence) for i in range(len(findings.clusters))]


def _card(findings: Findings, groups: Grouping | Programs, i: int, confidence: Confidence) -> Card:
    members = groups.of_cell == i
    n = int(members.sum())
    sure = confidence.values[members]
    return Card(
        number=i,
        name=groups.names[i],
        title=groups.names[i],
        color=groups.colors[i],
        n_cells=n,
        share=n / len(findings.cells),
        confidence=float(np.median(sure)) if n else float("nan"),
        unsure=float((sure < UNSURE).mean()) if n else float("nan"),
        types=_types(findings.known, members),
    )


def _leading_sets(table: pd.DataFrame | None, program: int) -> list[dict[str, Any]]:
    if table is None:
        return []
    rows = significant(table[table["program"] == program]).sort_values("p_value", kind="stable").head(LEADING_SETS)
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


def headline(findings: Findings, cards: list[Card]) -> list[str]:
    """The findings in plain sentences."""
    n_cells, n_genes = len(findings.cells), len(findings.genes)
    genes = (
        f"{count(n_genes)} of {counted(findings.n_given, 'gene')}"
        if n_genes < findings.n_given
        else f"all {count(n_genes)} genes"
    )
    found = f"{counted(len(cards), 'program')} on {genes}"
    first = f"{found} describe {counted(n_cells, 'cell')}."
    rest = [*_sizes(findings, cards), _sureness(findings), *_variation(findings), *_agreement(findings)]
    return [first, *rest, *_doubts(cards)]


def _variation(findings: Findings) -> list[str]:
    if findings.explained is None:
        return []
    share = percent(findings.explained)
    return [
        f"The programs explain {share} of what these genes vary from cell to cell; the rest is finer detail and chance."
    ]


def _doubts(cards: list[Card]) -> list[str]:
    flagged = [card.title for card in cards if card.flag]
    if not flagged:
        return []
    return [
        f"Look twice at {listed(flagged[:FLAGGED])}{' and others' if len(flagged) > FLAGGED else ''}, flagged below."
    ]


def _sizes(findings: Findings, cards: list[Card]) -> list[str]:
    if len(cards) < 2:
        return []
    largest, smallest = max(cards, key=lambda card: card.n_cells), min(cards, key=lambda card: card.n_cells)
    said = f"The largest, {largest.title}, leads in {counted(largest.n_cells, 'cell')} ({percent(largest.share)})"
    least = counted(smallest.n_cells, "cell") if smallest.n_cells else "none"
    sizes = f"{said}; the smallest, {smallest.title}, in {least}."
    return [sizes] if findings.clusters_are_programs else [sizes, _clusters(findings)]


def _clusters(findings: Findings) -> str:
    tiny = int((findings.clusters.sizes < TINY_CELLS).sum())
    said = f"The cells form {counted(len(findings.clusters), 'cluster')}"
    said += f", {tiny} of them of fewer than {TINY_CELLS} cells" if tiny else ""
    if findings.cluster_confidence is None:
        return f"{said}."
    return f"{said}; {percent(float(findings.cluster_confidence.unsure.mean()))} of the cells lie between two."


def _sureness(findings: Findings) -> str:
    unsure = percent(float(findings.confidence.unsure.mean()))
    if findings.confidence.measured:
        label = "label" if findings.clusters_are_programs else "program"
        return f"The {label} of {unsure} of the cells is unsure (a confidence below {UNSURE:g})."
    return f"The program of {unsure} of the cells is unsure: they use a second program more than half as much."


def _agreement(findings: Findings) -> list[str]:
    score, of_programs = agreement(findings), agreement(findings, findings.programs)
    if score is None:
        return []
    said = f"Agreement with {known_title(findings)} (NMI) is {score:.2f}"
    return [f"{said}." if findings.clusters_are_programs else f"{said} for clusters, {of_programs:.2f} for programs."]


def agreement(findings: Findings, groups: Grouping | Programs | None = None) -> float | None:
    """NMI of clusters, or other groups, and known types over the cells that have both."""
    if findings.known is None:
        return None
    known, found = findings.known.of_cell, (groups or findings.clusters).of_cell
    both = (known >= 0) & (found >= 0)
    return nmi(known[both], found[both]) if both.sum() > 1 else None


def known_title(findings: Findings) -> str:
    """The known annotation as a sentence has it."""
    return "" if findings.known is None else f"“{findings.known.title}”"


def mean_usages(findings: Findings) -> list[list[float]]:
    """Mean usage of every program (columns) by every cluster (rows), relative to the program's largest mean."""
    usages, groups = findings.programs.usages, findings.clusters
    members = [groups.of_cell == i for i in range(len(groups))]
    means = np.array([usages[of].mean(axis=0) if of.any() else np.zeros(usages.shape[1]) for of in members])
    top = means.max(axis=0, initial=0.0)
    return (means / np.where(top > 0, top, 1.0)).tolist()


def crossing(findings: Findings) -> list[dict[str, Any]]:
    """One row a known type: its cells in every cluster, as numbers and as shares of the type."""
    if findings.known is None:
        return []
    rows = []
    for i, name in enumerate(findings.known.names):
        codes = findings.clusters.of_cell[findings.known.of_cell == i]
        sizes = np.bincount(codes[codes >= 0], minlength=len(findings.clusters))
        shares = sizes / max(len(codes), 1)
        cells = [{"n": int(n), "share": float(share)} for n, share in zip(sizes, shares, strict=True)]
        rows.append({"name": name, "color": findings.known.colors[i], "n": len(codes), "cells": cells})
    return rows


def gene_rows(findings: Findings) -> list[dict[str, Any]]:
    """The leading genes of every program among those kept, for the table that needs no script."""
    scores, weights = findings.scores, findings.weights
    shares, rows = specificity(weights), []
    for program, order in enumerate(np.argsort(-scores, axis=0, kind="stable")[:STILL_GENES].T):
        for place, gene in enumerate(order[scores[order, program] > 0]):
            values = {"score": scores[gene, program], "weight": weights[gene, program], "share": shares[gene, program]}
            rows.append({"program": program, "gene": findings.genes[gene], **values, "more": place >= PRINTED_GENES})
    return rows


def set_rows(findings: Findings) -> tuple[list[list[Any]], int]:
    """The gene sets that share genes with a program, smallest p-value first, and how many there are in all."""
    if findings.enrichment is None:
        return [], 0
    table = findings.enrichment[findings.enrichment["overlap"] > 0].sort_values(["p_value", "program"], kind="stable")
    return [_set_row(row) for row in table.head(MOST_SETS).itertuples()], len(table)


def _set_row(row: Any) -> list[Any]:
    """Program, set, genes shared, size of the set, fold, p-value, adjusted p-value and the genes."""
    fold = float(row.fold) if np.isfinite(row.fold) else None
    sizes, p_values = [int(row.overlap), int(row.set_size)], [float(row.p_value), float(row.p_adjusted)]
    return [int(row.program), readable(row.term), *sizes, fold, *p_values, str(row.genes).replace(";", ", ")]


def readable(term: object) -> str:
    """A gene set's name with spaces for underscores."""
    return str(term).replace("_", " ")


def quality(findings: Findings) -> list[tuple[str, str]]:
    """The data and how they were prepared, as rows of names and values."""
    done = findings.preparation
    rows = [("cells", count(len(findings.cells)))]
    if not done:
        return [*rows, ("genes", count(len(findings.fit.genes))), ("preparation", "not by genesieve")]
    given, kept = int(done["n_genes_given"]), int(done["n_genes_kept"])
    rows += [("genes in the data", count(given)), ("genes dropped as too rarely seen", count(given - kept))]
    if "genes_a_cell" in done:
        rows += [
            ("genes seen in a cell, on average", count(round(float(done["genes_a_cell"])))),
            ("total of a cell, median (5% to 95%)", _spread(done)),
            ("cells without any expression", count(int(done["empty_cells"]))),
        ]
    return [*rows, ("preparation", describe(done))]


def _spread(done: dict[str, Any]) -> str:
    low, middle, high = (number(float(done[f"total_{name}"])) for name in ("low", "median", "high"))
    return f"{middle} ({low} to {high})"


def outlier_names(findings: Findings) -> list[str]:
    """Names of the cells flagged, as many as the page shows."""
    return [] if findings.outliers is None else findings.cells[findings.outliers][:MOST_OUTLIERS].tolist()
