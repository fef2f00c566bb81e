"""HDF5 files whose parts were changed by hand: missing, of another type or shape, with other values, links or notes.

Byte by byte such a file is in order, so that all of it gets to the readers, and what they let pass is fitted.
"""

from __future__ import annotations

import contextlib
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import genesieve as gs

from .campaign import FaultError
from .files import cells, write_10x
from .mutation import pick

CLEAR = (ValueError, TypeError, OSError, KeyError, MemoryError)
NUMBERS = (
    0,
    1,
    -1,
    7,
    41,
    61,
    127,
    10**6,
    40_000_000,
    2**31 - 1,
    2**31,
    2**62,
    -(2**62),
    0.5,
    -1.5,
    1e300,
    np.nan,
    np.inf,
)
WORDS = (
    "",
    "x",
    "array",
    "csr_matrix",
    "csc_matrix",
    "categorical",
    "dataframe",
    "string-array",
    "dict",
    "\U0001f9ec",
    "0.1.0",
    "9.9",
    "_index",
    "/",
    "..",
    "a/b",
)
TYPES = ("i1", "u1", "<i4", ">i4", "i8", "u8", "f2", "<f4", ">f8", "c8", "?", "S3", [("a", "i4"), ("b", "f4")])


def write_h5ad(folder: Path) -> None:
    """Small data as anndata writes it today."""
    cells().write_h5ad(folder / "x.h5ad")


def write_older(folder: Path) -> None:
    """The same as anndata wrote it before version 0.7."""
    adata = cells()
    with h5py.File(folder / "x.h5ad", "w") as file:
        X = file.create_group("X")
        X.attrs["h5sparse_format"], X.attrs["h5sparse_shape"] = "csr", adata.shape
        for name in ("data", "indices", "indptr"):
            X[name] = getattr(adata.X, name)
        kinds = [(f"cell{number}".encode(), number % 3) for number in range(adata.n_obs)]
        file["obs"] = np.array(kinds, dtype=[("index", "S8"), ("kind", "i1")])
        file["var"] = np.array([(f"gene{number}".encode(),) for number in range(adata.n_vars)], dtype=[("index", "S8")])
        file["uns/kind_categories"] = np.array([b"a", b"b", b"c"])


MAKERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "h5ad": (write_h5ad, "x.h5ad"),
    "older h5ad": (write_older, "x.h5ad"),
    "10x": (write_10x, "counts.h5"),
}


def crafted(seed: int, folder: Path) -> str:
    """One file with one to three changes, read in memory or in place, and fitted."""
    rng = np.random.default_rng([seed, 47])
    name = str(pick(rng, ("h5ad", "h5ad", "older h5ad", "10x")))
    make, called = MAKERS[name]
    whole, path = folder / name / "whole", folder / name / f"{seed} {called}"  # the last one may still be open
    if not whole.exists():
        whole.mkdir(parents=True)
        make(whole)
    shutil.copyfile(whole / called, path)
    done = _change(path, rng)
    in_place = name != "10x" and rng.random() < 0.4
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(gs.io.open_in_file(path) if in_place else gs.io.read(path))
    except CLEAR as error:
        if len(str(error).splitlines()) != 1:
            raise FaultError(f"{name}, {done}: {error!r}"[:900]) from None
        return f"{name}: refused"
    finally:
        path.unlink()
    return f"{name}: read"


def use(adata: Any) -> None:
    """Fit what was read; raise if the result is no result."""
    model = gs.SSNMF(2, n_genes=3, random_state=0, max_iter=3, init="random", tol=1e-1).fit(adata.X)
    if not (np.isfinite(model.components_).all() and np.isfinite(model.objective_) and (model.components_ >= 0).all()):
        raise FaultError("a fit that is not finite and feasible")
    adata.obs.to_csv()
    adata.var.to_csv()


# ------------------------------------------------------------------------------------------------ changes


def _change(path: Path, rng: np.random.Generator) -> list[str]:
    """Make some changes that HDF5 allows; what was done."""
    done = []
    with h5py.File(path, "a") as file:
        for _ in range(int(rng.integers(1, 4))):
            names: list[str] = []
            file.visit(names.append)
            if not names:
                break
            name, way = str(pick(rng, names)), str(pick(rng, list(WAYS)))
            with contextlib.suppress(
                KeyError, TypeError, ValueError, OSError, RuntimeError, AttributeError, IndexError
            ):
                WAYS[way](file, name, rng)
                done.append(f"{name} {way}")
    return done


def _put(file: h5py.File, name: str, value: Any) -> None:
    """Another thing in place of one, with its notes."""
    notes = dict(file[name].attrs)
    del file[name]
    file[name] = value
    file[name].attrs.update(notes)


def _values(file: h5py.File, name: str) -> np.ndarray:
    return np.atleast_1d(file[name][()])


def _retyped(file: h5py.File, name: str, rng: np.random.Generator) -> None:
    _put(file, name, np.resize(_values(file, name), file[name].shape).astype(pick(rng, TYPES)))


def _reshaped(file: h5py.File, name: str, rng: np.random.Generator) -> None:
    values = _values(file, name)
    ways = (values[:-1], values[:0], np.concatenate([values, values]), values[None], values[:, None], values[0])
    _put(file, name, pick(rng, ways))


def _revalued(file: h5py.File, name: str, rng: np.random.Generator) -> None:
    values = _values(file, name).copy()
    with np.errstate(all="ignore"):
        places = rng.integers(len(values), size=int(rng.integers(1, 4)))
        values[places] = np.array(pick(rng, NUMBERS)).astype(values.dtype)
    _put(file, name, values)


def _noted(file: h5py.File, name: str, rng: np.random.Generator) -> None:
    notes = file[name].attrs
    note = str(pick(rng, list(notes)))
    values = (
        *WORDS,
        *NUMBERS,
        np.array([3, 4]),
        np.array([10**6, 40]),
        np.array([60, 40, 2]),
        np.array([-1, 40]),
        h5py.Empty("f4"),
    )
    if rng.random() < 0.3:
        del notes[note]
    else:
        notes[note] = pick(rng, values)


def _linked(file: h5py.File, name: str, rng: np.random.Generator) -> None:
    """A link to what is not there, to itself, or to what holds it."""
    holder = file[name].parent
    target = pick(rng, (h5py.SoftLink("/nowhere"), h5py.SoftLink(f"/{name}"), h5py.SoftLink("/"), holder, file["/"]))
    del file[name]
    file[name] = target


def _swapped(file: h5py.File, name: str, rng: np.random.Generator) -> None:
    """Another part of the file in its place."""
    names: list[str] = []
    file.visit(names.append)
    other = file[str(pick(rng, names))]
    del file[name]
    file.copy(other, name)


def _delete(file: h5py.File, name: str, rng: np.random.Generator) -> None:
    del file[name]


def _void(file: h5py.File, name: str, rng: np.random.Generator) -> None:
    """A group, nothing, or a large array without values in its place."""
    kind = int(rng.integers(3))
    if kind == 0:
        del file[name]
        file.create_group(name)
    elif kind == 1:
        _put(file, name, h5py.Empty("f4"))
    else:
        del file[name]
        file.create_dataset(name, shape=(10**6,), dtype="f4", chunks=(1000,))


WAYS: dict[str, Callable[[h5py.File, str, np.random.Generator], None]] = {
    "deleted": _delete,
    "retyped": _retyped,
    "reshaped": _reshaped,
    "revalued": _revalued,
    "with other values": _revalued,
    "noted": _noted,
    "with other notes": _noted,
    "linked": _linked,
    "swapped": _swapped,
    "void": _void,
}
