"""Random fits: data of every shape, storage and size of values, and options of every kind, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

STORAGES = (
    "array",
    "fortran",
    "strided",
    "read-only",
    "big-endian",
    "csr",
    "csc",
    "csr_array",
    "unsorted",
    "repeated",
    "coo",
    "list",
)
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
MOST_CELLS, MOST_GENES, LARGEST = 40, 30, 500
# Where values are whole numbers, types that scikit-learn has to convert.
WHOLE_TYPES = ("int64", "int32", "uint8", "float16", "bool")
# Values that a parameter must refuse; one case in twenty has one of them.
NONSENSE: dict[str, tuple[Any, ...]] = {
    "n_components": (0, -1, 1.5, "many", None, np.nan, 10**9, True),
    "n_genes": (0, -3, 2.5, "all", 10**9, np.inf),
    "sparsity": ("row", 3, ""),
    "orthogonality": (-1.0, np.nan, np.inf, "strict", None),
    "solver": ("", "newton", None),
    "init": ("zeros", None, (1, 2, 3), (np.zeros((1, 1)),), 5),
    "max_iter": (0, -1, 2.5, "10", None),
    "tol": (-1e-3, np.nan, "small"),
    "n_restarts": (0, -1, 1.5, None),
    "labels": ("louvain", None, 4),
    "n_clusters": (0, -2, 1.5, "two"),
    "resolution": (-1.0, np.nan, "high"),
    "gauge": ("l1", 0),
    "gene_weights": (np.array([1.0]), "cv", -1.0, np.array([[1.0, 2.0]])),
    "baseline": ("median", None, 0),
    "required_genes": (np.array([10**6]), "all", np.array([0.5])),
    "n_jobs": (0, "two", 1.5),
    "random_state": (-1, "seed", 1.5),
    "callback": (3, "print"),
    "checkpoint": ("", 3),
    "memory": ("much", -1, 0),
}


@dataclass(frozen=True)
class Case:
    """A fit to try."""

    seed: int
    X: Any
    options: dict[str, Any]
    kind: str
    storage: str
    power: int
    batches: np.ndarray | None = None
    nonsense: str | None = None  # the parameter that has to be refused
    note: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> np.ndarray:
        """X as an array."""
        return np.asarray(self.X.toarray() if sparse.issparse(self.X) else self.X)

    def __str__(self) -> str:
        values = self.values
        about = f"seed {self.seed}: {self.kind} {values.dtype} {values.shape} as {self.storage}, times 1e{self.power}"
        batches = "" if self.batches is None else f" in {len(set(self.batches))} batches"
        return f"{about}{batches}, {self.options}"


def draw(seed: int, share_of_large: float = 0.001) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng([seed, 23])
    large = rng.random() < share_of_large
    cells, genes = (_size(LARGEST if large else most, rng) for most in (MOST_CELLS, MOST_GENES))
    kind, power = str(rng.choice(KINDS)), int(rng.choice(POWERS))
    dtype = np.dtype(rng.choice(["float32", "float64"]))
    if kind in ("counts", "one-hot", "constant", "zero") and power == 0 and rng.random() < 0.4:
        dtype = np.dtype(rng.choice(WHOLE_TYPES))
    if dtype == np.float32:
        power = int(np.clip(power, -30, 30))
    values = (make_values(kind, cells, genes, rng) * 10.0**power).astype(dtype)
    storage = str(rng.choice(STORAGES))
    if dtype == np.float16 and storage not in ("array", "fortran", "read-only", "strided"):
        storage = "array"  # SciPy has no sparse values of half precision
    options, nonsense = draw_options(cells, genes, rng), None
    batches = rng.choice(["a", "b", "c"], size=cells) if rng.random() < 0.06 and options["solver"] == "bcd" else None
    X = store(values, storage, rng)
    if rng.random() < 0.05:
        nonsense = str(rng.choice(list(NONSENSE)))
        options[nonsense] = NONSENSE[nonsense][rng.integers(len(NONSENSE[nonsense]))]
    return Case(seed, X, options, kind, storage, power, batches, nonsense)


def _size(most: int, rng: np.random.Generator) -> int:
    """From 1 to ``most``; most of them as often small as large, so that most fits are cheap."""
    if rng.random() < 0.3:
        return int(rng.integers(1, most + 1))
    return int(np.exp(rng.uniform(0.0, np.log(most + 1))))


def make_values(kind: str, cells: int, genes: int, rng: np.random.Generator) -> np.ndarray:
    """Values of about unit size (cells, genes)."""
    planted = rng.gamma(0.5, 1.0, (cells, 3)) @ rng.gamma(0.5, 1.0, (3, genes))
    if kind == "counts":
        return rng.poisson(np.minimum(planted, 200.0)).clip(max=255).astype(float)
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
    if storage == "list":
        return values.astype(np.float64).tolist() if values.dtype.kind == "f" else values.tolist()
    if storage == "unsorted":
        X = sparse.csr_matrix(values)
        for start, stop in zip(X.indptr, X.indptr[1:], strict=False):
            order = rng.permutation(stop - start)
            X.indices[start:stop], X.data[start:stop] = X.indices[start:stop][order], X.data[start:stop][order]
        X.has_sorted_indices = False
        return X
    if storage == "repeated":
        return _with_repeats(values)
    if storage == "csr_array":
        return sparse.csr_array(values)
    return values if storage == "array" else sparse.csr_matrix(values).asformat(storage)


def _with_repeats(values: np.ndarray) -> Any:
    """CSR rows that have every value in two halves, and whole numbers in one part and a zero."""
    X = sparse.csr_matrix(values)
    part = X.data / 2 if X.dtype.kind == "f" else np.zeros_like(X.data)
    rest = X.data if X.dtype.kind == "b" else X.data - part
    data = np.stack([part.astype(X.dtype), rest.astype(X.dtype)], axis=1).ravel()
    repeated = sparse.csr_matrix((data, np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    repeated.has_canonical_format = False
    return repeated


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
        "init": str(rng.choice(["nmf", "random", "random", "nndsvd", "nndsvd"])),  # the first tries many starts
        "max_iter": int(rng.choice([1, 5, 30, 30, 200])),
        "n_restarts": int(rng.choice([1, 1, 1, 2])),
        "labels": str(rng.choice(["argmax"] * 12 + ["kmeans", "leiden"])),
        "gauge": "unit" if rng.random() < 0.9 else None,
        "gene_weights": [None, "auto", "variation"][rng.integers(3)],
        "baseline": str(rng.choice(["mean", "zero"])),
        "random_state": int(rng.integers(100)),
        "n_jobs": int(rng.choice([1, 1, 1, 2])),
    }
    if solver != "bcd":
        options["line_search"] = bool(rng.random() < 0.5)
    return options | _rare_options(options, cells, genes, rng)


def _rare_options(options: dict[str, Any], cells: int, genes: int, rng: np.random.Generator) -> dict[str, Any]:
    rare: dict[str, Any] = {}
    rank, n_genes = options["n_components"], options["n_genes"]
    if rng.random() < 0.05:
        rare |= {"consensus": True, "n_restarts": 3}
    if rng.random() < 0.05 and options["sparsity"] == "rows" and n_genes is not None:
        rare["required_genes"] = rng.choice(genes, size=int(rng.integers(n_genes + 1)), replace=False)
    if rng.random() < 0.05:
        rare["init"] = (rng.random((cells, rank)), rng.random((genes, rank)))
    if rng.random() < 0.05:
        rare["gene_weights"] = rng.gamma(1.0, 1.0, genes) + 1e-3
    if rng.random() < 0.1:
        rare["tol"] = float(rng.choice([0.0, 1e-12, 1e-2, 1.0]))
    if options["labels"] != "argmax" and rng.random() < 0.4:
        rare["n_clusters"] = int(rng.integers(1, cells + 1))
    if options["labels"] == "leiden" and "n_clusters" not in rare and rng.random() < 0.3:
        rare["resolution"] = float(rng.choice([1e-3, 1.0, 10.0]))
    return rare
