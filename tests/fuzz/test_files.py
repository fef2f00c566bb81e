"""Damaged files: cut, wiped, with flipped bits. Each is read as it was, refused in one line, or differs in values only.

Every reading has a process of its own, with a limit on the processor's time: a loop without end is told from a slow
disk. What no checksum covers, plain values of HDF5 among it, can change without a trace.
"""

from __future__ import annotations

import os
import resource
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anndata as ad
import h5py
import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

import genesieve as gs
from genesieve.interpret.genesets import read_gene_sets
from genesieve.workflow import Settings, repeated
from genesieve.workflow.folder import write_record
from genesieve.workflow.model import load_model, save_model

FIRST = int(os.environ.get("FUZZ_SEED", "0"))
CASES = int(os.environ.get("FUZZ_FILES", "3"))  # of each kind of file and damage
SECONDS = 20  # of the processor, where whole files take a tenth of one
SAME, REFUSED, CRASHED, NO_LINE = range(4)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


class Kind(NamedTuple):
    """Files of one kind: how they are made in a folder, and read from it."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]


def cells() -> ad.AnnData:
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(0.5, (60, 40)).astype(np.float32))
    return ad.AnnData(X, obs={"kind": ["a", "b", "c"] * 20}, uns={"note": {"of": np.arange(5), "by": "us"}})


def write_10x(folder: Path) -> None:
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


def write_mtx(folder: Path) -> None:
    scipy_io.mmwrite(folder / "matrix.mtx", cells().X.T.tocoo())
    (folder / "features.tsv").write_text("".join(f"g{number}\n" for number in range(40)))
    (folder / "barcodes.tsv").write_text("".join(f"c{number}\n" for number in range(60)))


def write_model(folder: Path) -> None:
    adata = gs.datasets.demo()[:60].copy()
    gs.tl.ssnmf(adata, 2, 10)
    save_model(adata, folder / "model")


def write_settings(folder: Path) -> None:
    write_record(folder, {"genesieve": "0", "kind": "run", "settings": Settings(rank=2, genes=10).as_dict()})


def write_checkpoint(folder: Path) -> None:
    gs.SSNMF(2, n_genes=10, random_state=0, checkpoint=folder / "fit.npz", max_iter=2, tol=1e-1).fit(cells().X)


def read_checkpoint(folder: Path) -> Any:
    gs.SSNMF(2, n_genes=10, random_state=0, checkpoint=folder / "fit.npz", max_iter=2, tol=1e-1).fit(cells().X)


KINDS = {
    "h5ad": Kind(lambda folder: cells().write_h5ad(folder / "x.h5ad"), lambda folder: gs.io.read(folder / "x.h5ad")),
    "h5ad gzip": Kind(
        lambda folder: cells().write_h5ad(folder / "x.h5ad", compression="gzip"),
        lambda folder: gs.io.read(folder / "x.h5ad"),
    ),
    "h5ad left in its file": Kind(
        lambda folder: cells().write_h5ad(folder / "x.h5ad"),
        lambda folder: gs.SSNMF(2, n_genes=5, random_state=0).fit(gs.io.open_in_file(folder / "x.h5ad").X),
    ),
    "zarr": Kind(lambda folder: cells().write_zarr(folder / "x.zarr"), lambda folder: gs.io.read(folder / "x.zarr")),
    "10x": Kind(write_10x, lambda folder: gs.io.read(folder / "counts.h5")),
    "mtx": Kind(write_mtx, gs.io.read),
    "csv": Kind(
        lambda folder: cells().to_df().to_csv(folder / "x.csv"),
        lambda folder: gs.io.read(folder / "x.csv", cells_in="rows"),
    ),
    "gmt": Kind(
        lambda folder: (folder / "x.gmt").write_text("".join(f"S{i}\tnote\tCD3D\tG{i}\n" for i in range(40))),
        lambda folder: read_gene_sets(folder / "x.gmt"),
    ),
    "model": Kind(write_model, lambda folder: load_model(folder / "model")),
    "record": Kind(write_settings, lambda folder: repeated(folder)),
    "checkpoint": Kind(write_checkpoint, read_checkpoint),
}


def cut(content: bytearray, rng: np.random.Generator) -> None:
    del content[int(rng.integers(len(content))) :]


def wipe(content: bytearray, rng: np.random.Generator) -> None:
    size = int(rng.integers(1, min(4096, len(content)) + 1))
    start = int(rng.integers(len(content) - size + 1))
    content[start : start + size] = bytes(size)


def flip(content: bytearray, rng: np.random.Generator) -> None:
    for place in rng.integers(len(content), size=rng.integers(1, 30)):
        content[place] ^= 1 << int(rng.integers(8))


DAMAGES = {"cut": cut, "wiped": wipe, "flipped": flip}


def outcome(kind: Kind, folder: Path) -> int:
    """How reading ends, in a process of its own: one of the ends above, or minus the signal that it died of."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        end = SAME
        try:
            kind.read(folder)
        except (ValueError, TypeError, OSError, KeyError) as error:
            end = REFUSED if len(str(error).splitlines()) == 1 else NO_LINE
        except BaseException:
            end = CRASHED
        os._exit(end)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_read_or_refused(tmp_path, name, damage):
    kind, whole, ends = KINDS[name], tmp_path / "whole", Counter()
    whole.mkdir()
    kind.write(whole)
    assert outcome(kind, whole) == SAME
    files = sorted(file.relative_to(whole) for file in whole.rglob("*") if file.is_file() and file.stat().st_size)
    for seed in range(FIRST, FIRST + CASES):
        rng, broken = np.random.default_rng([seed, 7]), tmp_path / str(seed)
        shutil.copytree(whole, broken)
        file = broken / files[int(rng.integers(len(files)))]
        content = bytearray(file.read_bytes())
        DAMAGES[damage](content, rng)
        file.write_bytes(content)
        end = outcome(kind, broken)
        assert end in (SAME, REFUSED), f"seed {seed}, {file.name}: ended with {end}"
        ends[end] += 1
        shutil.rmtree(broken)
    print(name, damage, dict(ends))
