"""Damaged files: cut, wiped, with flipped bits. Each is read as it was, refused in one line, or differs in values only.

What no checksum covers, plain values of HDF5 among it, can change without a trace; what one covers must not.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anndata as ad
import h5py
import numpy as np
from scipy import io as scipy_io
from scipy import sparse

import genesieve as gs
from genesieve.interpret.genesets import read_gene_sets
from genesieve.workflow import Settings, repeated
from genesieve.workflow.folder import write_record
from genesieve.workflow.model import load_model, save_model

from .arguments import _run as run_command
from .campaign import FaultError
from .mutation import DAMAGES

COMMANDED = 40  # one file in so many is also given to `genesieve run`


class Kind(NamedTuple):
    """Files of one kind: how they are made in a folder, read from it, and where a checksum covers them."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    covered: Callable[[Path], list[tuple[int, int]]] = lambda file: []  # from one byte to another


def everything(file: Path) -> list[tuple[int, int]]:
    """The whole file is covered."""
    return [(0, file.stat().st_size)]


def behind_the_header(file: Path) -> list[tuple[int, int]]:
    """All of a gzip file but what says when it was made."""
    return [(10, file.stat().st_size)]


def compressed_chunks(file: Path) -> list[tuple[int, int]]:
    """Chunks of HDF5 that zlib guards."""
    found: list[tuple[int, int]] = []

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.compression == "gzip" and item.dtype.kind in "iuf":
            infos = [item.id.get_chunk_info(number) for number in range(item.id.get_num_chunks())]
            found.extend((info.byte_offset, info.byte_offset + info.size) for info in infos)

    with h5py.File(file) as held:
        held.visititems(note)
    return found


