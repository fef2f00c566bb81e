from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings

from genesieve.core.solvers import Factors
from material import shared_file

# Compiling a kernel on first use would trip hypothesis's deadline.
settings.register_profile("genesieve", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("genesieve")


@dataclass(frozen=True)
class Reference:
    """The paper's synthetic data, its ten starts, and the published results, tall."""

    X: np.ndarray  # (cells, genes)
    labels: np.ndarray
    starts: list[Factors]
    results: dict[str, Factors]
    nmi: dict[str, list[float]]  # arithmetic mean, of each start
    arrays: dict[str, np.ndarray]


@pytest.fixture(scope="session")
def reference() -> Reference:
    arrays = dict(np.load(shared_file("reference", "synthetic.npz")))
    scores = json.loads(shared_file("reference", "synthetic_nmi.json").read_text())
    names = [key.removesuffix("__W") for key in arrays if key.endswith("__W")]
    return Reference(
        X=np.ascontiguousarray(arrays["X"].T),
        labels=arrays["labels"],
        starts=[Factors(np.ascontiguousarray(H.T), W) for W, H in zip(arrays["W0"], arrays["H0"], strict=True)],
        results={name: Factors(arrays[f"{name}__H"].T, arrays[f"{name}__W"]) for name in names},
        nmi=scores["nmi_arithmetic_per_start"],
        arrays=arrays,
    )


@pytest.fixture(scope="session")
def pollen() -> tuple[np.ndarray, np.ndarray]:
    """Pollen as the paper prepared it, log2(x + 1) of genes seen in 30% of cells, and its four classes."""
    anndata = pytest.importorskip("anndata")
    adata = anndata.read_h5ad(shared_file("data", "pollen.h5ad"))
    X = np.log2(adata.X.toarray().astype(np.float64) + 1)
    return np.ascontiguousarray(X[:, (X > 0).mean(axis=0) >= 0.3]), adata.obs["group"].to_numpy()
