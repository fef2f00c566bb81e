"""The parameters of `SSNMF` at the door: checked once, before any work, and read in the core's terms.

``model`` is the estimator throughout, which these functions only read.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from numbers import Integral, Real
from typing import Any

import numpy as np

from genesieve._checks import check_array, check_choice, check_integer, check_number
from genesieve.core.cells.blocks import Blocks
from genesieve.core.schedule import SOLVERS, SPARSITIES, STARTS
from genesieve.core.solvers import Factors
from genesieve.interpret.labels import RULES

WEIGHTINGS = ("variation", "auto")
# Parameters that do not decide where a fit ends, or only after it has ended.
INDIFFERENT = ("n_jobs", "memory", "callback", "checkpoint", "labels", "n_clusters", "resolution", "gauge")
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def check_parameters(model: Any, shape: tuple[int, int]) -> None:
    """Raise unless the parameters fit together and suit data of this shape."""
    n_cells, n_genes = shape
    why = f"the smaller of n_samples={n_cells} and n_features={n_genes}"
    check_integer("n_components", model.n_components, 1, min(shape), why=why)
    if model.n_genes is not None:
        check_integer("n_genes", model.n_genes, 1, n_genes, why="the genes given")
    check_choice("sparsity", model.sparsity, SPARSITIES)
    check_choice("solver", model.solver, list(SOLVERS))
    if not (isinstance(model.orthogonality, str) and model.orthogonality in ("exact", "auto")):
        check_number("orthogonality", model.orthogonality, or_else="'exact' or 'auto'")
    _check_labels(model, n_cells)
    check_choice("gauge", model.gauge, ["unit", None])
    if isinstance(model.gene_weights, str):
        check_choice("gene_weights", model.gene_weights, WEIGHTINGS)
    check_integer("max_iter", model.max_iter, 1)
    check_integer("n_restarts", model.n_restarts, 1)
    if model.tol is not None:
        check_number("tol", model.tol)
    if model.n_jobs is not None and model.n_jobs != -1:
        check_integer("n_jobs", model.n_jobs, 1)
    if isinstance(model.init, str):
        check_choice("init", model.init, list(STARTS))
    _check_resources(model)


def _check_labels(model: Any, n_cells: int) -> None:
    check_choice("labels", model.labels, RULES)
    if model.n_clusters is not None:
        if model.resolution is not None:
            raise ValueError(f"n_clusters must be None where a resolution is given, got {model.n_clusters!r}")
        check_integer("n_clusters", model.n_clusters, 1, n_cells, why="the cells given")
    if model.resolution is not None:
        if model.labels != "leiden":
            raise ValueError(f"resolution must be None unless labels is 'leiden', got labels={model.labels!r}")
        check_number("resolution", model.resolution)


def _check_resources(model: Any) -> None:
    read_memory(model.memory)
    if model.checkpoint is None:
        return
    if not isinstance(model.checkpoint, str | os.PathLike):
        raise TypeError(f"checkpoint must be the path of a file or None, got {type(model.checkpoint).__name__}")
    if not isinstance(model.random_state, Integral):
        raise ValueError(
            "random_state must be an integer with a checkpoint, so that a run started again takes the same way,"
            f" got {model.random_state!r}"
        )


def read_memory(memory: float | str | None) -> float | None:
    """Bytes, from a number of them or from words like ``"2GB"``."""
    if memory is None:
        return None
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", memory, re.IGNORECASE)
        if found is None:
            raise ValueError(f"memory must be a size like '2GB' or a number of bytes, got {memory!r}")
        return float(found[1]) * UNITS[found[2].upper()]
    check_number("memory", memory, or_else="a size like '2GB'")
    return float(memory)


def read_required(model: Any, n_genes: int) -> np.ndarray | None:
    """The required genes as a mask."""
    if model.required_genes is None:
        return None
    if model.sparsity != "rows" or model.n_genes is None:
        raise ValueError("required_genes must be None unless sparsity is 'rows' and n_genes is a number")
    required = np.asarray(model.required_genes)
    if required.dtype != bool or required.shape != (n_genes,):
        if required.ndim != 1 or required.dtype.kind not in "iu" or not np.isin(required, np.arange(n_genes)).all():
            raise ValueError(
                f"required_genes must be a mask of length {n_genes} or indices below it (the genes given),"
                f" got an array of {required.dtype} of shape {required.shape}"
            )
        required = np.isin(np.arange(n_genes), required)
    if required.sum() > model.n_genes:
        raise ValueError(f"required_genes must be at most n_genes={model.n_genes}, got {required.sum()}")
    return required


def read_start(model: Any, blocks: Blocks, gene_weights: np.ndarray | None) -> Factors:
    """The user's pair (H0, W0), under the gene weights of the fit."""
    if not isinstance(model.init, tuple | list) or len(model.init) != 2:
        raise TypeError(f"init must be one of {list(STARTS)} or a pair (H0, W0), got {type(model.init).__name__}")
    H, W = (
        check_array(f"init {name}", factor, (size, model.n_components))
        for name, factor, size in zip(("H0", "W0"), model.init, blocks.shape, strict=True)
    )
    if gene_weights is not None:
        W = W * gene_weights[:, None]
    return Factors(H.astype(blocks.dtype), W.astype(blocks.dtype))


def describe_fit(model: Any, blocks: Blocks) -> dict[str, Any]:
    """What makes a fit the one it is, in plain types: parameters and data."""
    chosen = {name: _plain(value) for name, value in model.get_params().items() if name not in INDIFFERENT}
    chosen["orthogonality_"] = _plain(model.orthogonality_)  # what "auto" stands for
    mean = blocks.moments().mean
    numbered = float(np.arange(1, len(mean) + 1) @ mean)  # genes in another order give another sum
    return {**chosen, "shape": list(blocks.shape), "squared_norm": blocks.squared_norm, "numbered_means": numbered}


def _plain(value: Any) -> Any:
    """Numbers, words, None, and a digest of arrays."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Real):
        return float(value)
    return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in _arrays(value))).hexdigest()


def _arrays(value: Any) -> list[np.ndarray]:
    return [np.asarray(part) for part in value] if isinstance(value, tuple | list) else [np.asarray(value)]
