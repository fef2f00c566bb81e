"""What data sets and methods look like to the runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from anndata import AnnData

# The gene budget of every method that selects genes or starts from variable ones.
N_GENES = 2000


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


class Peer(Protocol):
    """A module of ``benchmarks.quality.peers``."""

    TITLE: str
    GROUP: str  # "genesieve", "peer", or "part": measured for a goal, not a method of its own

    def missing(self) -> str | None:
        """Why the method cannot run here, if so."""

    def versions(self) -> dict[str, str]:
        """Versions of what it runs."""

    def cluster(self, data: Cells, n_clusters: int, seed: int) -> np.ndarray:
        """A label for each cell."""