def cells() -> ad.AnnData:
    """Small data with all that an h5ad has."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(0.5, (60, 40)).astype(np.float32))
    return ad.AnnData(X, obs={"kind": ["a", "b", "c"] * 20}, uns={"note": {"of": np.arange(5), "by": "us"}})


def write_10x(folder: Path) -> None:
    """The h5 of 10x."""
    X, genes = cells().X, [f"gene{number}".encode() for number in range(40)]
    with h5py.File(folder / "counts.h5", "w") as file:
        matrix = file.create_group("matrix")
        parts = {"data": X.data.astype(np.int32), "indices": X.indices, "indptr": X.indptr, "shape": X.shape[::-1]}
        for name, values in parts.items():
            matrix[name] = values
        matrix["barcodes"] = [f"cell{number}".encode() for number in range(60)]
        for name, words in {"name": genes, "id": genes, "feature_type": [b"Gene Expression"] * 40}.items():
            matrix[f"features/{name}"] = words
        matrix["features/genome"] = [b"hg"] * 40


def write_mtx(folder: Path, *, gzipped: bool = False) -> None:
    """The folder of 10x."""
    matrix = io.BytesIO()
    scipy_io.mmwrite(matrix, cells().X.T.tocoo())
    contents = {
        "matrix.mtx": matrix.getvalue(),
        "features.tsv": "".join(f"g{number}\n" for number in range(40)).encode(),
        "barcodes.tsv": "".join(f"c{number}\n" for number in range(60)).encode(),
    }
    for name, content in contents.items():
        (folder / f"{name}{'.gz' * gzipped}").write_bytes(gzip.compress(content) if gzipped else content)


def write_model(folder: Path) -> None:
    """A model of a run."""
    adata = gs.datasets.demo()[:60].copy()
    gs.tl.ssnmf(adata, 2, 10)
    save_model(adata, folder / "model")


def write_settings(folder: Path) -> None:
    """A run.json."""
    data = {"path": None, "name": "x", "fingerprint": "ab"}
    settings = Settings(rank=2, genes=10).as_dict()
    write_record(folder, {"genesieve": gs.__version__, "kind": "run", "settings": settings, "data": data})


def fit_with_checkpoint(folder: Path) -> bytes:
    """A fit that is kept, or goes on."""
    model = gs.SSNMF(2, n_genes=10, random_state=0, checkpoint=folder / "fit.npz", max_iter=2, tol=1e-1)
    return model.fit(cells().X).components_.tobytes()


def read_cells(name: str, **options: Any) -> Callable[[Path], bytes]:
    """A reader of one file, and what it holds as bytes."""
    return lambda folder: content_of(gs.io.read(folder / name, **options))


def content_of(adata: ad.AnnData) -> bytes:
    """Values, names and columns."""
    X = adata.X.toarray() if sparse.issparse(adata.X) else np.asarray(adata.X)
    parts = [
        np.ascontiguousarray(X, dtype=np.float64).tobytes(),
        adata.obs.to_csv().encode(),
        adata.var.to_csv().encode(),
    ]
    return b"\0".join([*parts, repr(sorted(adata.uns)).encode()])


def fit_in_file(folder: Path) -> bytes:
    """Programs of cells that stay in their file."""
    values = gs.io.open_in_file(folder / "x.h5ad").X
    return gs.SSNMF(2, n_genes=5, random_state=0, max_iter=5).fit(values).components_.tobytes()


KINDS = {
    "h5ad": Kind(lambda folder: cells().write_h5ad(folder / "x.h5ad"), read_cells("x.h5ad")),
    "h5ad gzip": Kind(
        lambda folder: cells().write_h5ad(folder / "x.h5ad", compression="gzip"),
        read_cells("x.h5ad"),
        compressed_chunks,
    ),
    "h5ad left in its file": Kind(lambda folder: cells().write_h5ad(folder / "x.h5ad"), fit_in_file),
    "zarr": Kind(lambda folder: cells().write_zarr(folder / "x.zarr"), read_cells("x.zarr")),
    "10x": Kind(write_10x, read_cells("counts.h5")),
    "mtx": Kind(write_mtx, read_cells(".")),
    "mtx gzip": Kind(lambda folder: write_mtx(folder, gzipped=True), read_cells("."), behind_the_header),
    "csv": Kind(lambda folder: cells().to_df().to_csv(folder / "x.csv"), read_cells("x.csv", cells_in="rows")),
    "gmt": Kind(
        lambda folder: (folder / "x.gmt").write_text("".join(f"S{i}\tnote\tCD3D\tG{i}\n" for i in range(40))),
        lambda folder: repr(read_gene_sets(folder / "x.gmt")).encode(),
    ),
    "model": Kind(write_model, lambda folder: content_of_model(folder / "model"), everything),
    "record": Kind(write_settings, lambda folder: repr(repeated(folder)).encode()),
    "checkpoint": Kind(fit_with_checkpoint, fit_with_checkpoint, everything),
}


def content_of_model(folder: Path) -> bytes:
    """All that scores new cells."""
    adata = load_model(folder)
    weights, fit = adata.varm["ssnmf"], adata.uns["ssnmf"]
    return weights.tobytes() + repr((list(adata.var_names), fit["params"])).encode()


def files(seed: int, folder: Path) -> str:
    """One damaged file of one of the kinds."""
    names, damages = list(KINDS), list(DAMAGES)
    name, damage = names[seed % len(names)], damages[seed // len(names) % len(damages)]
    kind, whole, broken = KINDS[name], folder / name / "whole", folder / name / "broken"
    if not whole.exists():
        whole.mkdir(parents=True)
        kind.write(whole)
        kind.read(whole)  # what reading writes, a checkpoint, is there from the start
    shutil.rmtree(broken, ignore_errors=True)
    shutil.copytree(whole, broken)
    expected = hashlib.sha256(kind.read(_copy(whole))).digest()
    file, guarded = _break(broken, damage, kind, np.random.default_rng([seed, 7]))
    return f"{name}: {_outcome(kind, broken, expected, guarded, f'{name}, {damage}, {file.name}', seed)}"


def _copy(folder: Path) -> Path:
    """A copy that reading may write to."""
    place = folder.with_name("copy")
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(folder, place))


def _break(folder: Path, damage: str, kind: Kind, rng: np.random.Generator) -> tuple[Path, bool]:
    """Damage a file of the folder; which, and whether a checksum covers all that was damaged."""
    all_files = sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size)
    file = all_files[int(rng.integers(len(all_files)))]
    before, content = file.read_bytes(), bytearray(file.read_bytes())
    covered = kind.covered(file)
    DAMAGES[damage](content, rng)
    file.write_bytes(content)
    length = min(len(before), len(content))
    places = np.flatnonzero(
        np.frombuffer(before[:length], np.uint8) != np.frombuffer(bytes(content[:length]), np.uint8)
    )
    inside = all(any(start <= place < stop for start, stop in covered) for place in places)
    return file, bool(covered) and inside and (len(content) == len(before) or covered == everything_of(before))


def everything_of(content: bytes) -> list[tuple[int, int]]:
    """As `everything`, of what was in the file."""
    return [(0, len(content))]


def _outcome(kind: Kind, broken: Path, expected: bytes, guarded: bool, about: str, seed: int) -> str:
    if seed % COMMANDED == 0 and about.startswith(("h5ad,", "h5ad gzip", "10x", "mtx")):
        _command(broken, about)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same = hashlib.sha256(kind.read(broken)).digest() == expected
    except (ValueError, TypeError, OSError, KeyError, MemoryError) as error:
        if len(str(error).splitlines()) != 1:
            raise FaultError(f"{about}: {error!r}"[:900]) from None
        return "refused"
    if not same and guarded:
        raise FaultError(f"{about}: read otherwise, though a checksum covers what was damaged")
    return "the same" if same else "differs"


def _command(broken: Path, about: str) -> None:
    """The same by the command line."""
    data = next((file for file in broken.iterdir() if file.suffix in (".h5ad", ".h5")), broken)
    line = ["run", str(data), "-r", "2", "-k", "5", "--min-cells", "2", "--no-figures", "-q", "-o", str(broken / "out")]
    code, said = run_command(line, broken)
    if code not in (0, 1, 2) or "Traceback" in said or (code and len(said.splitlines()) != 1):
        raise FaultError(f"{about}, by the command line: {code} {said}"[:900])
    shutil.rmtree(broken / "out", ignore_errors=True)
