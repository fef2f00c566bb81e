"""The cell map of the report, made once and kept with the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from genesieve._report.findings import read_findings
from genesieve._slots.write import write_map
from genesieve.pl._layout import MOST_SHOWN, choose_cells, has_embedding, map_cells

if TYPE_CHECKING:
    from anndata import AnnData


def keep_map(adata: AnnData, key: str) -> None:
    """Make the map that the report will show and keep it with the fit, unless there is an embedding or a map."""
    findings = read_findings(adata, key, None)
    if findings.fit.cell_map is None and not has_embedding(adata):
        shown = choose_cells(findings.clusters.of_cell, findings.programs.usages.max(axis=1), MOST_SHOWN)
        write_map(adata, key, shown, map_cells(adata, findings.fit, shown).places)
