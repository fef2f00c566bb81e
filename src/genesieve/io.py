"""Reading expression data from the files that laboratories have."""

from __future__ import annotations

import gzip
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from genesieve._checks import first_few, shown
from genesieve._damage import check_codecs, check_hdf5, check_matrix_market, check_text, closed_on_failure
from genesieve._matrices import check_all_intact
from genesieve.core.cells.intact import check_intact

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["FileError", "RequestError", "open_in_file", "read"]

FORMATS = ".h5ad, .zarr, 10x .h5, a folder with matrix.mtx, .csv, .tsv or .txt (also .gz), .loom"
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}


class RequestError(ValueError):
    """What was asked for does not fit these data: the request has to change, not the data."""


class FileError(ValueError):
    """A file does not hold what it should."""


def read(path: str | PathLike[str], *, cells_in: str | None = None) -> AnnData:
    r"""Read cells x genes from h5ad, zarr, 10x h5, a 10x mtx folder, csv, tsv or loom, told apart by name and content.

    Parameters
    ----------
    path
        File or folder.
    cells_in
        ``"rows"`` or ``"columns"``: where a csv or tsv table has its cells. Tables need it, as both ways are common and
        no look at the numbers tells them apart; other formats say it themselves.

    Returns
    -------
    AnnData
        In memory. In the 10x formats, where it is usual that symbols repeat, names are told apart by a suffix.

    Raises
    ------
    FileNotFoundError, FileError
        If there is nothing at ``path``, or not what its name says: unreadable, cut short, another format.
    RequestError
        If a table comes without ``cells_in``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "counts.csv")
    ...     _ = table.write_text("cell,CD3D,MS4A1\nc1,5,0\nc2,0,7\n")
    ...     read(table, cells_in="rows").shape
    (2, 2)
    """
    if cells_in not in ("rows", "columns", None):
        raise RequestError(f"cells_in must be 'rows' or 'columns', got {cells_in!r}")
    path = _there(path)
    reader, expected = _reader(path)
    with _one_clear_line(path, expected):
        adata = reader(path, cells_in)
    _check_intact(adata, path)
    return _with_cells(adata, path)


def _there(path: str | PathLike[str]) -> Path:
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} must be a file or folder with expression data, got nothing there")
    if not path.is_file() and not path.is_dir():  # files are read more than once
        raise RequestError(f"{path} must be a file or folder with expression data, got a pipe or a device")
    return path


def _check_intact(adata: AnnData, path: Path) -> None:
    try:
        check_all_intact(adata, str(path), mend=True)
    except ValueError as error:
        raise FileError(str(error)) from None


def _with_cells(adata: AnnData, path: Path) -> AnnData:
    """The object, its names as text, if it has cells and genes."""
    if 0 in adata.shape:
        raise FileError(f"{path} must hold cells and genes, got {adata.n_obs} cells x {adata.n_vars} genes")
    adata.obs_names, adata.var_names = adata.obs_names.astype(str), adata.var_names.astype(str)
    return adata


def _reader(path: Path) -> tuple[Callable[[Path, str | None], AnnData], str]:
    """The function that reads ``path``, and what it expects there, for errors."""
    if path.is_dir():
        if any((path / mark).exists() for mark in (".zgroup", "zarr.json", ".zattrs")):
            return _read_zarr, "an AnnData in zarr"
        return _read_mtx_folder, "a zarr store, or a 10x folder with matrix.mtx, features.tsv and barcodes.tsv"
    suffix = _suffix(path)
    if suffix == ".h5ad":
        return _read_h5ad, "an AnnData in HDF5 (h5ad)"
    if suffix in (".h5", ".hdf5"):
        return _read_h5, "a 10x matrix in HDF5"
    if suffix in SEPARATORS:
        return _read_table, "a table of numbers with names in its first row and column"
    if suffix == ".loom":
        return _read_loom, "a loom file"
    if suffix == ".mtx":
        raise RequestError(f"{path} is one file of three: give the folder that holds it, features.tsv and barcodes.tsv")
    if suffix == ".zip" and zipfile.is_zipfile(path):
        raise RequestError(f"{path} must be one of {FORMATS}; unzip it first")
    raise RequestError(f"{path} must be one of {FORMATS}, got a name that ends in {path.suffix or 'nothing'!r}")


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


