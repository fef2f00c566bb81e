"""Starting points: random, from a truncated SVD (nndsvd), and from a plain NMF."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import FROM_ZERO, Cells, NoUsages
from genesieve.core.cells.low_rank import LowRank, low_rank_approximation, svd
from genesieve.core.cells.threads import side_by_side
from genesieve.core.constraints import NonNegative, RowSparse
from genesieve.core.objective import Overlap, gram_of
from genesieve.core.solvers import Callback, Factors, Journal, Problem, Result, bcd, best_of, fine_tolerance

# Iterations of fits on few cells or few directions: they are cheap.
EARLY_ITERATIONS = 100
# An NMF starts several times on a smaller sample yet, and the one with the lowest objective after some iterations goes
# on: starts end in different minima, a tenth of a per cent apart on real data, and soon show which.
NMF_STARTS = 4
# Beyond so many programs the race takes a quarter of the time to a first objective and ends no lower: at rank 128 on
# 5,000 x 5,000 cells, one start led to 4,295,601 (seed 1) and the best of four to 4,296,834 (seed 0). On digits
# at rank 64 it took 0.6 of the 0.7 s to scikit-learn's objective.
MANY_PROGRAMS = 48
NMF_START_ITERATIONS = 12
NMF_START_CELLS, NMF_START_GENES = 1000, 1500
# On cells as they are, of few genes, an iteration on all costs little more: starts are tried on a share of the cells.
NMF_START_SHARE, NMF_FEWEST_CELLS = 4, 250
# Iterations on the cells as they are, after those on their leading directions.
NMF_LAST_ITERATIONS = 10


def random(cells: Cells, rank: int, rng: np.random.Generator) -> Factors:
    """Uniform factors, of equal share in a product as large as X."""
    H = rng.random((cells.shape[0], rank))  # (cells, rank)
    W = rng.random((cells.shape[1], rank))  # (genes, rank)
    size = np.vdot(gram_of(H), gram_of(W))
    scale = (cells.squared_norm / size) ** 0.25
    return _cast(cells, H * scale, W * scale)


def nndsvd(cells: Cells, rank: int, rng: np.random.Generator) -> Factors:
    """The larger signed part of each singular pair (Boutsidis and Gallopoulos, 2008)."""
    U, scale, V = svd(cells, rank, rng)
    H, W = np.zeros(U.shape), np.zeros(V.shape)
    for a in range(U.shape[1]):
        pairs = [(np.maximum(sign * U[:, a], 0), np.maximum(sign * V[:, a], 0)) for sign in (1, -1)]
        h, w = max(pairs, key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))
        size = np.linalg.norm(h) * np.linalg.norm(w)
        if size > 0:
            balance = np.sqrt(scale[a] * size)
            H[:, a], W[:, a] = balance * h / np.linalg.norm(h), balance * w / np.linalg.norm(w)
    return _cast(cells, H, W)


def nmf(
    cells: Cells,
    rank: int,
    rng: np.random.Generator,
    *,
    tol: float | None = None,
    watch: Callback | None = None,
    n_starts: int | None = None,
) -> Factors:
    """A plain NMF from the best of a few random starts, both factors in equal share of each program's scale.

    It goes to ``tol``, by default the fine tolerance of this rank; ``watch`` is told of iterations on the cells as they
    are. Data of many cells is fitted on a random sample of them, and has the usages of all cells from one pass.
    """
    if cells.shape[0] > sampling.SAMPLE_CELLS:
        some = sampling.sample(cells, rng)
        W = some.embed(nmf(some.cells, rank, rng, tol=tol, n_starts=n_starts).W)
        H = cells.usages(W, Overlap().cell_step(gram_of(W)))
        return balanced(Factors(H, W), gram_of(H))
    fitted = plain_fit(cells, rank, rng, tol=tol, watch=watch, n_starts=n_starts)
    return balanced(fitted.factors, fitted.gram)


def plain_fit(
    cells: Cells,
    rank: int,
    rng: np.random.Generator,
    *,
    tol: float | None = None,
    watch: Callback | None = None,
    n_starts: int | None = None,
) -> Result:
    """A plain NMF from the best of a few random starts, on few cells; ``nmf`` says more."""
    tol = fine_tolerance(rank) if tol is None else tol
    cells = sampling.at_hand(cells, rng)  # quick steps go on from the usages before
    approximation = low_rank_approximation(cells, rank, rng)
    few_cells = NMF_START_CELLS
    if approximation is cells and not isinstance(cells, LowRank):
        few_cells = min(few_cells, max(cells.shape[0] // NMF_START_SHARE, NMF_FEWEST_CELLS))
    few = sampling.sample(approximation, rng, n_cells=max(few_cells, rank), n_genes=NMF_START_GENES)
    tried = side_by_side(
        lambda start: _plain_fit(few.cells.on_one_thread(), start, NMF_START_ITERATIONS, tol),
        [random(few.cells, rank, rng) for _ in range(n_starts or (NMF_STARTS if rank <= MANY_PROGRAMS else 1))],
        cells.threads,
    )
    best = Factors(FROM_ZERO, few.embed(best_of(tried).factors.W))
    if approximation is cells:
        return _plain_fit(cells, best, EARLY_ITERATIONS, tol, Journal(watch))
    fitted = _plain_fit(approximation, best, EARLY_ITERATIONS, tol)
    return _plain_fit(cells, fitted.factors, NMF_LAST_ITERATIONS, tol, Journal(watch))


def plain_fits(
    cells: Cells, rank: int, rngs: Sequence[np.random.Generator], journal: Journal, *, n_starts: int | None = None
) -> list[Result]:
    """Plain fits side by side, each from the best of a few random starts of its own; ``nmf`` says more."""
    alone = cells.on_one_thread()
    fit = journal.noting(lambda rng: plain_fit(alone, rank, rng, n_starts=n_starts))
    return side_by_side(fit, rngs, cells.threads)


def _plain_fit(cells: Cells, start: Factors, max_iter: int, tol: float, journal: Journal | None = None) -> Result:
    problem = Problem(cells, NonNegative(), Overlap(), max_iter, tol, exact=False)
    return bcd(problem, start, journal=journal)


def balanced(factors: Factors, gram: np.ndarray) -> Factors:
    """The same product, every program with the same norm in both factors; ``gram`` is ``H^T H``."""
    H, W = factors
    h_norms, w_norms = np.sqrt(np.diag(gram)).astype(W.dtype), np.linalg.norm(W, axis=0)
    alive = (h_norms > 0) & (w_norms > 0)
    ratio = np.sqrt(np.divide(w_norms, h_norms, out=np.ones_like(h_norms), where=alive))
    ratio[~alive] = 1.0
    return Factors(H if isinstance(H, NoUsages) else H * ratio, W / ratio)


def _cast(cells: Cells, H: np.ndarray, W: np.ndarray) -> Factors:
    return Factors(H.astype(cells.dtype), W.astype(cells.dtype))


def best_rows(cells: Cells, W: np.ndarray, n_genes: int, required: np.ndarray | None = None) -> np.ndarray:
    """The best W of so many genes for the usages of programs W: those explained best beyond the baseline.

    Genes of the mask ``required`` are among them for sure.
    """
    sweep = cells.sweep(W, FROM_ZERO, Overlap().cell_step(gram_of(W)))
    budget = RowSparse(n_genes, required, cells.baseline_gains)
    return budget.best(sweep.gram, sweep.cross, W, threads=cells.threads).astype(W.dtype, copy=False)


STARTS = {"nmf": nmf, "random": random, "nndsvd": nndsvd}
