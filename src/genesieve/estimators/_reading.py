"""Parameters of `SSNMF` that only the data make sense of: "auto", required genes, a start, the fit of a checkpoint.

``model`` is the estimator throughout, which these functions only read.
"""

from __future__ import annotations

from hashlib import sha256
from numbers import Real
from typing import Any

import numpy as np

from genesieve._checks import check_array
from genesieve._random import as_generator
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.sources import Source
from genesieve.core.schedule import Schedule
from genesieve.core.solvers import SOLVERS, Factors
from genesieve.core.weights import variation_weights
from genesieve.estimators._parameters import AUTO, DECIDING, STARTS
from genesieve.selection.choose import Selection, select
from genesieve.selection.evidence import Tell

# What orthogonality="auto" takes with a budget of genes: enough that a program shared by all cells, which would be the
# largest of most, is not worth having. Labels agree with known types as well from 0.03 to 0.2 (docs/quality.md).
ORTHOGONALITY = 0.05


def read_sizes(
    model: Any, source: Source, batch: np.ndarray | None, tell: Tell | None = None
) -> tuple[int, int | None, Selection | None]:
    """The numbers of programs and genes that ``"auto"`` stands for, and what led to them; ``batch`` is of cells."""
    rank, n_genes = model.n_components, model.n_genes
    if AUTO not in (rank, n_genes):
        return rank, n_genes, None
    rng = as_generator(model.random_state)
    allowed, budget = _number(rank), _number(n_genes)
    about: dict[str, Any] = {"batch": batch, "n_jobs": model.n_jobs, "callback": tell}
    chosen = select(source, n_components=allowed, n_genes=budget, rng=rng, **about)
    n_genes = chosen.n_genes if n_genes == AUTO else n_genes
    return chosen.n_components, n_genes, chosen


def _number(size: int | str | None) -> int | None:
    return None if isinstance(size, str) else size


def read_choices(model: Any, blocks: Blocks) -> tuple[str, float | str, np.ndarray | None]:
    """The baseline where it applies, and the penalty and the gene weights that ``"auto"`` stands for."""
    budget = not SOLVERS[model.solver].of_paper and model.n_genes is not None and model.sparsity is not None
    baseline = model.baseline if budget and model.sparsity == "rows" else "zero"
    orthogonality, weights = model.orthogonality, model.gene_weights
    if isinstance(orthogonality, str) and orthogonality == "auto":
        orthogonality = ORTHOGONALITY if budget and model.labels == "argmax" else 0.0
    if isinstance(weights, str) and weights == "auto":
        weights = "variation" if budget else None
    if isinstance(weights, str):
        weights = variation_weights(*blocks.moments(), baseline=baseline)
    elif weights is not None:
        weights = check_array("gene_weights", weights, (blocks.shape[1],), positive=True)
    return baseline, orthogonality, weights


def read_schedule(model: Any, blocks: Blocks) -> Schedule:
    """The parameters in the core's terms."""
    return Schedule(
        rank=model.rank_,
        n_genes=model.n_genes_,
        sparsity=model.sparsity,
        orthogonality=model.orthogonality_,
        solver=model.solver,
        init=model.init if isinstance(model.init, str) else read_start(model, blocks, model.gene_weights_),
        max_iter=model.max_iter,
        tol=model.tol,
        line_search=model.line_search,
        required=read_required(model, blocks.shape[1]),
        consensus=model.n_restarts if model.consensus else 0,
    )


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
    if required.sum() > model.n_genes_:
        raise ValueError(f"required_genes must be at most n_genes={model.n_genes_}, got {required.sum()}")
    return required


def read_start(model: Any, blocks: Blocks, gene_weights: np.ndarray | None) -> Factors:
    """The user's pair (H0, W0), under the gene weights of the fit."""
    if not isinstance(model.init, tuple | list) or len(model.init) != 2:
        raise TypeError(f"init must be one of {list(STARTS)} or a pair (H0, W0), got {type(model.init).__name__}")
    H, W = (
        check_array(f"init {name}", factor, (size, model.rank_))
        for name, factor, size in zip(("H0", "W0"), model.init, blocks.shape, strict=True)
    )
    if gene_weights is not None:
        W = W * gene_weights[:, None]
    return Factors(H.astype(blocks.dtype), W.astype(blocks.dtype))


def describe_fit(model: Any, blocks: Blocks) -> dict[str, Any]:
    """What makes a fit the one it is, in plain types: parameters and data."""
    chosen = {name: _plain(getattr(model, name)) for name in DECIDING}
    chosen |= {"rank_": _plain(model.rank_), "n_genes_": _plain(model.n_genes_)}
    chosen["orthogonality_"] = _plain(model.orthogonality_)  # what "auto" stands for
    chosen["batches"] = _plain(model.batches_)
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
