"""X as blocks of cells, with one verb: a sweep over the cells.

Given W, the rows of H are independent. So a sweep takes each block of cells once, solves its rows of H, and adds up
the two sums that the W step needs. Only W goes out to a block and only ``X^T H`` and ``H^T H`` come back. Where the
blocks are, in memory, in a file or on a cluster, is the business of a source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from enum import Enum
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy import sparse

from genesieve.core.cells.products import times, transposed_times
from genesieve.core.cells.sources import InMemory, Source, Sums
from genesieve.core.cells.sums import GeneSums, cells_with, gains_of_mean, gene_sums
from genesieve.core.cells.threads import available_threads
from genesieve.core.cells.transform import row_sums
from genesieve.core.constraints import largest
from genesieve.core.objective import CellStep, gram_of, half_squared_residual

# Up to so many cells, products with X and all that follows are in double precision: single precision would end a fit a
# little elsewhere on another processor, and clusters on a graph of neighbours far elsewhere. Beyond it, the last passes
# are in the precision of X; programs are placed and settled on fewer cells.
DOUBLE_CELLS = 20_000


T = TypeVar("T")


def _same(usages: np.ndarray) -> Any:
    return usages


class NoUsages(Enum):
    """Why H is not at hand as an array."""

    FROM_ZERO = "not solved yet: a pass sets out from zero everywhere"
    WITH_CELLS = "every pass solves it anew where the cells are"


FROM_ZERO, WITH_CELLS = NoUsages.FROM_ZERO, NoUsages.WITH_CELLS
Usages = np.ndarray | NoUsages


class Sweep(NamedTuple):
    """What one pass over the cells returns."""

    H: Usages  # (cells, rank)
    cross: np.ndarray  # X^T H, (genes, rank), double precision
    gram: np.ndarray  # H^T H, (rank, rank), double precision


class Cells(Protocol):
    """Cells x genes as solvers and samples know them: as they are, or on their leading directions."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    threads: int

    @property
    def squared_norm(self) -> float:
        """``||X||^2`` in double precision."""

    @property
    def baseline_gains(self) -> np.ndarray:
        """How much each gene's squared residual falls from ``||x||^2`` where no program explains it (genes,)."""

    def sweep(self, W: np.ndarray, H: Usages, step: CellStep) -> Sweep:
        """One pass: for each block ``H_b = step(H_b, X_b W)``, and the sums ``X^T H`` and ``H^T H``."""

    def usages(self, W: np.ndarray, step: CellStep) -> np.ndarray:
        """H for W (cells, rank), from zero and without the sums."""

    def squared_residual(self, W: np.ndarray, sweep: Sweep) -> float:
        """``||X - H W^T||^2`` at the H of the sweep, both X and W in the units of X: gene weights aside."""

    def worst_cell(self, W: np.ndarray, solved_W: np.ndarray, step: CellStep) -> np.ndarray:
        """The expression (genes,) of the cell with the largest squared residual at W and the H solved for another W."""

    def part(self, cells: np.ndarray, n_genes: int, required: np.ndarray | None = None) -> tuple[Cells, np.ndarray]:
        """The chosen cells on the ``n_genes`` genes with the most to explain there, and which genes these are.

        Genes of the mask ``required`` come first. The part is in memory; cells and genes keep their order.
        """

    def on_one_thread(self) -> Cells:
        """The same cells, for a fit that runs beside others."""

    def two_ways(self) -> Cells:
        """The same cells, for many sweeps of steps that need not be exact; twice the memory, where they are in it."""


class Moments(NamedTuple):
    """Mean and variance of every gene."""

    mean: np.ndarray
    variance: np.ndarray


class Survey(NamedTuple):
    """What there is to know before values are prepared."""

    seen: np.ndarray  # cells that show each gene
    totals: np.ndarray  # of each cell


