"""Where the cells are: in memory, or in a file that is read piece by piece.

A source hands blocks of cells to a function and gives back what it returns. This module and `remote`, the source for
a Dask cluster, are the only ones that know how X is stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from genesieve.core.cells.intact import csr_of
from genesieve.core.cells.products import two_ways
from genesieve.core.cells.stored import Rows
from genesieve.core.cells.threads import available_threads, single_threaded_blas
from genesieve.core.cells.transform import FEW_VALUES, Transform, look_over

# Stored values in a block, at most and at least: few enough that blocks balance over threads and their temporaries
# stay in cache, enough to hide the cost of a task and of adding up its sums. Between the two, data is cut into some
# blocks for the threads of a small machine. None of this depends on the number of threads, so neither do the sums.
BLOCK_VALUES = 1 << 21
SMALL_BLOCK_VALUES = 1 << 17
BLOCKS_OF_SMALL_DATA = 4
# Cells of few values are as many blocks, too, if each has so many: at high ranks rows take longer than products.
CELLS_WORTH_A_BLOCK = 800
# From so many stored values on, a second copy of them, gene by gene, is worth making for many sweeps.
MANY_VALUES = 1 << 19
# Stored values that are read from a file at once, for each thread: pieces that went leave their memory to the next,
# where the system would have to clear new one, and most of it is in the cache.
PIECE_VALUES = 1 << 21
# Chunks in a piece of values that are packed, at least: those that two pieces share are unpacked twice.
CHUNKS_A_PIECE = 8
# And at most, whatever the limit: larger pieces are read no faster, and places within one are counted in 32 bits.
MOST_PIECE_VALUES = 1 << 25
# Pieces in memory at a time: one that is worked on, the next, whose blocks wait for a thread, and one being read.
PIECES_HELD = 3
# Pieces that the system is told of before they are read, so that a disk is never idle; they are in its cache by then.
PIECES_EXPECTED = 4
# Stored values between two wanted cells that are read and dropped: that takes no longer than to start reading anew.
GAP_VALUES = 1 << 17

# The largest value may be this far from 1, either way: beyond it, squares of sums of squares leave what the type holds.
FARTHEST = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e60}

T = TypeVar("T")
Work = Callable[[Any, Any], T]
"""From a block of X and its rows of H, or None, to whatever is wanted of them."""
Sums = tuple[Any, ...]
"""Arrays or numbers that are added up over blocks, each with those of the same place."""


class Source(ABC):
    """Cells x genes, as blocks of cells."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    holds_usages: bool = True  # whether H passes through the caller; if not, every pass solves it anew at the cells

    @abstractmethod
    def each(self, work: Work[T], H: Any = None) -> Iterator[T]:
        """What ``work`` returns for every block and its rows of H, in the order of the cells.

        H is an array, or anything else that goes with the cells and of which slices can be taken.
        """

    @abstractmethod
    def rows(self, cells: np.ndarray) -> Any:
        """The cells of these numbers, ascending, in memory."""

    def on_one_thread(self) -> Source:
        """The same cells, for work that runs beside other work, where that is in hand."""
        return self

    def total(self, work: Work[Sums], H: Any = None) -> Sums:
        """The sums of what ``work`` returns over all blocks."""
        return reduce(add, self.each(work, H))


