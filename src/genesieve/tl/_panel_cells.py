"""The cells that a panel is chosen and judged by: all of them, or where there are very many a sample in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import (
    LOG_BASES,
    kind_of_values,
    on_scales,
    pending_recipe,
    read_values,
    select_genes,
    stored_values,
)
from genesieve._checks import check_number, choices
from genesieve._slots.read import Fit, read_log_base, read_preparation
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.low_rank import products
from genesieve.core.cells.sampling import WHOLE_CELLS
from genesieve.core.cells.streamed import as_source
from genesieve.core.cells.transform import Transform

if TYPE_CHECKING:
    from anndata import AnnData

SMALLEST_TYPE = 5  # cells that are needed to choose genes for a type
SHARE_OF_SAMPLE = 0.5  # of the cells of a sample, at most, that are drawn evenly over types, for the rare ones


@dataclass(frozen=True)
class Platform:
    """What the platform of the panel sees."""

    efficiency: float = 1.0  # the share of the molecules in the data
    counts: str = "raw"  # layer with the counts to thin

    def check(self, adata: AnnData) -> None:
        """Raise where there is nothing to thin."""
        check_number("efficiency", self.efficiency)
        if not 0 < self.efficiency <= 1:
            raise ValueError(f"efficiency must be above 0 and at most 1, got {self.efficiency:g}")
        if self.efficiency < 1 and pending_recipe(adata) is None and self.counts not in adata.layers:
            raise ValueError(
                f"efficiency must be 1 without counts to thin, got {self.efficiency:g}; counts={self.counts!r} is no"
                f" layer of adata{choices('layers', adata.layers)}"
            )

    def thinned(self, adata: AnnData, given: np.ndarray, cells: np.ndarray, rng: np.random.Generator) -> Any:
        """Values of some cells on the genes given, as the platform would show them, brought to the same depth."""
        outside = pending_recipe(adata) is not None
        counts = read_values(adata, as_stored=True) if outside else read_values(adata, layer=self.counts)
        if kind_of_values(counts) != "counts":
            raise ValueError(f"counts must name whole numbers to thin, got other values in {self.counts!r}")
        X = as_source(counts).rows(cells).copy()
        values = stored_values(X)
        values[...] = rng.binomial(values.astype(np.int64), self.efficiency)
        recipe = read_preparation(adata)
        depth = float(recipe.get("target_sum", 0)) or float(np.median(np.asarray(X.sum(axis=1))))
        base = LOG_BASES.get(str(recipe.get("log", "none"))) or read_log_base(adata)
        return Transform(depth, base).select(given)(X)


@dataclass(frozen=True)
class PanelCells:
    """Cells in memory on the genes given, with what is known of them."""

    X: Any  # (cells, genes)
    seen: Any  # the same as the platform sees it
    usages: np.ndarray  # (cells, rank)
    types: np.ndarray  # (cells,): numbers of known types, or of programs; -1 where it is not known
    names: list[str]  # of the types
    log_base: float | None
    n_jobs: int | None

    @classmethod
    def of(
        cls,
        adata: AnnData,
        fit: Fit,
        given: np.ndarray,
        known: pd.Series | None,
        rng: np.random.Generator,
        n_jobs: int | None,
        platform: Platform,
    ) -> PanelCells:
        """All cells, or a sample of them."""
        types, names = (fit.most_used, fit.names) if known is None else _numbered(known)
        X = read_values(adata, **fit.values_from)
        base = _log_base(adata, X)
        source = as_source(X if given.all() else select_genes(X, given), n_jobs=n_jobs)
        cells = _drawn(types, rng)
        rows = on_scales(adata, fit, source.rows(cells), cells, given)
        thinned = rows if platform.efficiency == 1 else platform.thinned(adata, given, cells, rng)
        seen = rows if thinned is rows else on_scales(adata, fit, thinned, cells, given)
        return cls(rows, seen, fit.usages[cells], types[cells], names, base, n_jobs)

    @cached_property
    def blocks(self) -> Blocks:
        """The cells as the core visits them."""
        return Blocks(self.X, n_jobs=self.n_jobs)

    @cached_property
    def seen_blocks(self) -> Blocks:
        """The same as the platform sees it."""
        return self.blocks if self.seen is self.X else Blocks(self.seen, n_jobs=self.n_jobs)

    @cached_property
    def large_types(self) -> np.ndarray:
        """Types numbered anew, without those of too few cells."""
        sizes = self.sizes
        number = np.where(sizes >= SMALLEST_TYPE, np.cumsum(sizes >= SMALLEST_TYPE) - 1, -1)
        return np.asarray(np.where(self.types >= 0, number[self.types], -1))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Cells of every type."""
        return np.bincount(self.types[self.types >= 0], minlength=len(self.names))

    @cached_property
    def expression(self) -> np.ndarray:
        """Mean of every gene before the logarithm (genes,)."""
        X = self.X.copy()
        if self.log_base is not None:
            values = stored_values(X)
            values[...] = np.expm1(values * np.log(self.log_base))
        return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()

    def values_of(self, genes: np.ndarray) -> np.ndarray:
        """Dense values (cells, genes) of some genes as the platform sees them, in their order."""
        chosen = Blocks(select_genes(self.seen, genes), n_jobs=self.n_jobs)
        return chosen.usages(np.eye(len(genes)), products)


def _numbered(known: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Types as numbers, by their names."""
    kinds = known.astype("category").cat.remove_unused_categories()
    n_large = int((kinds.value_counts() >= SMALLEST_TYPE).sum())
    if n_large < 2:
        raise ValueError(
            f"labels must tell at least 2 types apart, of {SMALLEST_TYPE} cells or more,"
            f" got {n_large} in {known.name!r}"
        )
    return kinds.cat.codes.to_numpy(dtype=np.int64), [str(name) for name in kinds.cat.categories]


def _drawn(types: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers of the cells to take, ascending: in a sample, rare types have up to as many as an even share of half."""
    if len(types) <= WHOLE_CELLS:
        return np.arange(len(types))
    each = int(SHARE_OF_SAMPLE * WHOLE_CELLS / (types.max() + 1))
    rare = [rng.permutation(np.flatnonzero(types == kind))[:each] for kind in range(types.max() + 1)]
    drawn = np.unique(np.concatenate(rare))
    rest = np.setdiff1d(np.arange(len(types)), drawn, assume_unique=True)
    return np.sort(np.concatenate([drawn, rng.choice(rest, WHOLE_CELLS - len(drawn), replace=False)]))


def _log_base(adata: AnnData, X: Any) -> float | None:
    """The base of the logarithm that values are in; None if they are not logged."""
    if kind_of_values(X) != "log":
        return None
    return LOG_BASES.get(str(read_preparation(adata).get("log", "none"))) or read_log_base(adata)
