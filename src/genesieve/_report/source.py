"""What the report reads from an AnnData, checked once and as plain arrays; nothing is written back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.colors import is_color_like, to_hex

from genesieve._anndata import check_unique_genes, fit_of, listing, without_stream
from genesieve._slots.keys import Keys
from genesieve._slots.read import Programs, column_colors, read_programs
from genesieve.interpret.genes import bicluster_genes, selected_genes
from genesieve.interpret.labels import margin
from genesieve.pl._style import OKABE_ITO, TOL_MUTED, distinct_colors

if TYPE_CHECKING:
    from anndata import AnnData

UNSURE = 0.5
"""Confidence below which a cell counts as unsure."""

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
class Source:
    """All that the report is made of."""

    programs: Programs
    clusters: Grouping
    same: bool  # whether clusters are the programs
    known: Grouping | None
    confidence: Confidence
    cells: np.ndarray  # names
    genes: np.ndarray  # names of the selected ones
    weights: np.ndarray  # (selected genes, programs)
    standing_out: np.ndarray  # mask (selected genes, programs), the biclusters' genes
    n_given: int  # genes that the fit could choose from
    enrichment: pd.DataFrame | None
    outliers: np.ndarray | None  # mask of the cells
    explained: float | None  # share of the sum of squares
    fit: dict[str, Any]


def read_source(adata: AnnData, key: str, known: str | None) -> Source:
    """Read the fit ``key`` and all that was found in it."""
    adata = without_stream(adata)
    fit, keys = fit_of(adata, key), Keys(key)
    check_unique_genes(adata)
    programs = _with_plain_colors(read_programs(adata, key))
    clusters = _read_groups(adata, keys.labels, "cluster", TOL_MUTED)  # a cluster should not look like a program
    same = _are_programs(clusters, programs)
    if same:
        clusters = Grouping("program", programs.names, programs.colors, programs.of_cell)
    weights = np.asarray(adata.varm[keys.weights], dtype=np.float64)
    selected = selected_genes(weights)
    genes = adata.var_names.astype(str).to_numpy(dtype=object)
    given = adata.var[keys.given].to_numpy(dtype=bool) if keys.given in adata.var else np.ones(len(genes), dtype=bool)
    return Source(
        programs=programs,
        clusters=clusters,
        same=same,
        known=None if known is None else _read_known(adata, known),
        confidence=_read_confidence(adata, keys, programs.usages),
        cells=adata.obs_names.astype(str).to_numpy(dtype=object),
        genes=genes[selected],
        weights=weights[selected],
        standing_out=_read_biclusters(adata, keys, weights, genes)[selected],
        n_given=int(given.sum()),
        enrichment=_read_enrichment(adata, keys),
        outliers=adata.obs[keys.outlier].to_numpy(dtype=bool) if keys.outlier in adata.obs else None,
        explained=float(fit["explained"]) if "explained" in fit else None,
        fit=fit,
    )


def plain_colors(colors: Sequence[str], hues: Sequence[str] = OKABE_ITO) -> list[str]:
    """Colours as ``#rrggbb``; what is no colour is replaced, for a style sheet must not be handed just any text."""
    defaults = distinct_colors(len(colors), hues)
    pairs = zip(colors, defaults, strict=True)
    return [to_hex(color) if is_color_like(color) else default for color, default in pairs]


def _with_plain_colors(programs: Programs) -> Programs:
    return Programs(programs.usages, programs.of_cell, programs.names, plain_colors(programs.colors))


def _read_groups(adata: AnnData, column: str, title: str, hues: Sequence[str]) -> Grouping:
    categories = adata.obs[column].astype("category").cat
    names = [str(name) for name in categories.categories]
    colors = plain_colors(column_colors(adata, column, len(names), hues)[: len(names)], hues)
    return Grouping(title, names, colors, np.asarray(categories.codes, dtype=np.int64))


def _read_known(adata: AnnData, known: str) -> Grouping:
    if known not in adata.obs:
        raise KeyError(
            f"known must name a column of adata.obs, got {known!r}; adata.obs has {listing(list(adata.obs))}"
        )
    n_values = adata.obs[known].nunique()
    if n_values > MOST_TYPES:
        raise ValueError(f"known must name a column of cell types, got {known!r} with {n_values:,} different values")
    return _read_groups(adata, known, known, TOL_MUTED)


def _are_programs(clusters: Grouping, programs: Programs) -> bool:
    """Whether every cell's label is the program that it uses most, under whatever name."""
    if (clusters.of_cell < 0).any():
        return False
    names = np.array(programs.names, dtype=object)[programs.of_cell]
    return bool((np.array(clusters.names, dtype=object)[clusters.of_cell] == names).all())


def _read_confidence(adata: AnnData, keys: Keys, usages: np.ndarray) -> Confidence:
    if keys.confidence in adata.obs:
        stored = adata.obs[keys.confidence].to_numpy(dtype=float, na_value=np.nan)
        return Confidence(np.clip(np.nan_to_num(stored, nan=0.0), 0.0, 1.0), measured=True)
    if usages.shape[1] == 1:
        return Confidence((usages[:, 0] > 0).astype(float), measured=False)
    return Confidence(margin(usages), measured=False)


def _read_biclusters(adata: AnnData, keys: Keys, weights: np.ndarray, genes: np.ndarray) -> np.ndarray:
    """Mask (genes, programs) of the genes that stand out; found here with the usual threshold if it was not before."""
    if keys.biclusters not in adata.uns:
        return bicluster_genes(weights)
    table = adata.uns[keys.biclusters]
    members = np.zeros(weights.shape, dtype=bool)
    places = pd.Index(genes).get_indexer(table["gene"].astype(str))
    there = places >= 0  # genes can have been dropped since
    members[places[there], table["program"].astype(str).astype(int).to_numpy()[there]] = True
    return members


def _read_enrichment(adata: AnnData, keys: Keys) -> pd.DataFrame | None:
    if keys.enrichment not in adata.uns:
        return None
    table = adata.uns[keys.enrichment]
    return table.assign(program=table["program"].astype(str).astype(int))