def add(left: Sums, right: Sums) -> Sums:
    """Sums of two sets of blocks."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


class _OnThreads(Source):
    """A source whose blocks are worked on by threads of this process."""

    _threads: int

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """One pool for all sweeps, as starting threads takes milliseconds; they end with the source."""
        return ThreadPoolExecutor(self._threads)


class InMemory(_OnThreads):
    """A matrix in memory, dense or sparse.

    Dense and CSR input is not copied; CSC is converted to CSR once, and so are rows that store a gene twice.
    """

    def __init__(self, X: Any, *, n_jobs: int | None = None, least_blocks: int = 1) -> None:
        self._X = canonical(sparse.csr_array(X)) if sparse.issparse(X) else np.asarray(X)
        self._spans = block_spans(self._X.shape, stored_size(self._X), least_blocks)
        self._threads = min(available_threads(n_jobs), len(self._spans))
        self.shape: tuple[int, int] = self._X.shape
        self.dtype: np.dtype[Any] = self._X.dtype

    def each(self, work: Work[T], H: Any = None) -> Iterator[T]:
        def on_block(rows: slice) -> T:
            return work(self._block(rows), rows_of(H, rows))

        if len(self._spans) == 1:
            yield work(self._block(self._spans[0]), H)
            return
        with single_threaded_blas():
            yield from (map if self._threads == 1 else self._pool.map)(on_block, self._spans)

    def _block(self, rows: slice) -> Any:
        return self._X if len(self._spans) == 1 else cell_slice(self._X, rows)

    def rows(self, cells: np.ndarray) -> Any:
        return self._X[cells]

    def on_one_thread(self) -> Source:
        source = copy(self)
        source._threads = 1
        return source

    def two_ways(self) -> Source:
        """The same cells, each block gene by gene as well, where they are sparse: for many sweeps that may be rough."""
        return _TwoWays(self) if sparse.issparse(self._X) and stored_size(self._X) >= MANY_VALUES else self


class _TwoWays(InMemory):
    """Sparse cells in memory whose blocks are held both ways."""

    def __init__(self, cells: InMemory) -> None:
        self.__dict__.update(cells.__dict__)
        made = self._pool.map(lambda rows: two_ways(cells._block(rows)), self._spans)
        self._held = {rows.start: block for rows, block in zip(self._spans, made, strict=True)}

    def _block(self, rows: slice) -> Any:
        return self._held[rows.start]


class InFile(_OnThreads):
    """Cells in a file: read in large pieces, the next one while the threads are at work on this one."""

    def __init__(
        self,
        stored: Rows,
        transform: Transform | None = None,
        *,
        n_jobs: int | None = None,
        piece_bytes: float | None = None,
    ) -> None:
        self._stored, self._transform = stored, transform or Transform()
        self._spans = block_spans(stored.shape, stored.size)
        self._threads = min(available_threads(n_jobs), len(self._spans))
        values = max(self._threads, 2) * PIECE_VALUES
        values = max(values, CHUNKS_A_PIECE * stored.unit) if stored.unit > 1 else values
        room = np.inf if piece_bytes is None else piece_bytes / stored.value_bytes
        self._piece_values = min(values, room, MOST_PIECE_VALUES)
        self._pieces = pieces(stored, self._spans, self._piece_values)
        self.shape: tuple[int, int] = self._transform.shape(stored.shape)
        self.dtype: np.dtype[Any] = floating(stored.dtype)

    def each(self, work: Work[T], H: Any = None) -> Iterator[T]:
        def finish(piece: Any, first: int, rows: slice) -> T:
            block = cell_slice(piece, slice(rows.start - first, rows.stop - first))
            return work(as_values(block, self._transform, self.dtype), rows_of(H, rows))

        running: deque[Future[T]] = deque()
        try:
            with single_threaded_blas():
                for spans, piece in self._read_ahead():
                    running.extend([self._pool.submit(finish, piece, spans[0].start, rows) for rows in spans])
                    del piece  # or it would stay for one round more
                    while len(running) > len(spans):  # the piece before has to go before another one is read
                        yield running.popleft().result()
                while running:
                    yield running.popleft().result()
        finally:
            for block in running:
                block.cancel()

    def rows(self, cells: np.ndarray) -> Any:
        parts: list[Any] = []
        read: list[Any] = []  # as they are stored, which may be many more values than are kept: no more than a piece
        size = 0
        for run in runs_of(self._stored, cells, self._piece_values):
            read.append(self._pick(run))
            size += stored_size(read[-1])
            if size >= self._piece_values:
                parts.append(as_values(stacked(read), self._transform, self.dtype))
                read, size = [], 0
        return stacked([*parts, as_values(stacked(read), self._transform, self.dtype)] if read else parts)

    def _pick(self, cells: list[int]) -> Any:
        first, last = (cells[0], cells[-1] + 1) if cells else (0, 0)
        return self._read(slice(first, last))[np.array(cells, dtype=int) - first]

    def _read_ahead(self) -> Iterator[tuple[list[slice], Any]]:
        """The blocks of every piece and its values, each read while the one before is worked on."""
        coming = self._reader.submit(self._read_piece, 0)
        try:
            for number, spans in enumerate(self._pieces):
                piece = coming.result()
                if number + 1 < len(self._pieces):
                    coming = self._reader.submit(self._read_piece, number + 1)
                yield spans, piece
                del piece
        finally:
            coming.cancel()

    def _read_piece(self, number: int) -> Any:
        """A piece; the system is told of one that comes later, and with the first of all until then."""
        for later in self._pieces[number + PIECES_EXPECTED if number else 1 :][: 1 if number else PIECES_EXPECTED]:
            self._stored.expect(cells_of(later))
        return self._read(cells_of(self._pieces[number]))

    def _read(self, cells: slice) -> Any:
        try:
            return self._stored[cells]
        except Exception as error:  # whatever a library of files may raise
            said = " ".join(str(error).split()) or type(error).__name__
            raise OSError(f"X cannot be read from its file, at cells {cells.start} to {cells.stop}: {said}") from error

    @cached_property
    def _reader(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)


def as_values(X: Any, transform: Transform, dtype: np.dtype[Any]) -> Any:
    """Values as read, checked and transformed; whoever reads from elsewhere can check them nowhere else."""
    if not isinstance(X, sparse.csr_array):  # to make one, SciPy looks at every index
        X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    X = X.astype(dtype) if X.dtype.kind in "biu" else X  # floats that hold them exactly
    if not sparse.issparse(X):
        check_range(X, dtype)
        return transform.of_block(X.astype(dtype, copy=False))
    if X.dtype == dtype and X.nnz > FEW_VALUES:
        look = look_over(X.data, X.indices, X.indptr, FARTHEST[dtype])
        if look.in_range and look.in_order:
            return transform.of_block(X, look.totals)
    check_range(X.data, dtype)
    return transform.of_block(canonical(X if X.dtype == dtype else X.astype(dtype)))


def check_range(values: np.ndarray, dtype: np.dtype[Any]) -> None:
    """Raise unless values are finite, not negative, and not too large to be worked on in the type."""
    smallest, largest = (values.min(), values.max()) if values.size else (0, 0)
    if not (smallest >= 0 and np.isfinite(largest)):
        problem = "missing values" if np.isnan(smallest) else f"values from {smallest:g} to {largest:g}"
        raise ValueError(f"X must be finite and not negative, got {problem}")
    if float(largest) > FARTHEST[dtype]:
        raise ValueError(f"X must have values up to {FARTHEST[dtype]:g} in {dtype}, got {largest:g}: divide X by it")


def stacked(parts: list[Any]) -> Any:
    """Runs of cells, dense or sparse, as one matrix."""
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def canonical(X: sparse.csr_array) -> sparse.csr_array:
    """X, or where its rows store a gene twice or out of order a copy that does not: the square of a sum is another."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def floating(dtype: Any) -> np.dtype[Any]:
    """The floating-point type that values are worked on in: whole numbers become floats that hold them exactly."""
    if np.dtype(dtype).kind not in "biuf":
        raise ValueError(f"X must hold numbers, got values of type {dtype}")
    return min(np.result_type(dtype, np.float32), np.dtype(np.float64))


