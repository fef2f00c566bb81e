"""The paper's twelve methods by name, ready to fit: factorisations by mapalm and raw argmax labels, as published.

>>> METHODS["onmf_l20"](4, n_genes=2000).get_params()["sparsity"]
'rows'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from genesieve.estimators.sparse_kmeans import SparseKMeans
from genesieve.estimators.ssnmf import SSNMF

PAPER_RHO = 1.0  # of ONMF_l20_rho


@dataclass(frozen=True)
class Factorisation:
    """A model of the paper: what is sparse in W, how orthogonal H is, and where the published runs start."""

    sparsity: str | None = None
    orthogonality: float | str = 0.0
    init: str = "nmf"

    def __call__(self, n_components: int, *, n_genes: int | None = None, **options: Any) -> SSNMF:
        """An unfitted estimator; ``options`` override the paper's choices."""
        paper = {"solver": "mapalm", "gauge": None, "init": self.init, "baseline": "zero"}
        model = {"sparsity": self.sparsity, "orthogonality": self.orthogonality, "n_genes": n_genes}
        return SSNMF(n_components, **{**paper, **model, **options})


@dataclass(frozen=True)
class Clustering:
    """A k-means baseline of the paper."""

    penalty: str
    keeps_all_genes: bool = False

    def __call__(self, n_components: int, *, n_genes: int | None = None, **options: Any) -> SparseKMeans:
        """An unfitted estimator, one random start as published; only l0 takes a budget, l1 has its ``bound``."""
        budget = n_genes if self.penalty == "l0" and not self.keeps_all_genes else None
        return SparseKMeans(n_components, **{"penalty": self.penalty, "n_genes": budget, "n_init": 1, **options})


METHODS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "nmf": Factorisation(init="random"),
        "nmf_l20": Factorisation("rows"),
        "nmf_lc0": Factorisation("columns"),
        "nmf_l0": Factorisation("entries"),
        "onmf": Factorisation(orthogonality="exact", init="random"),
        "onmf_l20": Factorisation("rows", "exact", init="random"),
        "onmf_l20_rho": Factorisation("rows", PAPER_RHO),
        "onmf_lc0": Factorisation("columns", "exact"),
        "onmf_l0": Factorisation("entries", "exact"),
        "kmeans": Clustering("l0", keeps_all_genes=True),
        "kmeans_l0": Clustering("l0"),
        "kmeans_l1": Clustering("l1"),
    }
)