@contextmanager
def _one_clear_line(path: Path, expected: str) -> Iterator[None]:
    """Whatever goes wrong inside a reader, as one line that names the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what libraries remark on a file's dialect is not for the caller
            yield
    except (FileError, RequestError):
        raise
    except PermissionError as error:
        raise PermissionError(f"{path} must be readable, got {error.strerror or error}") from error
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        kind = MemoryError if isinstance(error, MemoryError) else FileError
        raise kind(f"{path} must be {expected}, and cannot be read as one: {said[:200]}") from error


# ------------------------------------------------------------------------------------------------ left in the file


def open_in_file(path: str | PathLike[str], *, use_raw: bool = False) -> AnnData:
    """An AnnData whose values, of X and of layers, stay in their h5ad or zarr file and are read as they are needed.

    Parameters
    ----------
    path
        An h5ad file or a zarr store.
    use_raw
        Take values and genes of ``.raw``.

    Returns
    -------
    AnnData
        Lazy. Errors are those of `read`; one more is for formats that cannot be read in blocks of cells.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import genesieve as gs
    >>> with TemporaryDirectory() as folder:
    ...     gs.datasets.demo().write_h5ad(f"{folder}/demo.h5ad")
    ...     open_in_file(f"{folder}/demo.h5ad").shape
    (700, 765)
    """
    path = _there(path)
    if not can_stay_in_file(path):
        raise RequestError(f"{path} must be an .h5ad file or a zarr store to be read in blocks of cells")
    with _one_clear_line(path, "an AnnData in HDF5 (h5ad) or zarr"), closed_on_failure(_open_group(path)) as group:
        adata = _opened(group, use_raw)
    return _with_cells(adata, path)


def can_stay_in_file(path: Path) -> bool:
    """Whether `open_in_file` knows the format."""
    return path.exists() and _reader(path)[0] in (_read_h5ad, _read_zarr)


def size_in_memory(path: Path) -> int:
    """Bytes that the values of X would take in memory; 0 where the format does not tell beforehand."""
    if not can_stay_in_file(path):
        return 0
    with _one_clear_line(path, "an AnnData in HDF5 (h5ad) or zarr"):
        group = _open_group(path)
        if "X" not in group:
            return 0
        X = group["X"]
        parts = [X[name] for name in ("data", "indices")] if hasattr(X, "keys") else [X]
        return sum(int(np.prod(part.shape)) * part.dtype.itemsize for part in parts)


def _open_group(path: Path) -> Any:
    if path.is_dir():
        import zarr

        return zarr.open_group(check_codecs(path), mode="r")
    import h5py

    _check_hdf5(path, "an AnnData in HDF5 (h5ad)")
    return h5py.File(path, "r")


def _opened(group: Any, use_raw: bool) -> AnnData:
    from anndata import AnnData, io

    if use_raw and "raw" not in group:
        raise RequestError("use_raw needs .raw in the file, which has none")
    values, layers = group["raw"] if use_raw else group, {} if use_raw else group.get("layers", {})
    return AnnData(
        X=_left_in_file(values["X"]) if "X" in values else None,
        obs=io.read_elem(group["obs"]),
        var=io.read_elem(values["var"]),
        uns=io.read_elem(group["uns"]) if "uns" in group else {},
        layers={name: _left_in_file(layers[name]) for name in layers},
    )


def _left_in_file(element: Any) -> Any:
    from anndata.io import sparse_dataset

    return sparse_dataset(element) if hasattr(element, "keys") else element


# ------------------------------------------------------------------------------------------------ one reader a format


def _read_h5ad(path: Path, cells_in: str | None) -> AnnData:
    from anndata import read_h5ad

    _check_hdf5(path, "an AnnData in HDF5 (h5ad)")
    return read_h5ad(path)


def _read_zarr(path: Path, cells_in: str | None) -> AnnData:
    from anndata.io import read_zarr

    return read_zarr(check_codecs(path))


def _read_h5(path: Path, cells_in: str | None) -> AnnData:
    """A 10x matrix, or an AnnData under the shorter name."""
    import h5py
    import scanpy as sc

    _check_hdf5(path, "a 10x matrix in HDF5")
    with h5py.File(path) as file:
        groups = list(file)
    if {"X", "obs", "var"} <= set(groups):
        return _read_h5ad(path, cells_in)
    adata = sc.read_10x_h5(path, gex_only=False)
    _check_intact(adata, path)  # before genes are chosen
    if "feature_types" in adata.var:
        adata = adata[:, adata.var["feature_types"] == "Gene Expression"].copy()
    return _unique(adata)


def _check_hdf5(path: Path, expected: str) -> None:
    import h5py

    if not h5py.is_hdf5(path):
        came = f"the first bytes {path.open('rb').read(8)!r}" if path.stat().st_size else "an empty file"
        raise FileError(f"{path} must be {expected}, got {came}: another format, or cut short")
    check_hdf5(path)


def _read_loom(path: Path, cells_in: str | None) -> AnnData:
    if find_spec("loompy") is None:
        raise FileError(f"{path} is a loom file, which needs the package loompy: pip install loompy, or write h5ad")
    from anndata.io import read_loom

    _check_hdf5(path, "a loom file")
    return _unique(read_loom(path, validate=False))


def _read_mtx_folder(path: Path, cells_in: str | None) -> AnnData:
    """The three files of 10x, of any version, plain or gzipped, with or without a common prefix."""
    from anndata import AnnData
    from scipy.io import mmread

    matrix = _only_file(path, "", ("matrix.mtx", "matrix.mtx.gz"))
    prefix = matrix.name.removesuffix(".gz").removesuffix("matrix.mtx")
    features = _lines(_only_file(path, prefix, ("features.tsv", "features.tsv.gz", "genes.tsv", "genes.tsv.gz")))
    barcodes = _lines(_only_file(path, prefix, ("barcodes.tsv", "barcodes.tsv.gz")))
    values = mmread(check_matrix_market(matrix))
    check_intact(values, matrix.name)
    X = sparse.csr_matrix(values.T, dtype=np.float32)  # (cells, genes): the file has genes in rows
    if X.shape != (len(barcodes), len(features)):
        raise FileError(
            f"{path} must hold files that fit together, got a matrix of {X.shape[1]} genes x {X.shape[0]} cells with"
            f" {len(features)} features and {len(barcodes)} barcodes"
        )
    adata = AnnData(X)
    adata.obs_names = [fields[0] for fields in barcodes]
    adata.var_names = [fields[min(1, len(fields) - 1)] for fields in features]  # the symbol, or all there is
    adata.var["gene_ids"] = [fields[0] for fields in features]
    kinds = np.array([fields[2] if len(fields) > 2 else "Gene Expression" for fields in features])
    return _unique(adata[:, kinds == "Gene Expression"].copy())


def _only_file(folder: Path, prefix: str, names: tuple[str, ...]) -> Path:
    """The one file of a folder that ends in one of the names, after the prefix."""
    found = sorted(file for name in names for file in folder.glob(f"*{name}") if file.name.startswith(prefix))
    if len(found) == 1:
        return found[0]
    came = " and ".join(file.name for file in found) if found else first_few(file.name for file in folder.iterdir())
    raise FileError(f"{folder} must hold exactly one {' or '.join(names[::2])} (or .gz), got {came or 'no files'}")


def _lines(path: Path) -> list[list[str]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\r\n").split("\t") for line in file if line.strip()]


def _read_table(path: Path, cells_in: str | None) -> AnnData:
    import pandas as pd
    from anndata import AnnData

    # Names stay as they are written: "007" is no number and "NA" is not missing. Blank values are found as words below.
    form = {"sep": SEPARATORS[_suffix(path)], "index_col": 0, "converters": {0: str}, "keep_default_na": False}
    table = pd.read_csv(check_text(path), encoding="utf-8", float_precision="round_trip", **form)
    words = [str(name) for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    if words or not table.shape[1]:
        came = f"other things in column {shown(words[0])}" if words else "one column"
        raise FileError(f"{path} must be a table of numbers with names in its first row and column, got {came}")
    if cells_in is None:
        raise RequestError(
            f"{path} must come with cells_in, rows or columns: it has {len(table)} rows ({first_few(table.index)})"
            f" and {table.shape[1]} columns ({first_few(table.columns)})"
        )
    table = table if cells_in == "rows" else table.T
    X = sparse.csr_matrix(table.to_numpy(dtype=np.float64))
    obs, var = (pd.DataFrame(index=names.astype(str)) for names in (table.index, table.columns))
    return AnnData(X, obs=obs, var=var)


def _unique(adata: AnnData) -> AnnData:
    adata.var_names_make_unique()
    adata.obs_names_make_unique()
    return adata
