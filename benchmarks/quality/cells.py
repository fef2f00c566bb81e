"""Cells as every method gets them, prepared alike by ``gs.pp.prepare``, and the classes that only the scorer sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from anndata import AnnData

# The gene budget of every method that selects genes or starts from variable ones.
N_GENES = 2000
# Values of which more than this share is above zero are handed out dense, where products are faster for every method.
DENSE_SHARE = 0.3


@dataclass(frozen=True)
class Cells:
    """What a method is given: expression, never the labels."""

    X: Any  # (cells, genes), CSR or an array, prepared: logged, rarely seen genes dropped
    linear: Any  # (cells, genes), CSR, the same genes before the logarithm: counts where there are counts
    log_base: float

    def budget(self, n_genes: int = N_GENES) -> int:
        """A number of genes, or all that there are."""
        return min(n_genes, self.X.shape[1])

    def dense(self, genes: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Some genes as an array."""
        return self.X[:, genes].toarray() if sparse.issparse(self.X) else self.X[:, genes]

    def adata(self) -> AnnData:
        """The prepared values as scanpy takes them."""
        from anndata import AnnData

        return AnnData(self.X.copy(), uns={"log1p": {"base": self.log_base}})


@dataclass(frozen=True)
class Labelled:
    """Cells, and the class of each, which only the scorer sees."""

    cells: Cells
    classes: np.ndarray

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.classes))


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
