"""Usages of cells for programs that are there: of other cells, and of those of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from genesieve.core.batches import Scaling
from genesieve.core.cells.blocks import Blocks, NoUsages, as_type
from genesieve.core.cells.streamed import as_source
from genesieve.core.objective import Penalty, gram_of
from genesieve.core.solvers import Result


def score_cells(
    X: Any,
    W: np.ndarray,
    *,
    scale: np.ndarray,
    penalty: Penalty,
    measured: np.ndarray | None = None,
    gene_weights: np.ndarray | None = None,
    scaling: Scaling | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Usages (cells, rank) of cells X, as the fit would have them.

    ``scale`` takes a program from the public gauge to the solver's. The columns of X are the genes of ``W`` that are
    ``measured`` (a mask), by default all; the cells count as zero on the others. ``scaling``, on the genes of W, is
    for a fit that knew batches.
    """
    columns = np.ones(len(W), dtype=bool) if measured is None else measured
    weights = np.ones(len(W)) if gene_weights is None else gene_weights
    plain, W = W * scale, W * scale * weights[:, None]
    step, source = penalty.cell_step(gram_of(W)), as_source(X, n_jobs=n_jobs)
    if scaling is not None:
        source = scaling.applied(source, columns, plain[columns], (W * weights[:, None])[columns], step)
    blocks = Blocks(source, gene_weights=None if gene_weights is None else weights[columns], n_jobs=n_jobs)
    return as_type(blocks.value_dtype, blocks.usages(W[columns], step) * scale)[0]


def usages_of(blocks: Blocks, result: Result) -> np.ndarray:
    """H of a result, solved from W where it stayed with the cells or was not saved."""
    H, W = result.factors
    return blocks.usages(W, result.penalty.cell_step(gram_of(W))) if isinstance(H, NoUsages) else H
