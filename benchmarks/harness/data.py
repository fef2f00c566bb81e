"""The table of data sets: real ones stand beside the project, never in it; `atlas` simulates any number of cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from benchmarks.harness.peers import Missing

if TYPE_CHECKING:
    from anndata import AnnData

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
NORMALISED_DEPTH = 1e4
# The share of cells that must show a gene on full-length data, which is what ``gs.pp.prepare`` takes there by itself.
FULL_LENGTH = 0.3


@dataclass(frozen=True)
class DataSet:
    """A file, the column that holds its classes, and the genes that are kept."""

    title: str
    file: str
    classes: str = "cell_type"
    min_cells: float | None = None  # share of cells that show a gene; None: what prepare takes

    def read(self) -> AnnData:
        """The file, in memory."""
        import anndata

        if not (FOLDER / self.file).exists():
            raise Missing(f"{self.file} is not in ../shared/data beside the project")
        return anndata.read_h5ad(FOLDER / self.file)

    def counts(self) -> sparse.csr_array:
        """Its matrix (cells, genes)."""
        return sparse.csr_array(self.read().X)


Full = partial(DataSet, min_cells=FULL_LENGTH)
DATA: dict[str, DataSet] = {
    "pollen": Full("Pollen, 301 cells, 4 groups", "pollen.h5ad", "group"),
    "yan": Full("Yan, 90 cells, 7 stages", "yan.h5ad"),
    "deng": Full("Deng, 268 cells, 6 groups of stages", "deng.h5ad", "group"),
    "goolam": Full("Goolam, 124 cells, 5 stages", "goolam.h5ad"),
    "pbmc3k": DataSet("PBMC 3k, 2,638 cells, 8 types", "pbmc3k.h5ad"),
    "zeisel": DataSet("Zeisel, 3,005 cells, 7 types, 4,000 variable genes", "zeisel_log4000.h5ad"),
    "bladder": DataSet("mouse bladder, 2,100 cells, 16 types", "mouse_bladder_2100.h5ad"),
    "xin": DataSet("Xin, 674 cells, 4 types, 980 genes", "xin_pancreas_log.h5ad"),
    "camp1": DataSet("Camp1, 425 cells, 5 types, 801 genes", "camp1_801genes.h5ad"),
    "kang": DataSet("Kang, 14,039 cells, 8 types, 1,000 variable genes", "kang_pbmc_ifnb_hvg1000.h5ad"),
    "bmmc": DataSet("bone marrow (10x), 8,390 x 18,479", "bmmc_aml_10x.h5ad"),
}


def log_normalised(counts: sparse.csr_array) -> sparse.csr_array:
    """Counts brought to one depth a cell, then ``log(1 + x)``."""
    depth = np.maximum(counts.sum(axis=1), 1.0)
    values = counts.data * np.repeat(NORMALISED_DEPTH / depth, np.diff(counts.indptr))
    return sparse.csr_array((np.log1p(values).astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)
