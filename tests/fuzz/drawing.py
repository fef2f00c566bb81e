"""Random fits: data of every shape, storage and size of values, and options of every kind, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

STORAGES = ("array", "fortran", "strided", "read-only", "big-endian", "csr", "csc", "csr_array", "unsorted", "coo")
KINDS = (
    "planted",
    "counts",
    "sparse",
    "constant",
    "zero",
    "duplicated",
    "one-hot",
    "rank one",
    "outlier",
    "empty rows",
)
# Powers of ten that values are multiplied by; most often none, as most data are.
POWERS = (0, 0, 0, 0, 0, 0, -3, 3, -12, 12, -30, 30, -59, 59, -150, 150, -300, 300)
MOST_CELLS, MOST_GENES, LARGEST = 60, 50, 500


@dataclass(frozen=True)
class Case:
    """A fit to try."""

    seed: int
    X: Any
    options: dict[str, Any]
    kind: str
    storage: str
    power: int

    def __str__(self) -> str:
        about = f"seed {self.seed}: {self.kind} {self.X.dtype} {self.X.shape} as {self.storage}, times 1e{self.power}"
        return f"{about}, {self.options}"


def draw(seed: int) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng([seed, 23])
    large = rng.random() < 0.02
    cells, genes = (int(rng.integers(1, (LARGEST if large else most) + 1)) for most in (MOST_CELLS, MOST_GENES))
    kind, power = str(rng.choice(KINDS)), int(rng.choice(POWERS))
    dtype = np.dtype(rng.choice(["float32", "float64"]))
    if dtype == np.float32:
        power = int(np.clip(power, -30, 30))
    values = (make_values(kind, cells, genes, rng) * 10.0**power).astype(dtype)
    storage = str(rng.choice(STORAGES))
    return Case(seed, store(values, storage, rng), draw_options(cells, genes, rng), kind, storage, power)


def make_values(kind: str, cells: int, genes: int, rng: np.random.Generator) -> np.ndarray:
    """Values of about unit size (cells, genes)."""
    planted = rng.gamma(0.5, 1.0, (cells, 3)) @ rng.gamma(0.5, 1.0, (3, genes))
    if kind == "counts":
        return rng.poisson(planted).astype(float)
    if kind == "sparse":
        return planted * rng.binomial(1, 0.05, planted.shape)
    if kind == "constant":
        return np.ones((cells, genes))
    if kind == "zero":
        return np.zeros((cells, genes))
    if kind == "duplicated":
        return planted[rng.integers(cells, size=cells) // 4][:, rng.integers(genes, size=genes) // 4]
    if kind == "one-hot":
        return np.eye(genes)[rng.integers(genes, size=cells)]
    if kind == "rank one":
        return np.outer(rng.random(cells), rng.random(genes))
    if kind == "outlier":
        planted[rng.integers(cells), rng.integers(genes)] = 1e6
    if kind == "empty rows":
        planted[rng.random(cells) < 0.5] = 0.0
        planted[:, rng.random(genes) < 0.5] = 0.0
    return planted


def store(values: np.ndarray, storage: str, rng: np.random.Generator) -> Any:
    """The values as one of `STORAGES`."""
    if storage == "fortran":
        return np.asfortranarray(values)
    if storage == "strided":
        wide = np.zeros((2 * values.shape[0], 3 * values.shape[1]), dtype=values.dtype)
        wide[::2, ::3] = values
        return wide[::2, ::3]
    if storage == "read-only":
        values.flags.writeable = False
        return values
    if storage == "big-endian":
        return values.astype(values.dtype.newbyteorder(">"))
    if storage == "unsorted":
        X = sparse.csr_matrix(values)
        for start, stop in zip(X.indptr, X.indptr[1:], strict=False):
            order = rng.permutation(stop - start)
            X.indices[start:stop], X.data[start:stop] = X.indices[start:stop][order], X.data[start:stop][order]
        X.has_sorted_indices = False
        return X
    if storage == "csr_array":
        return sparse.csr_array(values)
    return values if storage == "array" else sparse.csr_matrix(values).asformat(storage)


def draw_options(cells: int, genes: int, rng: np.random.Generator) -> dict[str, Any]:
    """Parameters of the estimator that suit data of this shape."""
    n_components = int(rng.integers(1, min(cells, genes, 8) + 1))
    solver = str(rng.choice(["bcd", "bcd", "bcd", "bcd", "mapalm", "palm"]))
    options: dict[str, Any] = {
        "n_components": n_components,
        "n_genes": None if rng.random() < 0.2 else int(rng.integers(1, genes + 1)),
        "sparsity": rng.choice(np.array(["rows", "rows", "columns", "entries", None], dtype=object)),
        "orthogonality": [0.0, "auto", "exact", 0.05, 1.0, 1e6][rng.integers(6)],
        "solver": solver,
        "init": str(rng.choice(["nmf", "random", "nndsvd"])),
        "max_iter": int(rng.choice([1, 5, 30, 200])),
        "n_restarts": int(rng.choice([1, 1, 1, 2])),
        "labels": str(rng.choice(["argmax", "argmax", "kmeans", "leiden"])),
        "gauge": "unit" if rng.random() < 0.9 else None,
        "gene_weights": [None, "auto", "variation"][rng.integers(3)],
        "baseline": str(rng.choice(["mean", "zero"])),
        "random_state": int(rng.integers(100)),
        "n_jobs": int(rng.choice([1, 2])),
    }
    if solver != "bcd":
        options["line_search"] = bool(rng.random() < 0.5)
    return options