def stored_size(X: Any) -> int:
    """Stored values of a matrix in memory."""
    return int(X.nnz if sparse.issparse(X) else X.size)


def block_spans(shape: tuple[int, int], values: int, least: int = 1) -> list[slice]:
    """The cells of every block, of which there are ``least`` or more."""
    n_cells = shape[0]
    size = min(BLOCK_VALUES, max(SMALL_BLOCK_VALUES, values / BLOCKS_OF_SMALL_DATA))
    least = max(least, min(n_cells // CELLS_WORTH_A_BLOCK, BLOCKS_OF_SMALL_DATA))
    n_blocks = int(np.clip(max(round(values / size), least), 1, max(n_cells, 1)))
    edges = [int(edge) for edge in np.linspace(0, n_cells, n_blocks + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def pieces(stored: Rows, spans: list[slice], most: float) -> list[list[slice]]:
    """The blocks of every piece: as many as hold ``most`` values together, and at least one."""
    runs = [spans[:1]]
    for span in spans[1:]:
        if stored.count(slice(runs[-1][0].start, span.stop)) > most:
            runs.append([])
        runs[-1].append(span)
    return runs


def runs_of(stored: Rows, cells: np.ndarray, most: float) -> list[list[int]]:
    """Cells that are read at once: near each other, and ``most`` values with what lies between them."""
    runs = [cells[:1].tolist()]
    for cell in cells[1:].tolist():
        gap, span = (stored.count(slice(start, cell)) for start in (runs[-1][-1] + 1, runs[-1][0]))
        if gap > max(GAP_VALUES, stored.unit) or span > max(most, stored.unit):
            runs.append([])
        runs[-1].append(cell)
    return runs


def cells_of(spans: list[slice]) -> slice:
    """The cells of neighbouring blocks."""
    return slice(spans[0].start, spans[-1].stop)


def rows_of(H: Any, rows: slice) -> Any:
    """Rows of H, if there are any."""
    return None if H is None else H[rows]


def cell_slice(X: Any, rows: slice) -> Any:
    """Rows of X without copying their values (SciPy's own slicing copies)."""
    if not sparse.issparse(X):
        return X[rows]
    first, last = X.indptr[rows.start], X.indptr[rows.stop]
    ends = X.indptr[rows.start : rows.stop + 1] - first
    return csr_of(X.data[first:last], X.indices[first:last], ends, X.shape[1])
