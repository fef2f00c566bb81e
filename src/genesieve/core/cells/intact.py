"""Whether the parts of a sparse matrix fit together.

Compiled code trusts the places of values: one outside the matrix would be read, or written, outside its memory. Files
can be damaged or crafted, and neither SciPy nor anndata looks. So this is asked once wherever sparse values come in,
before anything else is done with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

ROWS, COLUMNS = ("row", "gene"), ("column", "cell")
"""What compressed values are kept by, and what their indices are of."""


def check_intact(X: Any, name: str = "X") -> None:
    """Raise if X is sparse and its parts do not fit together; one look at every index."""
    if not sparse.issparse(X) or X.ndim != 2:
        return
    if X.format in ("csr", "csc", "bsr"):
        _check_compressed(X, name)
    else:
        _check_coordinates(X if X.format == "coo" else X.tocoo(), name)


def check_ends(ends: np.ndarray, n_lines: int, n_values: int, n_indices: int, name: str, kept_by: str = "row") -> None:
    """Raise unless the ends of rows, or columns, lead from 0 to the last value and never back."""
    last = ends[-1] if ends.ndim == 1 and len(ends) else "missing"
    rising = ends.dtype.kind in "iu" and ends.shape == (n_lines + 1,) and ends[0] == 0 and (ends[1:] >= ends[:-1]).all()
    if not rising or last != n_values or n_values != n_indices:
        raise ValueError(
            f"{name} is damaged: it must be stored whole, got {n_values} values, {n_indices} indices and"
            f" {max(ends.size - 1, 0)} {kept_by} ends, the last of them {last}, for {n_lines} {kept_by}s"
        )


def check_indices(
    indices: np.ndarray, ends: np.ndarray, size: int, name: str, kept: tuple[str, str] = ROWS, first_line: int = 0
) -> None:
    """Raise unless all indices are below ``size``; ``ends`` say which row, or column, a wrong one is in."""
    wrong = _first_outside(indices, size, name)
    if wrong is not None:
        line = first_line + int(np.searchsorted(ends, wrong, side="right")) - 1
        raise ValueError(_outside(name, indices[wrong], f"{kept[1]} in {kept[0]} {line}", size))


def _check_compressed(X: Any, name: str) -> None:
    kept, (n_lines, size) = (COLUMNS, X.shape[::-1]) if X.format == "csc" else (ROWS, X.shape)
    if not all(isinstance(part, np.ndarray) for part in (X.data, X.indices, X.indptr)):  # as of an empty data set
        raise ValueError(f"{name} is damaged: values, indices and {kept[0]} ends must be arrays")
    if X.data.ndim != (3 if X.format == "bsr" else 1) or X.indices.ndim != 1:
        raise ValueError(f"{name} is damaged: values and indices must be lists, got more than one axis or none")
    if X.format == "bsr":
        height, width = X.data.shape[1:]
        if 0 in (height, width) or n_lines % height or size % width:
            raise ValueError(f"{name} is damaged: blocks of {height} x {width} must fill {n_lines} x {size}")
        n_lines, size = n_lines // height, size // width
    check_ends(X.indptr, n_lines, len(X.data), len(X.indices), name, kept[0])
    check_indices(X.indices, X.indptr, size, name, kept)
    _check_types(name, indices=X.indices, indptr=X.indptr)


def _check_coordinates(X: Any, name: str) -> None:
    for indices, size, what in zip((X.row, X.col), X.shape, ("cell", "gene"), strict=True):
        if indices.shape != X.data.shape:
            raise ValueError(f"{name} is damaged: {X.data.size} values must have as many indices, got {indices.size}")
        wrong = _first_outside(indices, size, name)
        if wrong is not None:
            raise ValueError(_outside(name, indices[wrong], what, size))
    _check_types(name, row=X.row, col=X.col)


def _check_types(name: str, **indices: np.ndarray) -> None:
    """Raise about whole numbers that compiled code does not take: of other byte orders or sizes."""
    for part, array in indices.items():
        if array.dtype not in (np.int32, np.int64):
            raise ValueError(
                f"{name}.{part} must be int32 or int64 in the byte order of this machine, got {array.dtype}:"
                f" {part}.astype(np.int64)"
            )


def csr_of(
    values: np.ndarray, genes: np.ndarray, ends: np.ndarray, n_genes: int, kind: type[Any] = sparse.csr_array
) -> Any:
    """Compressed rows of these very arrays: nothing is copied, nothing looked at, which SciPy does for every value."""
    X = kind((len(ends) - 1, n_genes), dtype=values.dtype)
    X.data, X.indices, X.indptr = values, genes, ends
    return X


def as_compiled_code_takes(X: Any) -> None:
    """Let whole-number indices of compressed values, as any file may have them, be of a type that all code takes."""
    if not sparse.issparse(X) or X.format not in ("csr", "csc", "bsr"):
        return
    parts = (X.indices, X.indptr)
    whole = all(isinstance(part, np.ndarray) and part.dtype.kind in "iu" for part in parts)
    if whole and any(part.dtype not in (np.int32, np.int64) for part in parts):
        small = all(part.dtype.itemsize < 4 or part.dtype.newbyteorder("=") == np.int32 for part in parts)
        X.indices, X.indptr = (part.astype(np.int32 if small else np.int64) for part in parts)


def _first_outside(indices: np.ndarray, size: int, name: str) -> int | None:
    """The place of the first index that is not below ``size``, if there is one."""
    if not indices.size:
        return None
    if indices.dtype.kind not in "iu":
        raise ValueError(f"{name} is damaged: indices must be whole numbers, got {indices.dtype}")
    if indices.dtype in (np.int32, np.int64):  # one look does: without a sign, those below zero are far above
        inside = indices.view(f"u{indices.dtype.itemsize}").max() < size
    else:
        inside = indices.min() >= 0 and indices.max() < size
    if inside:
        return None
    return int(np.argmax((indices < 0) | (indices >= size)))


def _outside(name: str, index: int, what: str, size: int) -> str:
    return f"{name} is damaged: index {index} of {what} must be at least 0 and below {size}"
