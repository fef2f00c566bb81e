"""X as blocks of cells, with one verb: a sweep over the cells.

Given W, the rows of H are independent. So a sweep takes each block of cells once, solves its rows of H, and adds up
the two sums that the W step needs. Only W goes out to a block and only ``X^T H`` and ``H^T H`` come back. This is the
only module that knows how X is stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from genesieve.core.constraints import largest
from genesieve.core.objective import CellStep, gram_of, half_squared_residual

# Stored values in a block, at most and at least: few enough that blocks balance over threads and their temporaries
# stay in cache, enough to hide the cost of a task and of adding up its sums. Between the two, data is cut into some
# blocks for the threads of a small machine. None of this depends on the number of threads, so neither do the sums.
BLOCK_VALUES = 1 << 21
SMALL_BLOCK_VALUES = 1 << 18
BLOCKS_OF_SMALL_DATA = 4

T = TypeVar("T")


@dataclass(frozen=True)
class Sweep:
    """What one pass over the cells returns."""

    H: np.ndarray  # (cells, rank)
    cross: np.ndarray  # X^T H, (genes, rank), double precision
    gram: np.ndarray  # H^T H, (rank, rank), double precision


class Moments(NamedTuple):
    """Mean and variance of every gene."""

    mean: np.ndarray
    variance: np.ndarray


class Blocks:
    """A matrix in memory, dense or sparse, as blocks of cells worked on by a pool of threads.

    Dense and CSR input is not copied; CSC is converted to CSR once. ``gene_weights`` multiplies the columns of X
    without touching X itself.
    """

    def __init__(self, X: Any, *, gene_weights: np.ndarray | None = None, n_jobs: int | None = None) -> None:
        self._X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        self._weights = None if gene_weights is None else np.asarray(gene_weights, dtype=np.float64)
        self._n_jobs = n_jobs
        self._edges = _block_edges(self._X)
        self._threads = min(available_threads(n_jobs), len(self._edges) - 1)
        self.shape: tuple[int, int] = self._X.shape
        self.dtype: np.dtype[Any] = self._X.dtype

    @cached_property
    def squared_norm(self) -> float:
        """``||X||^2`` in double precision."""
        return sum(self._map(lambda X, rows: self._block_squares(X)))

    @cached_property
    def _plain_norm(self) -> float:
        """``||X||^2``, gene weights aside; kept, as every stage of a fit ends with a residual."""
        return sum(self._map(lambda X, rows: _sum_of_squares(X.data if sparse.issparse(X) else X)))

    def weighted(self, gene_weights: np.ndarray) -> Blocks:
        """The same cells under other gene weights; X is shared."""
        return Blocks(self._X, gene_weights=gene_weights, n_jobs=self._n_jobs)

    def moments(self) -> Moments:
        """Mean and variance of every gene, gene weights aside."""
        sums, squares = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for block_sums, block_squares in self._map(lambda X, rows: _gene_sums(X)):
            sums += block_sums
            squares += block_squares
        mean = sums / self.shape[0]
        return Moments(mean, np.maximum(squares / self.shape[0] - mean**2, 0.0))

    def squared_residual(self, W: np.ndarray, sweep: Sweep) -> float:
        """``||X - H W^T||^2`` at the H of the sweep, both X and W in the units of X: gene weights aside."""
        if self._weights is None:
            return 2.0 * half_squared_residual(self.squared_norm, W, sweep.cross, sweep.gram)
        weights = self._weights[:, None]
        return 2.0 * half_squared_residual(self._plain_norm, W / weights, sweep.cross / weights, sweep.gram)

    def sweep(self, W: np.ndarray, H: np.ndarray, step: CellStep) -> Sweep:
        """One pass: for each block ``H_b = step(H_b, X_b W)``, and the sums ``X^T H`` and ``H^T H``."""
        W_out = self._weigh(W).astype(self.dtype)
        new_H = np.empty((self.shape[0], W.shape[1]), dtype=self.dtype)

        def work(X: Any, rows: slice) -> tuple[np.ndarray, np.ndarray]:
            new_H[rows] = block = _solve_block(X, W_out, H[rows], step)
            return X.T @ block, gram_of(block)

        cross, gram = np.zeros(W.shape), np.zeros((W.shape[1], W.shape[1]))
        for block_cross, block_gram in self._map(work):
            cross += block_cross
            gram += block_gram
        return Sweep(new_H, self._weigh(cross), gram)

    def usages(self, W: np.ndarray, step: CellStep) -> np.ndarray:
        """H for W (cells, rank), from nothing and without the sums."""
        W_out = self._weigh(W).astype(self.dtype)
        return np.concatenate(list(self._map(lambda X, rows: _solve_block(X, W_out, None, step))))

    def part(self, cells: np.ndarray, n_genes: int, required: np.ndarray | None = None) -> tuple[Blocks, np.ndarray]:
        """The chosen cells on the ``n_genes`` genes with the largest sum of squares there, and which genes these are.

        Genes of the mask ``required`` come first. The part is a copy; cells and genes keep their order.
        """
        X = self._X[cells]
        squares = self._weigh(self._weigh((X.power(2) if sparse.issparse(X) else X**2).sum(axis=0)[:, None]))[:, 0]
        genes = np.flatnonzero(largest(squares if required is None else np.where(required, np.inf, squares), n_genes))
        weights = None if self._weights is None else self._weights[genes]
        return Blocks(X[:, genes], gene_weights=weights, n_jobs=self._n_jobs), genes

    def worst_cell(self, W: np.ndarray, H: np.ndarray) -> np.ndarray:
        """The expression (genes,) of the cell with the largest squared residual."""
        W_out, gene_gram = self._weigh(W).astype(self.dtype), gram_of(W)

        def residuals(X: Any, rows: slice) -> np.ndarray:
            h = H[rows].astype(np.float64)
            return (
                self._cell_squares(X)
                - 2.0 * np.einsum("ij,ij->i", h, X @ W_out)
                + np.einsum("ij,ij->i", h @ gene_gram, h)
            )

        worst = int(np.argmax(np.concatenate(list(self._map(residuals)))))
        row: Any = self._X[[worst]]
        return self._weigh((row.toarray() if sparse.issparse(row) else row).T)[:, 0]

    def _weigh(self, matrix: np.ndarray) -> np.ndarray:
        return matrix if self._weights is None else matrix * self._weights[:, None]

    def _block_squares(self, X: Any) -> float:
        values = X.data if sparse.issparse(X) else X
        if self._weights is not None:
            values = values * (self._weights[X.indices] if sparse.issparse(X) else self._weights)
        return _sum_of_squares(values)

    def _cell_squares(self, X: Any) -> np.ndarray:
        """Sum of squares of each cell, in double precision."""
        squares = X.power(2, dtype=np.float64) if sparse.issparse(X) else X.astype(np.float64) ** 2
        return squares @ (np.ones(self.shape[1]) if self._weights is None else self._weights**2)

    def _map(self, work: Callable[[Any, slice], T]) -> Iterator[T]:
        """Results of ``work(X_b, rows)`` in the order of the cells, whatever the order in which threads finish."""
        spans = [slice(start, stop) for start, stop in zip(self._edges[:-1], self._edges[1:], strict=True)]
        if self._threads == 1 and len(spans) == 1:
            yield work(self._X, spans[0])
            return
        with single_threaded_blas():
            yield from self._pool.map(lambda rows: work(_cell_slice(self._X, rows), rows), spans)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """One pool for all sweeps, as starting threads takes milliseconds; they end with the blocks."""
        return ThreadPoolExecutor(self._threads)


def available_threads(n_jobs: int | None) -> int:
    """Threads to use: ``None`` or -1 for every core this process may run on."""
    if n_jobs is None or n_jobs == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS from starting threads of its own under ours."""
    global _controller
    if _controller is None:
        _controller = ThreadpoolController()
    with _controller.limit(limits=1, user_api="blas"):
        yield


