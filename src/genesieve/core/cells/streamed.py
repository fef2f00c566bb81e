"""Data that is not in memory, as its owners hand it over: open files and Dask arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from genesieve.core.cells.remote import Remote
from genesieve.core.cells.scaled import ByBatch, Scaled
from genesieve.core.cells.sources import PIECES_HELD, InFile, InMemory, Source, floating
from genesieve.core.cells.stored import StoredCSR, StoredDense
from genesieve.core.cells.transform import Transform

# What a process takes before any data: the interpreter, its libraries, compiled kernels, and blocks in the threads.
PROCESS_BYTES = 500e6
# Copies of the factors at the height of a pass: of H the last and the next and their parts, of W those of the solver.
CELL_FACTOR_COPIES, GENE_FACTOR_COPIES = 3, 12
# The smallest piece that is worth reading.
LEAST_PIECE_BYTES = 8e6

TO_ROWS = "import anndata as ad; a = ad.read_h5ad('IN.h5ad'); a.X = a.X.tocsr(); a.write_h5ad('OUT.h5ad')"


@dataclass(frozen=True, eq=False)
class Streamed:
    """Cells x genes in an open file or in a Dask array, and the transform that is applied as they are read."""

    data: Any
    transform: Transform = field(default_factory=Transform)

    @property
    def shape(self) -> tuple[int, int]:
        """Cells and genes after the transform."""
        return self.transform.shape((int(self.data.shape[0]), int(self.data.shape[1])))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that values are worked on in."""
        return floating(self.data.dtype)

    def select(self, genes: np.ndarray) -> Streamed:
        """The same on some of the genes (indices or a mask)."""
        return replace(self, transform=self.transform.select(genes))

    def some_cells(self, most: int) -> Any:
        """At most so many cells in memory, evenly spaced from the first to the last."""
        return self.source().rows(np.unique(np.linspace(0, self.shape[0] - 1, most).astype(np.int64)))

    def source(self, *, n_jobs: int | None = None, piece_bytes: float | None = None) -> Source:
        """Blocks of its cells."""
        if is_dask(self.data):
            return Remote(self.data, self.transform, n_jobs=n_jobs)
        return InFile(self.data, self.transform, n_jobs=n_jobs, piece_bytes=piece_bytes)


def streamed(X: Any) -> Streamed | None:
    """X as data outside memory: values of a backed AnnData, arrays of HDF5, zarr or Dask; None if it is neither."""
    if isinstance(X, Streamed):
        return X
    if is_dask(X):
        return Streamed(_checked(X))
    try:
        stored = _in_file(X)
    except (KeyError, RuntimeError, OSError) as error:  # what HDF5 and zarr say of files that were closed or cut
        raise OSError(f"X must be in a file that is open and whole, got: {' '.join(str(error).split())}") from error
    return None if stored is None else Streamed(stored)


def _checked(X: Any) -> Any:
    """A Dask array, if its blocks are of whole cells."""
    if X.ndim != 2:
        raise ValueError(f"X must have 2 dimensions (cells x genes), got {X.ndim}")
    if len(X.chunks[1]) != 1:
        raise ValueError(f"X must have all genes in one chunk, got {len(X.chunks[1])}: X.rechunk({{1: -1}})")
    if np.isnan(X.chunks[0]).any():
        raise ValueError("X must have chunks of known sizes, got unknown ones: X.compute_chunk_sizes()")
    return X


def _in_file(X: Any) -> StoredCSR | StoredDense | None:
    if hasattr(X, "group") and hasattr(X, "format"):  # compressed rows or columns of an AnnData
        if X.format != "csr":
            raise ValueError(f"X must be stored by rows (CSR) to be read in blocks of cells, got {X.format}: {TO_ROWS}")
        return StoredCSR(X.group["data"], X.group["indices"], X.group["indptr"], X.shape)
    if type(X).__module__.partition(".")[0] in ("h5py", "zarr") and getattr(X, "ndim", 0) == 2:
        return StoredDense(X)
    return None


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def as_source(X: Any, *, n_jobs: int | None = None, memory: float | None = None, rank: int = 1) -> Source:
    """Blocks of cells of data wherever they are; ``memory``, in bytes, bounds what reading them in pieces takes."""
    if isinstance(X, ByBatch):
        return Scaled(as_source(X.values, n_jobs=n_jobs, memory=memory, rank=rank), X.batch, X.scales)
    outside = streamed(X)
    if outside is None:
        return InMemory(X, n_jobs=n_jobs)
    room = None
    if memory is not None and not is_dask(outside.data):
        room = piece_bytes(memory, outside.shape, rank, outside.dtype.itemsize)
    return outside.source(n_jobs=n_jobs, piece_bytes=room)


def piece_bytes(memory: float, shape: tuple[int, int], rank: int, itemsize: int) -> float:
    """Bytes for a piece of the data, so that a fit stays within ``memory``."""
    factors = rank * (CELL_FACTOR_COPIES * itemsize * shape[0] + GENE_FACTOR_COPIES * 8 * shape[1])
    left = memory - PROCESS_BYTES - factors
    if left < PIECES_HELD * LEAST_PIECE_BYTES:
        least = (PROCESS_BYTES + factors + PIECES_HELD * LEAST_PIECE_BYTES) / 1e9
        raise ValueError(
            f"memory must be at least {least:.2f} GB for {shape[0]} cells, {shape[1]} genes and {rank} programs,"
            f" got {memory / 1e9:.3g} GB"
        )
    return left / PIECES_HELD
