"""Random fits of cells outside memory: in an HDF5 file, dense or sparse, and in the blocks of a Dask array."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata as ad
import dask
import dask.array as da
import h5py
import numpy as np
from scipy import sparse

import genesieve as gs

from .campaign import FaultError
from .drawing import Case, draw
from .judging import _fit, _may_pass, dense, faults_of, is_clear


def in_file(values: np.ndarray, folder: Path, rng: np.random.Generator) -> Any:
    """A dense array of an open file, in chunks or in one piece."""
    file = h5py.File(folder / "dense.h5", "w")
    return file.create_dataset("X", data=values, chunks=True if rng.random() < 0.5 else None)


def in_file_sparse(values: np.ndarray, folder: Path, rng: np.random.Generator) -> Any:
    """Compressed rows of an open file."""
    file = h5py.File(folder / "sparse.h5", "w")
    ad.io.write_elem(file, "X", sparse.csr_matrix(values))
    return ad.io.sparse_dataset(file["X"])


def in_blocks(values: np.ndarray, folder: Path, rng: np.random.Generator) -> Any:
    """A Dask array of dense blocks."""
    return da.from_array(values, chunks=(int(rng.integers(1, len(values) + 1)), -1))


def in_sparse_blocks(values: np.ndarray, folder: Path, rng: np.random.Generator) -> Any:
    """A Dask array of sparse blocks."""
    return in_blocks(values, folder, rng).map_blocks(sparse.csr_matrix)


PLACES: tuple[Callable[[np.ndarray, Path, np.random.Generator], Any], ...] = (
    in_file,
    in_file_sparse,
    in_blocks,
    in_sparse_blocks,
)


def outside(seed: int, folder: Path) -> str:
    """One fit of cells that are not in memory."""
    case, rng = draw(seed), np.random.default_rng([seed, 53])
    place, values = PLACES[seed % len(PLACES)], np.ascontiguousarray(case.values)
    if place in (in_file_sparse, in_sparse_blocks):  # SciPy has no sparse values of some types
        values = values.astype(np.promote_types(values.dtype.newbyteorder("="), np.float32))
    X = place(values, folder, rng)
    try:
        return f"{place.__name__}: {_ended(case, X)}"
    finally:
        if isinstance(X, h5py.Dataset):
            X.file.close()


def _ended(case: Case, X: Any) -> str:
    model = gs.SSNMF(**case.options)
    try:
        with dask.config.set(scheduler="synchronous"):
            H = _fit(model, case, X)
    except Exception as error:
        if not is_clear(error):
            raise FaultError(f"{case}: {error!r}") from None
        return "refused"
    if case.nonsense is not None and not _may_pass(case):
        raise FaultError(f"{case}: {case.nonsense} was not refused")
    found = faults_of(case, model, dense(case.X), np.asarray(H, dtype=np.float64))
    if found:
        raise FaultError(f"{case}: {'; '.join(found)}")
    return "fitted"
