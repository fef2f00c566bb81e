"""The cell map of the report, made once and kept with the fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from genesieve._report.findings import read_findings
from genesieve._slots.write import write_map
from genesieve.pl._layout import MOST_SHOWN, choose_cells, has_embedding, map_cells

if TYPE_CHECKING:
    from anndata import AnnData


def keep_map(adata: AnnData, key: str) -> None:
    """Make the map that the report will show and keep it with the fit, unless there is an embedding or a map."""
    reserve_map(adata, key)()


def reserve_map(adata: AnnData, key: str) -> Callable[[], None]:
    """Make room for the map; what is returned fills it, and may do so beside others that read the object."""
    findings = read_findings(adata, key, None)
    if findings.fit.cell_map is not None or has_embedding(adata):
        return lambda: None
    shown = choose_cells(findings.clusters.of_cell, findings.programs.usages.max(axis=1), MOST_SHOWN)
    room = write_map(adata, key)

    def fill() -> None:
        room[shown] = map_cells(adata, findings.fit, shown).places

    return fill
