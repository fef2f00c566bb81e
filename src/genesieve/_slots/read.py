"""Reading results from an AnnData for display: what is missing is named, with the function that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from genesieve._anndata import check_unique_genes, fit_of, listing, table_of, usages_of
from genesieve._slots.keys import Keys
from genesieve.pl._style import LONGEST_NAME, OKABE_ITO, distinct_colors, shorten

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


def read_slot(adata: AnnData, where: str, name: str, maker: str) -> Any:
    """``adata.<where>[name]``, or an error that says what makes it and what there is."""
    slots = table_of(adata.obs) if where == "obs" else getattr(adata, where)
    if name not in slots:
        raise KeyError(f"adata.{where} has no {name!r}, run gs.tl.{maker} first; {_contents(where, slots)}")
    return slots[name]


def _contents(where: str, slots: Any) -> str:
    return f"adata.{where} has {listing(list(slots)) or 'nothing'}"


def read_programs(adata: AnnData, key: str) -> Programs:
    """The programs stored under ``key``.

    Programs are named by the categories of ``obs[key]``, so that renaming those renames the programs in every plot, and
    coloured by ``uns[key + "_colors"]``, where scanpy keeps the colours of a column.
    """
    keys = Keys(key)
    usages = usages_of(adata, key)
    if not len(usages):
        raise ValueError("adata must have cells, got none")
    labels = read_slot(adata, "obs", keys.labels, "ssnmf").astype("category").cat
    of_cell = usages.argmax(axis=1)
    category = _category_of_program(of_cell, np.asarray(labels.codes), usages.shape[1])
    if category is None:
        names = [str(program) for program in range(usages.shape[1])]
        return Programs(usages, of_cell, names, distinct_colors(len(names)))
    palette = column_colors(adata, key, len(labels.categories))
    names = [str(labels.categories[code]) if code >= 0 else str(program) for program, code in enumerate(category)]
    defaults = distinct_colors(len(names))
    colors = [palette[code] if code >= 0 else default for code, default in zip(category, defaults, strict=True)]
    return Programs(usages, of_cell, names, colors)


def read_weights(adata: AnnData, key: str) -> np.ndarray:
    """Gene weights (genes, programs) of the fit stored under ``key``."""
    fit_of(adata, key)
    return np.asarray(adata.varm[Keys(key).weights])


def _category_of_program(of_cell: np.ndarray, codes: np.ndarray, rank: int) -> np.ndarray | None:
    """The label that the cells of each program carry (-1 if it has none), or None if labels are not programs."""
    category = np.full(rank, -1)
    category[of_cell] = codes
    taken = category[category >= 0]
    matches = np.array_equal(category[of_cell], codes) and len(np.unique(taken)) == len(taken)
    return category if matches else None


def column_colors(adata: AnnData, column: str, n_categories: int, hues: Sequence[str] = OKABE_ITO) -> list[str]:
    """Colours of the categories of an ``obs`` column: those that scanpy stored, or a colour-blind-safe choice."""
    stored = [str(color) for color in adata.uns.get(f"{column}_colors", ())]
    return stored if len(stored) >= n_categories else distinct_colors(n_categories, hues)


def read_table(adata: AnnData, name: str, maker: str) -> Any:
    """A table in ``uns`` with its programs as integers."""
    frame = read_slot(adata, "uns", name, maker)
    return frame.assign(program=frame["program"].astype(str).astype(int))


def read_annotation(adata: AnnData, column: str) -> Any:
    """A column of ``obs`` to annotate cells by."""
    columns = table_of(adata.obs)
    if column not in columns:
        raise KeyError(f"color must name columns of adata.obs, got {column!r}; {_contents('obs', columns)}")
    return columns[column]


def gene_positions(adata: AnnData, genes: Sequence[str], source: str) -> np.ndarray:
    """Where the genes stand in ``adata.var_names``."""
    check_unique_genes(adata)
    positions = adata.var_names.get_indexer(list(genes))
    missing = [gene for gene, position in zip(genes, positions, strict=True) if position < 0]
    if missing:
        raise ValueError(f"adata lacks {len(missing)} of the {len(genes)} genes of {source}: {listing(missing)}")
    return np.asarray(positions)


def pick_programs(programs: Sequence[int | str] | None, names: Sequence[str]) -> list[int]:
    """Positions of the programs asked for, by name or by number; all of them for None."""
    if programs is None:
        return list(range(len(names)))
    numbered = {str(number): number for number in range(len(names))}
    known = numbered | {name: position for position, name in enumerate(names)}
    unknown = [program for program in programs if str(program) not in known]
    if unknown or not len(programs):
        raise ValueError(f"programs must be among {listing(list(names))}, got {list(programs)!r}")
    return [known[str(program)] for program in programs]