_controller: ThreadpoolController | None = None  # looking up the loaded libraries takes milliseconds: do it once


def _block_edges(X: Any) -> np.ndarray:
    """Cell numbers at which blocks start, and the end."""
    n_cells, n_genes = X.shape
    values = X.nnz if sparse.issparse(X) else n_cells * n_genes
    size = min(BLOCK_VALUES, max(SMALL_BLOCK_VALUES, values / BLOCKS_OF_SMALL_DATA))
    n_blocks = int(np.clip(round(values / size), 1, max(n_cells, 1)))
    return np.linspace(0, n_cells, n_blocks + 1).astype(np.int64)


def _sum_of_squares(values: np.ndarray) -> float:
    values = values.astype(np.float64, copy=False)
    return float(np.vdot(values, values))


def _gene_sums(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the values and of their squares of every gene, in double precision."""
    if not sparse.issparse(X):
        return X.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", X, X, dtype=np.float64)
    values, n_genes = X.data.astype(np.float64), X.shape[1]
    return np.bincount(X.indices, values, n_genes), np.bincount(X.indices, values**2, n_genes)


def _solve_block(X: Any, W: np.ndarray, H: np.ndarray | None, step: CellStep) -> np.ndarray:
    products = X @ W
    return step(np.zeros_like(products) if H is None else H, products).astype(X.dtype, copy=False)


def _cell_slice(X: Any, rows: slice) -> Any:
    """Rows of X without copying their values (SciPy's own slicing copies)."""
    if not sparse.issparse(X):
        return X[rows]
    first, last = X.indptr[rows.start], X.indptr[rows.stop]
    block = sparse.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    block.data, block.indices = X.data[first:last], X.indices[first:last]
    block.indptr = X.indptr[rows.start : rows.stop + 1] - first
    return block