class Blocks:
    """Cells x genes as blocks of cells. ``gene_weights`` multiplies the columns of X without touching X itself.

    ``baseline`` predicts genes that no program explains: ``"zero"``, or ``"mean"``, at the size of each cell.
    """

    def __init__(
        self, X: Any, *, gene_weights: np.ndarray | None = None, baseline: str = "zero", n_jobs: int | None = None
    ) -> None:
        self._source: Source = X if isinstance(X, Source) else InMemory(X, n_jobs=n_jobs)
        self._weights = None if gene_weights is None else np.asarray(gene_weights, dtype=np.float64)
        self._baseline = baseline
        self.n_jobs = n_jobs
        self.threads = available_threads(n_jobs)
        self.shape: tuple[int, int] = self._source.shape
        self.value_dtype: np.dtype[Any] = self._source.dtype  # of X, and so of what a fit hands out
        self.dtype = np.dtype(np.float64) if self.shape[0] <= DOUBLE_CELLS else self.value_dtype  # of the work on it

    @cached_property
    def squared_norm(self) -> float:
        """``||X||^2`` in double precision."""
        return self._norm(self._weights)

    @cached_property
    def plain_norm(self) -> float:
        """``||X||^2``, gene weights aside; stored, as every run of a solver ends with a residual."""
        return self.squared_norm if self._weights is None else self._norm(None)

    def _norm(self, weights: np.ndarray | None) -> float:
        if "_sums" not in self.__dict__:  # no one has asked for moments or a baseline
            return float(self._source.total(partial(_squares, weights))[0])
        squares = self._sums.squares
        return float(squares.sum() if weights is None else squares @ weights**2)

    @cached_property
    def _sums(self) -> GeneSums:
        return GeneSums(*self._source.total(gene_sums))

    @cached_property
    def baseline_gains(self) -> np.ndarray:
        """How much each gene's squared residual falls from ``||x||^2`` where no program explains it (genes,)."""
        if self._baseline == "zero":
            return np.zeros(self.shape[1])
        return self._weigh_squares(gains_of_mean(self._sums, self.shape[0]))

    def weighted(self, gene_weights: np.ndarray | None, *, baseline: str = "zero") -> Blocks:
        """The same cells under other gene weights, with a baseline; X is shared, and what is known of it."""
        blocks = Blocks(self._source, gene_weights=gene_weights, baseline=baseline, n_jobs=self.n_jobs)
        if "_sums" in self.__dict__:
            blocks.__dict__["_sums"] = self._sums
        return blocks

    def moments(self) -> Moments:
        """Mean and variance of every gene, gene weights aside."""
        mean = self._sums.values / self.shape[0]
        return Moments(mean, np.maximum(self._sums.squares / self.shape[0] - mean**2, 0.0))

    def survey(self) -> Survey:
        """In how many cells every gene is seen, and the total of every cell."""
        seen, totals = np.zeros(self.shape[1], dtype=np.int64), []
        for block_seen, block_totals in self._source.each(_look_through):
            seen += block_seen
            totals.append(block_totals)
        return Survey(seen, np.concatenate(totals))

    def gene_products(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``X^T H`` (genes, rank) and the sum of squares of every gene (genes,), gene weights aside."""
        cross, squares = np.zeros((self.shape[1], H.shape[1])), np.zeros(self.shape[1])
        for block_cross, block_squares in self._source.each(_products_with, H):
            cross += block_cross
            squares += block_squares
        return cross, squares

    def squared_residual(self, W: np.ndarray, sweep: Sweep) -> float:
        if self._weights is None:
            return 2.0 * half_squared_residual(self.squared_norm, W, sweep.cross, sweep.gram)
        weights = self._weights[:, None]
        return 2.0 * half_squared_residual(self.plain_norm, W / weights, sweep.cross / weights, sweep.gram)

    def sweep(self, W: np.ndarray, H: Usages, step: CellStep) -> Sweep:
        work = partial(_sweep_block, self._weigh(W).astype(self.dtype), step)
        if not self._source.holds_usages:
            cross, gram = self._source.total(partial(_sums_of_sweep, work))
            return Sweep(WITH_CELLS, self._weigh(cross), gram)
        new_H = np.empty((self.shape[0], W.shape[1]), dtype=self.dtype)
        cross, gram = np.zeros(W.shape), np.zeros((W.shape[1], W.shape[1]))
        first = 0
        for block, block_cross, block_gram in self._source.each(work, None if isinstance(H, NoUsages) else H):
            new_H[first : first + len(block)] = block
            first += len(block)
            cross += block_cross
            gram += block_gram
        return Sweep(new_H, self._weigh(cross), gram)

    def usages(self, W: np.ndarray, step: CellStep) -> np.ndarray:
        return np.concatenate(list(self.each_usages(W, step)))

    def each_usages(self, W: np.ndarray, step: CellStep, then: Callable[[np.ndarray], T] = _same) -> Iterator[T]:
        """The same block by block, in their order, for what need not hold them all; what ``then`` makes of each."""
        return self._source.each(partial(_solve_and, self._weigh(W).astype(self.dtype), step, then))

    def part(self, cells: np.ndarray, n_genes: int, required: np.ndarray | None = None) -> tuple[Blocks, np.ndarray]:
        every_gene = n_genes >= self.shape[1]
        if every_gene and len(cells) == self.shape[0] and isinstance(self._source, InMemory):
            return self, np.arange(self.shape[1])
        X = self._source.rows(cells)
        part = self._like(X, slice(None))
        if every_gene:
            return part, np.arange(self.shape[1])
        unexplained = self._weigh_squares(part._sums.squares) - part.baseline_gains
        genes = np.flatnonzero(largest(unexplained, n_genes, required))
        return self._like(X[:, genes], genes), genes

    def on_one_thread(self) -> Blocks:
        blocks = copy(self)
        blocks.threads, blocks._source = 1, self._source.on_one_thread()
        return blocks

    def two_ways(self) -> Blocks:
        blocks = copy(self)
        blocks._source = self._source.two_ways() if isinstance(self._source, InMemory) else self._source
        return blocks

    def _like(self, X: Any, genes: np.ndarray | slice) -> Blocks:
        """Other cells on some of the genes, under their weights and with the same baseline."""
        weights = None if self._weights is None else self._weights[genes]
        return Blocks(X, gene_weights=weights, baseline=self._baseline, n_jobs=self.n_jobs)

    def worst_cell(self, W: np.ndarray, solved_W: np.ndarray, step: CellStep) -> np.ndarray:
        work = partial(
            _cell_residuals,
            self._weigh(W).astype(self.dtype),
            gram_of(W),
            partial(_solve_block, self._weigh(solved_W).astype(self.dtype), step),
            self._weights,
        )
        worst = int(np.argmax(np.concatenate(list(self._source.each(work)))))
        row = self._source.rows(np.array([worst]))
        return self._weigh((row.toarray() if sparse.issparse(row) else row).T)[:, 0]

    def _weigh(self, matrix: np.ndarray) -> np.ndarray:
        return matrix if self._weights is None else matrix * self._weights[:, None]

    def _weigh_squares(self, squares: np.ndarray) -> np.ndarray:
        return squares if self._weights is None else squares * self._weights**2


def as_type(dtype: np.dtype[Any], *factors: np.ndarray) -> list[np.ndarray]:
    """Factors in the precision of X; in double where those in no gauge leave the range of single precision."""
    largest = max(float(factor.max(initial=0.0)) for factor in factors)
    held = dtype if largest <= float(np.finfo(dtype).max) else np.dtype(np.float64)
    return [factor.astype(held, copy=False) for factor in factors]


# What is done to a block. These are functions of their own, free of the source, so that they can be sent to a cluster.


def _solve_block(W: np.ndarray, step: CellStep, X: Any, H: np.ndarray | None) -> np.ndarray:
    products = times(X, W)
    return step(np.zeros_like(products) if H is None else H, products).astype(W.dtype, copy=False)


def _solve_and(W: np.ndarray, step: CellStep, then: Callable[[np.ndarray], T], X: Any, H: np.ndarray | None) -> T:
    return then(_solve_block(W, step, X, H))


def _sweep_block(W: np.ndarray, step: CellStep, X: Any, H: np.ndarray | None) -> tuple[np.ndarray, ...]:
    block = _solve_block(W, step, X, H)
    return block, transposed_times(X, block), gram_of(block)


def _sums_of_sweep(work: partial[tuple[np.ndarray, ...]], X: Any, H: np.ndarray | None) -> Sums:
    _, cross, gram = work(X, H)
    return cross.astype(np.float64), gram


def _squares(weights: np.ndarray | None, X: Any, H: np.ndarray | None) -> Sums:
    values = X.data if sparse.issparse(X) else X
    if weights is not None:
        values = values * (weights[X.indices] if sparse.issparse(X) else weights)
    values = values.astype(np.float64, copy=False)
    return (float(np.vdot(values, values)),)


def _look_through(X: Any, H: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Cells that show each gene, and the total of each cell."""
    if sparse.issparse(X):
        return cells_with(X.data, X.indices, X.shape[1]), row_sums(X.data, X.indptr)
    return np.count_nonzero(X > 0, axis=0), X.sum(axis=1, dtype=np.float64)


def _products_with(X: Any, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(X.T @ H, dtype=np.float64), gene_sums(X).squares


def _cell_residuals(
    W: np.ndarray,
    gene_gram: np.ndarray,
    solve: partial[np.ndarray],
    weights: np.ndarray | None,
    X: Any,
    H: np.ndarray | None,
) -> np.ndarray:
    """Squared residual of each cell, in double precision."""
    h = solve(X, H).astype(np.float64)
    squares = X.power(2, dtype=np.float64) if sparse.issparse(X) else X.astype(np.float64) ** 2
    norms = squares @ (np.ones(X.shape[1]) if weights is None else weights**2)
    return norms - 2.0 * np.einsum("ij,ij->i", h, X @ W) + np.einsum("ij,ij->i", h @ gene_gram, h)
