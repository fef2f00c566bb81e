"""The labelled data sets, read from beside the project and prepared alike by ``gs.pp.prepare``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data import shared
from benchmarks.quality.protocol import Cells, Labelled

# Sets whose labels were looked at when defaults were chosen; all others confirm. Whoever changes a default keeps this
# true. None: nobody has said, and the page says so.
CHOSEN_ON: frozenset[str] | None = frozenset(
    {"pollen", "yan", "deng", "goolam", "pbmc3k", "zeisel", "bladder", "xin", "kang"}
)

# The filter that the goals ask for on full-length data, which is what ``prepare`` takes there by itself.
FULL_LENGTH = 0.3

# Values of which more than this share is above zero are handed out dense, where products are faster for every method.
DENSE_SHARE = 0.3


@dataclass(frozen=True)
class DataSet:
    """A file, the column that holds its classes, and whether the goals are about it."""

    title: str
    file: str
    classes: str = "cell_type"
    min_cells: float | None = None  # None: what prepare takes
    in_goals: bool = True

    def missing(self) -> str | None:
        """Why it cannot be read, if so."""
        return shared.missing(self.file)

    def load(self) -> Labelled:
        """Prepared cells and their classes."""
        import anndata

        adata = anndata.read_h5ad(shared.FOLDER / self.file)
        return prepared(adata, adata.obs[self.classes].astype(str).to_numpy(), min_cells=self.min_cells)


def prepared(adata: Any, classes: np.ndarray, *, min_cells: float | None = None) -> Labelled:
    """Cells as every method gets them."""
    import genesieve as gs

    gs.pp.prepare(adata, min_cells=min_cells, raw_layer="raw")
    X, base = sparse.csr_matrix(adata.X), float(adata.uns.get("log1p", {}).get("base") or np.e)
    linear = sparse.csr_matrix(adata.layers["raw"]) if "raw" in adata.layers else _unlogged(X, base)
    dense = X.nnz > DENSE_SHARE * X.shape[0] * X.shape[1]
    return Labelled(Cells(X.toarray() if dense else X, linear, base), classes)


def _unlogged(X: sparse.csr_matrix, base: float) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.expm1(X.data * np.log(base)), X.indices, X.indptr), shape=X.shape)


def synthetic(n_cells: int = 90, n_genes: int = 60, n_classes: int = 3, *, seed: int = 0) -> Labelled:
    """Counts of well-separated classes, each with genes of its own: for warming up and for tests."""
    import anndata

    rng = np.random.default_rng(seed)
    classes = np.arange(n_cells) % n_classes
    rates = np.where(np.arange(n_genes) % (2 * n_classes) == classes[:, None], 20.0, 2.0)  # half the genes are idle
    counts = sparse.csr_matrix(rng.poisson(rates).astype(np.float32))
    return prepared(anndata.AnnData(counts), classes.astype(str))


Full = partial(DataSet, min_cells=FULL_LENGTH)
Further = partial(DataSet, in_goals=False)

DATA: dict[str, DataSet] = {
    "pollen": Full("Pollen, 301 cells, 4 groups", "pollen.h5ad", "group"),
    "yan": Full("Yan, 90 cells, 7 stages", "yan.h5ad"),
    "deng": Full("Deng, 268 cells, 6 groups of stages", "deng.h5ad", "group"),
    "goolam": Full("Goolam, 124 cells, 5 stages", "goolam.h5ad"),
    "pbmc3k": DataSet("PBMC 3k, 2,638 cells, 8 types", "pbmc3k.h5ad"),
    "zeisel": DataSet("Zeisel, 3,005 cells, 7 types, 4,000 variable genes", "zeisel_log4000.h5ad"),
    "bladder": DataSet("mouse bladder, 2,100 cells, 16 types", "mouse_bladder_2100.h5ad"),
    "xin": DataSet("Xin, 674 cells, 4 types, 980 genes", "xin_pancreas_log.h5ad"),
    "camp1": Further("Camp1, 425 cells, 5 types, 801 genes", "camp1_801genes.h5ad"),
    "kang": Further("Kang, 14,039 cells, 8 types, 1,000 variable genes", "kang_pbmc_ifnb_hvg1000.h5ad"),
}
GOAL_SETS = tuple(name for name, data_set in DATA.items() if data_set.in_goals)


def role(name: str) -> str:
    """What a set is for, in a word."""
    if CHOSEN_ON is None:
        return "not declared"
    return "chosen on" if name in CHOSEN_ON else "confirms"
