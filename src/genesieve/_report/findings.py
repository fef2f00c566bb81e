"""What the report reads from an AnnData, checked once and as plain arrays; nothing is written back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.colors import is_color_like, to_hex

from genesieve._anndata import check_unique_genes, without_stream
from genesieve._colors import OKABE_ITO, TOL_MUTED, distinct_colors
from genesieve._slots.read import Fit, read_column, read_fit, read_preparation
from genesieve.interpret.genes import bicluster_genes
from genesieve.interpret.groups import margin
from genesieve.interpret.programs import UNSURE
from genesieve.pl._programs import Programs, column_colors, read_programs
from genesieve.tl._tables import gene_scores, program_flags

if TYPE_CHECKING:
    from anndata import AnnData

MOST_TYPES = 500  # more values than this are no cell types, and no reader could tell their colours apart


@dataclass(frozen=True)
class Grouping:
    """Cells in groups: clusters, or known types."""

    title: str
    names: list[str]
    colors: list[str]
    of_cell: np.ndarray  # (cells,), -1 for a cell without a group

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> np.ndarray:
        """Cells of every group."""
        return np.bincount(self.of_cell[self.of_cell >= 0], minlength=len(self))


@dataclass(frozen=True)
class Confidence:
    """How sure every cell's label is, 0 to 1."""

    values: np.ndarray
    measured: bool  # False: only the margin between the two programs that the cell uses most

    @property
    def title(self) -> str:
        return "confidence" if self.measured else "margin"

    @property
    def unsure(self) -> np.ndarray:
        """Mask of the cells that are unsure."""
        return self.values < UNSURE


@dataclass(frozen=True)
class Findings:
    """All that the report is made of."""

    fit: Fit
    programs: Programs
    clusters: Grouping
    clusters_are_programs: bool
    known: Grouping | None
    confidence: Confidence
    cluster_confidence: Confidence | None  # where clusters have one of their own
    cells: np.ndarray  # names
    genes: np.ndarray  # names of the selected ones
    weights: np.ndarray  # (selected genes, programs)
    scores: np.ndarray  # (selected genes, programs): how much a gene tells of a program
    standing_out: np.ndarray  # mask (selected genes, programs), the biclusters' genes
    n_given: int  # genes that the fit could choose from
    enrichment: pd.DataFrame | None
    outliers: np.ndarray | None  # mask of the cells
    explained: float | None  # share of the selected genes' variation
    flags: list[str]  # what to look at twice in every program
    preparation: dict[str, Any]  # what was done to the values


def read_findings(adata: AnnData, key: str, known: str | None) -> Findings:
    """Read the fit ``key`` and all that was found in it."""
    adata = without_stream(adata)
    fit = read_fit(adata, key)
    check_unique_genes(adata)
    programs = read_programs(adata, key)
    programs = replace(programs, colors=plain_colors(programs.colors))
    labels = fit.of_cells("cluster" if fit.has("cluster") else "labels")
    clusters = _group(adata, labels, "cluster", OKABE_ITO)
    same = _are_programs(clusters, programs)
    if same:
        clusters = Grouping("program", programs.names, programs.colors, programs.of_cell)
    return Findings(
        fit=fit,
        programs=programs,
        clusters=clusters,
        clusters_are_programs=same,
        known=None if known is None else _read_known(adata, known),
        confidence=_read_confidence(fit),
        cluster_confidence=_read_confidence(fit, "cluster_confidence") if fit.has("cluster") else None,
        cells=adata.obs_names.astype(str).to_numpy(dtype=object),
        genes=fit.genes[fit.selected],
        weights=fit.weights[fit.selected].astype(np.float64),
        scores=gene_scores(fit)[fit.selected].astype(np.float64),
        standing_out=_read_biclusters(fit)[fit.selected],
        n_given=int(fit.given.sum()),
        enrichment=fit.found("enrichment") if fit.has("enrichment") else None,
        outliers=fit.of_cells("outlier").to_numpy(dtype=bool) if fit.has("outlier") else None,
        explained=float(fit.record["explained_variation"]) if "explained_variation" in fit.record else None,
        flags=program_flags(fit),
        preparation=read_preparation(adata),
    )


def plain_colors(colors: Sequence[str], hues: Sequence[str] = OKABE_ITO) -> list[str]:
    """Colours as ``#rrggbb``; what is no colour is replaced, for a style sheet must not be handed just any text."""
    defaults = distinct_colors(len(colors), hues)
    pairs = zip(colors, defaults, strict=True)
    return [to_hex(color) if is_color_like(color) else default for color, default in pairs]


def _group(adata: AnnData, values: pd.Series, title: str, hues: Sequence[str] = TOL_MUTED) -> Grouping:
    categories = values.astype("category").cat
    names = [str(name) for name in categories.categories]
    colors = plain_colors(column_colors(adata, str(values.name), len(names), hues)[: len(names)], hues)
    return Grouping(title, names, colors, np.asarray(categories.codes, dtype=np.int64))


def _read_known(adata: AnnData, known: str) -> Grouping:
    values = read_column(adata, known, "known must name a column")
    n_values = values.nunique()
    if n_values > MOST_TYPES:
        raise ValueError(f"known must name a column of cell types, got {known!r} with {n_values:,} different values")
    return _group(adata, values, known)


def _are_programs(clusters: Grouping, programs: Programs) -> bool:
    """Whether every cell's label is the program that it uses most, under whatever name."""
    if (clusters.of_cell < 0).any():
        return False
    names = np.array(programs.names, dtype=object)[programs.of_cell]
    return bool((np.array(clusters.names, dtype=object)[clusters.of_cell] == names).all())


def _read_confidence(fit: Fit, name: str = "confidence") -> Confidence:
    if fit.has(name):
        stored = fit.of_cells(name).to_numpy(dtype=float, na_value=np.nan)
        return Confidence(np.clip(np.nan_to_num(stored, nan=0.0), 0.0, 1.0), measured=True)
    if fit.rank == 1:
        return Confidence((fit.usages[:, 0] > 0).astype(float), measured=False)
    return Confidence(margin(fit.usages), measured=False)


def _read_biclusters(fit: Fit) -> np.ndarray:
    """Mask (genes, programs) of the genes that stand out; found here with the usual threshold if it was not before."""
    if not fit.has("biclusters"):
        return bicluster_genes(fit.weights)
    table = fit.found("biclusters")
    members = np.zeros(fit.weights.shape, dtype=bool)
    places = pd.Index(fit.genes).get_indexer(table["gene"].astype(str))
    there = places >= 0  # genes can have been dropped since
    members[places[there], table["program"].to_numpy()[there]] = True
    return members
