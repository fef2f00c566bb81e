"""Programs as plots need them: by name, with a colour each; and where their genes stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genesieve._anndata import check_unique_genes
from genesieve._checks import listing
from genesieve._colors import OKABE_ITO, distinct_colors
from genesieve._slots.read import read_colors, read_projection
from genesieve.pl._style import LONGEST_NAME, shorten

if TYPE_CHECKING:
    from anndata import AnnData


@dataclass(frozen=True)
class Programs:
    """The fitted programs, as plots need them."""

    usages: np.ndarray  # (cells, programs)
    of_cell: np.ndarray  # (cells,), the program that each cell uses most
    names: list[str]
    colors: list[str]

    def __len__(self) -> int:
        return len(self.names)

    def title(self, program: int, longest: int = LONGEST_NAME) -> str:
        """What to call a program where nothing else says that it is one."""
        name = self.names[program]
        return f"program {name}" if name == str(program) else shorten(name, longest)


def read_programs(adata: AnnData, key: str) -> Programs:
    """The programs stored under ``key``.

    Programs are named by the categories of ``obs[key]``, so that renaming those renames the programs in every plot, and
    coloured by ``uns[key + "_colors"]``, where scanpy keeps the colours of a column.
    """
    fit = read_projection(adata, key)
    if not len(fit.usages):
        raise ValueError("adata must have cells, got none")
    palette = column_colors(adata, key, len(fit.of_cells("labels").astype("category").cat.categories))
    pairs = zip(fit.categories, distinct_colors(fit.rank), strict=True)
    colors = [palette[category] if category >= 0 else default for category, default in pairs]
    return Programs(fit.usages, fit.most_used, fit.names, colors)


def column_colors(adata: AnnData, column: str, n_categories: int, hues: Sequence[str] = OKABE_ITO) -> list[str]:
    """Colours of the categories of an ``obs`` column: those that scanpy stored, or a colour-blind-safe choice."""
    stored = read_colors(adata, column)
    return stored if len(stored) >= n_categories else distinct_colors(n_categories, hues)


def pick_programs(programs: Sequence[int | str] | None, names: Sequence[str]) -> list[int]:
    """Positions of the programs asked for, by name or by number; all of them for None."""
    if programs is None:
        return list(range(len(names)))
    numbered = {str(number): number for number in range(len(names))}
    positions = numbered | {name: position for position, name in enumerate(names)}
    unknown = [program for program in programs if str(program) not in positions]
    if unknown or not len(programs):
        raise ValueError(f"programs must be among {listing(list(names))}, got {list(programs)!r}")
    return [positions[str(program)] for program in programs]


def gene_positions(adata: AnnData, genes: Sequence[str], source: str) -> np.ndarray:
    """Where the genes stand in ``adata.var_names``."""
    check_unique_genes(adata)
    positions = adata.var_names.get_indexer(list(genes))
    missing = list(dict.fromkeys(gene for gene, position in zip(genes, positions, strict=True) if position < 0))
    if missing:  # a gene of several programs counts once
        raise ValueError(f"adata lacks {len(missing)} of the {len(set(genes))} genes of {source}: {listing(missing)}")
    return np.asarray(positions)
