"""Cells x genes in an open file, HDF5 or zarr, read by runs of cells."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from genesieve.core.cells.intact import check_ends, check_indices, csr_of
from genesieve.core.cells.packed import packed

# Values that the system is told of at once, where they are not in chunks.
STRETCH = 1 << 20


class Rows(Protocol):
    """Cells x genes in a file."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    size: int  # stored values
    value_bytes: int  # that one of them takes
    unit: int  # values that are unpacked together, whichever of them is wanted; 1 where nothing is packed

    def count(self, cells: slice) -> int:
        """Stored values of a run of cells."""

    def __getitem__(self, cells: slice) -> Any:
        """A run of cells in memory, dense or CSR."""

    def expect(self, cells: slice) -> None:
        """A run of cells will be read soon: the system may begin to fetch it."""


class StoredCSR:
    """Compressed rows in an open file: one-dimensional ``data``, ``indices`` and ``indptr`` of HDF5 or zarr."""

    def __init__(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> None:
        if any(len(getattr(part, "shape", ()) or ()) != 1 for part in (data, indices, indptr)):
            raise ValueError("X is damaged: values, indices and ends must be lists, got more than one axis or none")
        self._data, self._indices, self._indptr = packed(data), packed(indices), np.asarray(indptr[:])
        self.shape = (int(shape[0]), int(shape[1]))
        check_ends(self._indptr, self.shape[0], data.shape[0], indices.shape[0], "X")
        self._indptr = self._indptr.astype(np.int64, copy=False)
        self.dtype: np.dtype[Any] = storable(data.dtype)
        self.size = int(self._indptr[-1])
        self.value_bytes = self.dtype.itemsize + np.dtype(indices.dtype).itemsize
        self.unit = packed_together(data)
        self._hints = [Hints(part) for part in (data, indices) if hasattr(part, "id") and hasattr(os, "posix_fadvise")]

    def count(self, cells: slice) -> int:
        return int(self._indptr[cells.stop] - self._indptr[cells.start])

    def __getitem__(self, cells: slice) -> sparse.csr_array:
        first, last = int(self._indptr[cells.start]), int(self._indptr[cells.stop])
        values, genes = np.asarray(self._data[first:last], self.dtype), np.asarray(self._indices[first:last])
        ends = self._indptr[cells.start : cells.stop + 1] - first
        check_indices(genes, ends, self.shape[1], "X", first_line=cells.start)
        return csr_of(values, genes.astype(np.int32, copy=False), ends.astype(np.int32), self.shape[1])

    def expect(self, cells: slice) -> None:
        for hints in self._hints:
            hints.expect(int(self._indptr[cells.start]), int(self._indptr[cells.stop]))


class StoredDense:
    """A dense two-dimensional array in an open file, HDF5 or zarr."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype: np.dtype[Any] = np.dtype(array.dtype)
        self.size, self.value_bytes = self.shape[0] * self.shape[1], self.dtype.itemsize
        self.unit = packed_together(array)

    def count(self, cells: slice) -> int:
        return (cells.stop - cells.start) * self.shape[1]

    def __getitem__(self, cells: slice) -> np.ndarray:
        return np.asarray(self._array[cells.start : cells.stop])

    def expect(self, cells: slice) -> None:
        pass


class Hints:
    """Where the values of an array stand in a file of HDF5, to tell the system of those that are wanted next.

    A disk is slow to hand over one stretch after the other, each when it is asked for.
    """

    def __init__(self, array: Any) -> None:
        self._array = array

    def expect(self, first: int, last: int) -> None:
        """Values from ``first`` to ``last`` will be read soon."""
        with suppress(Exception):  # this is but a hint: whoever reads the file will say what is wrong with it
            handle, (starts, places, sizes) = self._array.file.id.get_vfd_handle(), self._stretches
            for number in range(np.searchsorted(starts, first, "right") - 1, np.searchsorted(starts, last)):
                os.posix_fadvise(handle, int(places[number]), int(sizes[number]), os.POSIX_FADV_WILLNEED)

    @cached_property
    def _stretches(self) -> np.ndarray:
        """First values of all stretches, their places in the file and their bytes: chunks, or parts of an array."""
        array, size = self._array.id, self._array.dtype.itemsize
        if self._array.chunks is None:
            starts = np.arange(0, self._array.shape[0], STRETCH)
            return np.stack([starts, array.get_offset() + size * starts, np.full(len(starts), size * STRETCH)])
        found: list[tuple[int, int, int]] = []
        array.chunk_iter(lambda chunk: found.append((chunk.chunk_offset[0], chunk.byte_offset, chunk.size)))
        return np.array(sorted(found), dtype=np.int64).T


def packed_together(array: Any) -> int:
    """Values in a chunk of an array of HDF5 or zarr that is compressed, else 1."""
    packed = getattr(array, "compression", None) or getattr(array, "compressors", None)
    return int(np.prod(array.chunks)) if packed else 1


def storable(dtype: Any) -> np.dtype[Any]:
    """The type as SciPy can hold it: in the byte order of the machine, and not of half precision."""
    dtype = np.dtype(dtype).newbyteorder("=")
    return np.dtype(np.float32) if dtype == np.float16 else dtype
