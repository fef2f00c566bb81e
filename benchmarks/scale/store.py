"""Files in the layout of AnnData, h5ad or zarr, written as cells come."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from anndata.io import write_elem

from benchmarks.scale.draw import Rows

# Measured on slices of a thousand cells. Plain HDF5 reads large chunks as fast as one piece; where chunks are
# unpacked, a slice unpacks all of every chunk it touches, and blosc's lz4 does so faster than zarr's own zstd.
VALUES_A_CHUNK, VALUES_A_PACKED_CHUNK = 2**22, 2**20


class _Growing:
    """An array on disk that is written in whole chunks, but for its end."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.waiting: list[np.ndarray] = []

    def append(self, values: np.ndarray) -> None:
        self.waiting.append(values)
        size = sum(part.size for part in self.waiting)
        if size >= self.array.chunks[0]:
            self.flush(size - size % self.array.chunks[0])

    def flush(self, n: int | None = None) -> None:
        """Write the first ``n`` of the values that wait, or all."""
        values = np.concatenate(self.waiting)
        start, new = self.array.shape[0], values[:n]
        if new.size:
            self.array.resize((start + new.size,))
            self.array[start:] = new
        self.waiting = [values[new.size :].copy()]


class Store(NamedTuple):
    """A file open for writing, and how a growing array is made in it."""

    root: Any
    create: str  # a method of its groups
    options: dict[str, Any]

    def growing(self, group: Any, name: str, dtype: type) -> _Growing:
        return _Growing(getattr(group, self.create)(name, shape=(0,), dtype=dtype, **self.options))


@contextmanager
def opened(path: Path, compression: str | None, zarr_format: int) -> Iterator[Store]:
    if path.suffix == ".zarr":
        import zarr

        packing = {"chunks": (VALUES_A_PACKED_CHUNK,), "compressors": _blosc(zarr_format)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # remarks on formats to come
            yield Store(zarr.open_group(path, mode="w", zarr_format=zarr_format), "create_array", packing)
            zarr.consolidate_metadata(path)
        return
    import h5py

    chunk = VALUES_A_PACKED_CHUNK if compression else VALUES_A_CHUNK
    packing = {"chunks": (chunk,), "compression": compression, "maxshape": (None,)}
    with h5py.File(path, "w") as file:
        yield Store(file, "create_dataset", packing)


def _blosc(zarr_format: int) -> Any:
    """The same packing in the terms of either format."""
    if zarr_format == 2:
        from numcodecs import Blosc  # type: ignore[import-untyped]

        return Blosc("lz4", shuffle=Blosc.BITSHUFFLE)
    from zarr.codecs import BloscCodec

    return BloscCodec(cname="lz4", shuffle="bitshuffle")


def write_tables(store: Store, tables: dict[str, Any]) -> None:
    """All of an AnnData but its matrix; what is not given is empty."""
    empty: dict[str, Any] = {name: {} for name in ("layers", "obsm", "obsp", "varm", "varp")}
    for name, table in {**empty, **tables}.items():
        write_elem(store.root, name, table)
    store.root.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})


def write_counts(store: Store, shape: tuple[int, int], blocks: Iterable[Rows]) -> np.ndarray:
    """The matrix as CSR; how many values each cell has."""
    group = store.root.create_group("X")
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(shape)})
    data, indices = store.growing(group, "data", np.float32), store.growing(group, "indices", np.int32)
    sizes = []
    for rows in blocks:
        data.append(rows.values)
        indices.append(rows.genes)
        sizes.append(rows.sizes)
    data.flush()
    indices.flush()
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    write_elem(group, "indptr", indptr)
    return np.diff(indptr)


def size_on_disk(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())
