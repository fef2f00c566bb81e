from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import weakref
from pathlib import Path
from threading import Condition, Event

import anndata as ad
import h5py
import numpy as np
import pytest
import zarr
from anndata.io import sparse_dataset
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import genesieve as gs
from genesieve.core.cells import sources, stored, streamed
from genesieve.core.cells.blocks import FROM_ZERO, Blocks
from genesieve.core.cells.sources import InFile, InMemory, as_values
from genesieve.core.cells.stored import StoredCSR, StoredDense
from genesieve.core.cells.streamed import TO_ROWS, as_source
from genesieve.core.cells.transform import Transform
from genesieve.core.objective import Overlap, gram_of
from genesieve.estimators._parameters import read_memory

RNG = np.random.default_rng(0)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*zarr v[23]:UserWarning"),
    pytest.mark.filterwarnings("ignore:Consolidated metadata:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
DENSE = RNG.poisson(RNG.gamma(0.5, 1.5, 30) * RNG.gamma(1.0, 1.0, (90, 1))).astype(np.float32)
DENSE[[*range(12), 40, *range(80, 90)]] = 0  # cells without a count; some blocks hold no others
CSR = sparse.csr_matrix(DENSE)
W = RNG.random((30, 4))
WEIGHTS = RNG.random(30) + 0.5
STEP = Overlap().cell_step(gram_of(W))
TRANSFORM = Transform(50.0, 2.0, RNG.permutation(30))
# Blocks that are read lie elsewhere in memory, or have other sizes, and BLAS adds up in another order: objectives of
# double precision end some rounding apart.
ROUNDING = 1e-10
PATIENCE = 300.0  # seconds until a test that waits for a thread gives up


def h5ad(**options):
    def write(X, folder):
        ad.AnnData(X).write_h5ad(folder / "data.h5ad", **options)
        return ad.read_h5ad(folder / "data.h5ad", backed="r").X

    return write


def zarr_store(version):
    def write(X, folder):
        with ad.settings.override(zarr_write_format=version):
            ad.AnnData(X).write_zarr(folder / "data.zarr", chunks=(7, 30))
        found = zarr.open_group(folder / "data.zarr", mode="r")["X"]
        return sparse_dataset(found) if sparse.issparse(X) else found

    return write


def sharded_zarr(X, folder):
    """Several chunks in one file, as zarr 3 can keep them."""
    root = zarr.open_group(folder / "data.zarr", mode="w", zarr_format=3)
    if not sparse.issparse(X):
        return root.create_array("X", data=X, chunks=(7, 30), shards=(28, 30))
    group = root.create_group("X")
    for part in ("data", "indices", "indptr"):
        group.create_array(part, data=getattr(X, part), chunks=(16,), shards=(64,))
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(X.shape)})
    return sparse_dataset(group)


FILES = {
    "h5ad": h5ad(),
    "h5ad gzip": h5ad(compression="gzip"),
    "h5ad lzf": h5ad(compression="lzf"),
    "zarr 2": zarr_store(2),
    "zarr 3": zarr_store(3),
    "zarr 3, sharded": sharded_zarr,
}
STORAGES = {"sparse": CSR, "dense": DENSE}


def hdf5_rows(folder, X, *, data=None, indices=None, indptr=None, shape=None):
    """Compressed rows in HDF5 as AnnData keeps them, with any of their arrays replaced."""
    file = h5py.File(folder / "rows.h5", "w")
    group = file.create_group("X")
    group["data"] = X.data if data is None else data
    group["indices"] = X.indices if indices is None else indices
    group["indptr"] = X.indptr if indptr is None else indptr
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": shape or X.shape})
    return sparse_dataset(group)


def one_line(caught):
    message = str(caught.value)
    assert "\n" not in message
    return message


def fit(X, **options):
    return gs.SSNMF(3, **{"n_genes": 12, "random_state": 0, "max_iter": 20, **options}).fit(X)


def everything(blocks):
    """All that a solver asks of blocks."""
    sweep = blocks.sweep(W, FROM_ZERO, STEP)
    part, genes = blocks.part(np.array([0, 13, 14, 50, 89]), 6)
    return [
        *sweep,
        *blocks.sweep(W, sweep.H, STEP),
        blocks.usages(W, STEP),
        blocks.worst_cell(W[::-1].copy(), W, STEP),
        *blocks.weighted(WEIGHTS + 1).moments(),
        blocks.squared_norm,
        blocks.squared_residual(W, sweep),
        genes,
        *part.sweep(W[genes], FROM_ZERO, STEP),
    ]


# ------------------------------------------------------------------------------------------------ file = memory


@pytest.fixture(params=[1, 60, 10**6], ids=lambda values: f"{values} values a block")
def block_values(request, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_VALUES", request.param)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("piece", [1, 200, 10**6], ids=lambda values: f"{values} values a piece")
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_blocks_of_a_file_are_those_in_memory_whatever_the_pieces(
    tmp_path, monkeypatch, block_values, weights, storage, piece, n_jobs
):
    monkeypatch.setattr(sources, "PIECE_VALUES", piece)
    stored = h5ad()(STORAGES[storage], tmp_path)
    in_file = Blocks(as_source(stored, n_jobs=n_jobs), gene_weights=weights)
    for found, expected in zip(
        everything(in_file), everything(Blocks(STORAGES[storage], gene_weights=weights)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("file", FILES)
def test_blocks_of_every_kind_of_file_are_those_in_memory(tmp_path, monkeypatch, file, storage):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 60)
    monkeypatch.setattr(sources, "PIECE_VALUES", 200)
    stored = FILES[file](STORAGES[storage], tmp_path)
    for found, expected in zip(
        everything(Blocks(as_source(stored))), everything(Blocks(STORAGES[storage])), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("storage", STORAGES)
def test_transformed_as_it_is_read_or_beforehand_is_the_same(tmp_path, block_values, storage):
    stored = streamed.streamed(h5ad()(STORAGES[storage], tmp_path)).data
    found = everything(Blocks(InFile(stored, TRANSFORM)))
    for one, other in zip(found, everything(Blocks(InMemory(TRANSFORM(STORAGES[storage])))), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    for one, other in zip(found, everything(Blocks(InFile(stored, TRANSFORM), n_jobs=1)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("file", FILES)
def test_a_fit_from_a_file_is_the_fit_in_memory(tmp_path, monkeypatch, file, storage):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 300)
    monkeypatch.setattr(sources, "PIECE_VALUES", 700)
    stored = FILES[file](STORAGES[storage], tmp_path)
    options = {} if file in ("h5ad", "zarr 3") else {"init": "random"}  # the passes of one start are those of many
    found, expected = fit(stored, n_jobs=2, **options), fit(STORAGES[storage], **options)
    assert found.objective_ == pytest.approx(expected.objective_, rel=ROUNDING)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-6)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.transform(stored), expected.transform(STORAGES[storage]), rtol=1e-5, atol=1e-6)
    assert found.n_features_in_ == 30


@pytest.mark.parametrize("options", [{"solver": "mapalm"}, {"solver": "palm"}, {"init": "nndsvd"}, {"init": "random"}])
def test_every_solver_and_start_reads_from_a_file(tmp_path, monkeypatch, options):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 300)
    stored = h5ad()(CSR, tmp_path)
    assert fit(stored, **options).objective_ == pytest.approx(fit(CSR, **options).objective_, rel=ROUNDING)


def test_a_fit_does_not_depend_on_the_size_of_blocks_but_for_rounding(tmp_path, monkeypatch):
    stored, expected = h5ad()(CSR.astype(np.float64), tmp_path), fit(CSR.astype(np.float64))
    for values in (60, 200):
        monkeypatch.setattr(sources, "BLOCK_VALUES", values)
        found = fit(stored)
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
        np.testing.assert_array_equal(found.get_support(), expected.get_support())


@given(st.sets(st.integers(0, 89)), st.sampled_from([0, 5, 40, 10**6]), st.sampled_from([1, 30, 10**6]))
def test_any_rows_of_a_file_are_those_of_the_matrix(cells, gap, block):
    cells = np.array(sorted(cells), dtype=int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "GAP_VALUES", gap)
        patch.setattr(sources, "BLOCK_VALUES", block)
        for stored, X in ((StoredCSR(CSR.data, CSR.indices, CSR.indptr, CSR.shape), CSR), (StoredDense(DENSE), DENSE)):
            for piece in (1e9, 200.0, 8.0):
                found = InFile(stored, piece_bytes=piece).rows(cells)
                assert sparse.issparse(found) == sparse.issparse(X)
                np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, DENSE[cells])


# ------------------------------------------------------------------------------------------------ what files may hold


@pytest.mark.parametrize("dtype", ["<f8", ">f4", ">f8", "<f2", "<i8", ">i4", "<u2", "<u1", "<i1"])
@pytest.mark.parametrize("storage", STORAGES)
def test_counts_of_any_type_are_read_as_floats_that_hold_them(tmp_path, dtype, storage):
    X = STORAGES[storage].astype(np.dtype(dtype).newbyteorder("=").type if dtype != "<f2" else np.float32)
    with h5py.File(tmp_path / "dense.h5", "w") as file:
        file["X"] = DENSE.astype(dtype)
        stored = hdf5_rows(tmp_path, CSR, data=CSR.data.astype(dtype)) if storage == "sparse" else file["X"]
        found = fit(stored)
    assert found.components_.dtype == (np.float64 if dtype[1:] in ("f8", "i8", "i4") else np.float32)
    assert found.objective_ == pytest.approx(fit(X).objective_, rel=1e-5)


@pytest.mark.parametrize("indices", ["<i4", "<i8", ">i4", "<u4", "<u2"])
@pytest.mark.parametrize("indptr", ["<i4", "<i8", "<u8"])
def test_indices_of_any_type(tmp_path, monkeypatch, indices, indptr):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 60)
    stored = hdf5_rows(tmp_path, CSR, indices=CSR.indices.astype(indices), indptr=CSR.indptr.astype(indptr))
    for found, expected in zip(everything(Blocks(as_source(stored))), everything(Blocks(CSR)), strict=True):
        np.testing.assert_array_equal(found, expected)


def shuffled(X, *, twice):
    """The same matrix with the values of a row out of order, and ``twice`` each of them in two halves."""
    X = sparse.csr_array(X.astype(np.float64))
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        order = first + RNG.permutation(last - first)
        X.data[first:last], X.indices[first:last] = X.data[order], X.indices[order]
    if twice:
        X = sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
    return X


@pytest.mark.parametrize("twice", [False, True], ids=["unsorted", "twice"])
@pytest.mark.parametrize("transform", [Transform(), TRANSFORM], ids=["plain", "transformed"])
def test_rows_that_are_out_of_order_or_name_a_gene_twice_are_the_matrix_they_stand_for(twice, transform):
    X = shuffled(CSR, twice=twice)
    before = [part.copy() for part in (X.data, X.indices, X.indptr)]
    expected = everything(Blocks(transform(CSR.astype(np.float64))))
    stored = StoredCSR(X.data, X.indices, X.indptr, X.shape)
    for source in (InFile(stored, transform), *([InMemory(X)] if transform.genes is None else [])):
        for found, wanted in zip(everything(Blocks(source)), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    for part, copy in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(part, copy)


@pytest.fixture(scope="module")
def fitted():
    return fit(DENSE)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("cell", [0, 45, 89])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, -np.inf])
def test_values_that_cannot_be_are_refused_wherever_they_are(tmp_path, monkeypatch, fitted, value, cell, storage):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 60)
    monkeypatch.setattr(sources, "PIECE_VALUES", 60)
    spoilt = DENSE.copy()
    spoilt[cell, 7] = value
    stored = h5ad()(sparse.csr_matrix(spoilt) if storage == "sparse" else spoilt, tmp_path)
    for refused in (lambda: fit(stored, n_jobs=2), lambda: fitted.transform(stored)):
        with pytest.raises(ValueError, match=r"X must be finite and not negative, got (missing|values)") as caught:
            refused()
        one_line(caught)


@pytest.mark.parametrize("transform", [Transform(), TRANSFORM], ids=["plain", "transformed"])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint16, np.int64])
def test_many_values_are_looked_at_as_few_are(monkeypatch, kind, transform):
    shuffled_rows = [
        shuffled(CSR, twice=twice).astype(kind) for twice in ([False, True] if kind == np.float64 else [False])
    ]
    for X in (sparse.csr_array(CSR.astype(kind)), *shuffled_rows):
        monkeypatch.setattr(sources, "FEW_VALUES", 1 << 20)
        few = as_values(X, transform, sources.floating(kind))
        monkeypatch.setattr(sources, "FEW_VALUES", 0)
        many = as_values(X, transform, sources.floating(kind))
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(many, part), getattr(few, part))


@pytest.mark.parametrize("values", [0, 1 << 20], ids=["many", "few"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, "X must be finite and not negative, got values from -1 to "),
        (np.nan, "X must be finite and not negative, got missing values"),
        (np.inf, "X must be finite and not negative, got values from 1 to inf"),
        (2e15, "X must have values up to 1e+15 in float32, got 2e+15: divide X by it"),
    ],
)
def test_values_are_refused_in_the_same_words_however_many_there_are(monkeypatch, values, value, message):
    monkeypatch.setattr(sources, "FEW_VALUES", values)
    X = sparse.csr_array(CSR)
    X.data = X.data.copy()
    X.data[17] = value
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        as_values(X, TRANSFORM, X.dtype)
    one_line(caught)


@pytest.mark.parametrize("file", ["h5ad", "zarr 3"])
def test_columns_are_refused_with_the_command_that_makes_them_rows(tmp_path, monkeypatch, file):
    stored = FILES[file](CSR.tocsc(), tmp_path)
    with pytest.raises(ValueError, match="stored by rows") as caught:
        fit(stored)
    assert one_line(caught).endswith(TO_ROWS)
    if file == "h5ad":
        monkeypatch.chdir(tmp_path)
        Path("data.h5ad").rename("IN.h5ad")
        exec(TO_ROWS, {})
        found = fit(ad.read_h5ad("OUT.h5ad", backed="r").X)
        assert found.objective_ == pytest.approx(fit(CSR).objective_, rel=ROUNDING)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"data": CSR.data[:-3]}, "stored whole"),
        ({"indices": CSR.indices[:-3]}, "stored whole"),
        ({"indptr": CSR.indptr[:-1]}, "stored whole"),
        ({"indptr": CSR.indptr[::-1]}, "stored whole"),
        ({"indptr": CSR.indptr + 1}, "stored whole"),
        (
            {"indices": np.where(CSR.indices == 20, 30, CSR.indices)},
            "index 30 of gene in row 12 must be at least 0 and below 30",
        ),
        ({"indices": CSR.indices - 1}, "index -1 of gene in row [0-9]+ must be at least 0"),
        ({"data": CSR.data.astype(complex)}, "numbers, got values of type complex"),
        ({"data": CSR.data[0]}, "values, indices and ends must be lists"),
        ({"indices": CSR.indices[None]}, "values, indices and ends must be lists"),
    ],
)
def test_rows_that_do_not_fit_together_are_refused(tmp_path, broken, message):
    with pytest.raises((ValueError, OSError), match=message) as caught:
        fit(hdf5_rows(tmp_path, CSR, **broken))
    one_line(caught)


@pytest.mark.parametrize("chunks", [None, (16,), (600,)])
def test_the_system_is_told_of_the_bytes_that_hold_the_values(tmp_path, monkeypatch, chunks):
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        for name in ("data", "indices", "indptr"):
            file.create_dataset(name, data=getattr(CSR, name), chunks=chunks if name != "indptr" else None)
    content, told = (tmp_path / "rows.h5").read_bytes(), []
    monkeypatch.setattr(stored.os, "posix_fadvise", lambda handle, place, size, advice: told.append((place, size)))
    monkeypatch.setattr(stored, "STRETCH", 16)
    with h5py.File(tmp_path / "rows.h5", "r") as file:
        rows = StoredCSR(file["data"], file["indices"], file["indptr"], CSR.shape)
        rows.expect(slice(30, 50))
        hinted = b"".join(content[place : place + size] for place, size in told)
        for part in ("data", "indices"):
            assert getattr(CSR[30:50], part).tobytes() in hinted
        told.clear()
        rows.expect(slice(0, 0))
    rows.expect(slice(30, 50))  # of a file that is closed: a hint says nothing
    assert sum(size for _, size in told) <= 2 * 4 * 1200


# ------------------------------------------------------------------------------------------------ broken files


@pytest.mark.parametrize("storage", STORAGES)
def test_a_closed_file_is_refused(tmp_path, storage):
    stored = h5ad()(STORAGES[storage], tmp_path)
    (stored.group.file if storage == "sparse" else stored.file).close()
    with pytest.raises(OSError, match="X must be in a file that is open and whole") as caught:
        fit(stored)
    one_line(caught)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_file_that_is_closed_during_the_fit_ends_it_in_one_line(tmp_path, monkeypatch, storage):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 300)
    monkeypatch.setattr(sources, "PIECE_VALUES", 300)
    stored = h5ad()(STORAGES[storage], tmp_path)
    file = stored.group.file if storage == "sparse" else stored.file
    with pytest.raises(OSError, match="X cannot be read from its file, at cells 0 to ") as caught:
        fit(stored, callback=lambda progress: file.close(), n_jobs=2)
    one_line(caught)


def test_a_file_that_was_cut_ends_the_fit_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 60)
    X = sparse.random(400, 300, density=0.5, format="csr", random_state=RNG)
    stored = h5ad(compression="gzip")(X, tmp_path)
    os.truncate(tmp_path / "data.h5ad", os.path.getsize(tmp_path / "data.h5ad") // 2)
    with pytest.raises(OSError, match=r"X (cannot be read from its file|must be in a file)") as caught:
        fit(stored, n_jobs=2)
    one_line(caught)


@pytest.mark.parametrize("version", [2, 3])
def test_a_chunk_that_was_cut_ends_the_fit_in_one_line(tmp_path, version):
    stored = zarr_store(version)(CSR, tmp_path)
    chunk = next(path for path in sorted((tmp_path / "data.zarr/X/data").rglob("0")) if path.is_file())
    chunk.write_bytes(chunk.read_bytes()[: chunk.stat().st_size // 2])
    with pytest.raises(OSError, match="X cannot be read from its file, at cells 0 to 90") as caught:
        fit(stored)
    one_line(caught)


ABANDON = """
import atexit, time
import numpy as np
from genesieve.core.cells import sources, stored
sources.BLOCK_VALUES, sources.PIECE_VALUES = 10, 1000
done = []
def work(X, H):
    done.append(1)
    time.sleep(0.1)
    if len(done) == 3:
        raise ValueError("three")
    return (0,)
atexit.register(lambda: print(len(done)))
sources.InFile(stored.StoredDense(np.ones((1000, 10))), n_jobs=1).total(work)
"""


def test_a_pass_that_fails_leaves_no_work_that_keeps_the_process_alive():
    ended = subprocess.run([sys.executable, "-c", ABANDON], capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 1
    assert ended.stderr.strip().endswith("ValueError: three")
    assert int(ended.stdout) < 50  # of the hundred that were waiting, even where the failure is heard of late


# ------------------------------------------------------------------------------------------------ pieces in memory


class Watched:
    """Dense cells that note when they are read, and how many of the pieces read are still in memory."""

    dtype = np.dtype(np.float64)
    value_bytes, unit = 8, 1

    def __init__(self, n_pieces, cells_a_piece=1):
        self.shape = (n_pieces * cells_a_piece, 4)
        self.size = 4 * self.shape[0]
        self.begun = [Event() for _ in range(n_pieces)]
        self.alive = self.most = 0
        self._cells_a_piece = cells_a_piece
        self._changed = Condition()

    def count(self, cells):
        return 4 * (cells.stop - cells.start)

    def __getitem__(self, cells):
        self.begun[cells.start // self._cells_a_piece].set()
        with self._changed:
            # A thread lets go of a piece just after it has handed over its last result: give it the time.
            self._changed.wait_for(lambda: self.alive < sources.PIECES_HELD, 30.0)
            self.alive += 1
            self.most = max(self.most, self.alive)
        piece = np.repeat(np.arange(cells.start, cells.stop, dtype=float)[:, None], 4, axis=1)
        weakref.finalize(piece, self._let_go)
        return piece

    def expect(self, cells):
        """Nothing is fetched."""

    def _let_go(self):
        with self._changed:
            self.alive -= 1
            self._changed.notify_all()

    @property
    def n_begun(self):
        return sum(event.is_set() for event in self.begun)


def cell_of(X, H):
    return int(X[0, 0])


@pytest.fixture
def a_cell_a_block(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 4)


@pytest.mark.parametrize("n_jobs", [1, 2, 8])
@pytest.mark.parametrize("cells_a_piece", [1, 3])
def test_only_so_many_pieces_are_in_memory_however_many_threads(a_cell_a_block, cells_a_piece, n_jobs):
    stored = Watched(8, cells_a_piece)

    def one_too_many(X, H):
        """Whether a piece is read that is not to be there before this one has gone."""
        later = cell_of(X, H) // cells_a_piece + sources.PIECES_HELD
        return later < 8 and stored.begun[later].wait(0.03)

    source = InFile(stored, n_jobs=n_jobs, piece_bytes=32 * cells_a_piece)
    assert list(source.each(one_too_many)) == [False] * 8 * cells_a_piece
    assert stored.n_begun == 8
    assert stored.most <= sources.PIECES_HELD
    source._pool.shutdown()
    source._reader.shutdown()
    gc.collect()
    assert stored.alive == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_next_piece_is_read_while_this_one_is_worked_on(a_cell_a_block, n_jobs):
    stored = Watched(6)

    def wait_for_the_next(X, H):
        return stored.begun[min(int(X[0, 0]) + 1, 5)].wait(PATIENCE)

    assert all(InFile(stored, n_jobs=n_jobs, piece_bytes=32).each(wait_for_the_next))


def test_what_is_abandoned_is_read_and_worked_on_no_further(a_cell_a_block):
    stored, go_on, worked_on = Watched(20, 10), Event(), []

    def work(X, H):
        worked_on.append(cell_of(X, H))
        assert worked_on[-1] == 0 or go_on.wait(PATIENCE)

    source = InFile(stored, n_jobs=1, piece_bytes=320)
    passing = source.each(work)
    next(passing)
    passing.close()
    go_on.set()
    source._pool.shutdown()
    source._reader.shutdown()
    assert len(worked_on) <= 2
    assert stored.n_begun <= sources.PIECES_HELD


def test_a_pass_after_one_that_failed_is_whole(a_cell_a_block):
    source = InFile(Watched(12), n_jobs=2, piece_bytes=32)

    def fail(X, H):
        raise ZeroDivisionError

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            source.total(fail)
        assert list(source.each(cell_of)) == list(range(12))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 120))
def test_pieces_are_all_blocks_in_their_order_and_as_large_as_they_may_be(sizes, most):
    ends = np.concatenate([[0], np.cumsum(sizes)])
    stored = StoredCSR(np.zeros(ends[-1]), np.zeros(ends[-1], int), ends, (len(sizes), 1))
    spans = [slice(cell, cell + 1) for cell in range(len(sizes))]
    found = sources.pieces(stored, spans, most)
    assert [span for piece in found for span in piece] == spans
    values = [sum(sizes[span.start] for span in piece) for piece in found]
    assert all(size <= most or len(piece) == 1 for size, piece in zip(values, found, strict=True))
    assert all(size + sizes[following[0].start] > most for size, following in zip(values, found[1:], strict=False))


class Huge:
    """Many dense cells that nobody reads."""

    dtype, value_bytes, unit, shape = np.dtype(np.float32), 4, 1, (10_000_000, 1000)
    size = shape[0] * shape[1]

    def count(self, cells):
        return (cells.stop - cells.start) * 1000


def test_places_within_a_piece_fit_32_bits_however_much_memory_there_is():
    found = InFile(Huge(), piece_bytes=1e15)._pieces
    assert len(found) > 1
    assert max(Huge().count(sources.cells_of(piece)) for piece in found) <= sources.MOST_PIECE_VALUES < 2**31


def test_pieces_are_of_some_values_a_thread_and_of_some_chunks():
    plain, packed, finely_packed = Huge(), Huge(), Huge()
    packed.unit, finely_packed.unit = 1 << 20, 1000
    for n_jobs, sizes in ((1, (4, 8, 4)), (2, (4, 8, 4)), (8, (16, 16, 16))):
        for stored_cells, millions in zip((plain, packed, finely_packed), sizes, strict=True):
            assert InFile(stored_cells, n_jobs=n_jobs)._piece_values == millions << 20


def test_memory_does_not_grow_over_passes(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 1 << 16)
    monkeypatch.setattr(sources, "PIECE_VALUES", 1 << 18)
    X = sparse.random(4000, 500, density=0.5, format="csr", dtype=np.float32, random_state=RNG)  # 8 MB
    blocks = Blocks(InFile(streamed.streamed(h5ad()(X, tmp_path)).data, Transform(1e4, 2.0), n_jobs=2))
    wide = RNG.random((500, 4))
    sizes = []
    for _ in range(20):
        blocks.sweep(wide, FROM_ZERO, STEP)
        gc.collect()
        sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    assert sizes[-1] - sizes[1] < 16e6  # a piece that stayed in every pass would be 36 MB, a pass 144 MB


# ------------------------------------------------------------------------------------------------ memory=


@pytest.mark.parametrize(
    ("words", "size"),
    [("2GB", 2e9), ("2 gb", 2e9), ("2G", 2e9), ("1.5GiB", 1.5e9), ("900M", 9e8), (1e9, 1e9), ("3000000000", 3e9)],
)
def test_memory_can_be_said_in_words(words, size):
    assert read_memory(words) == size


@pytest.mark.parametrize("memory", ["much", "-2GB", "2 XB", "", -1, float("nan"), True, [2]])
def test_memory_that_is_no_size_is_refused(memory):
    with pytest.raises((ValueError, TypeError), match="memory must be") as caught:
        fit(DENSE, memory=memory)
    one_line(caught)


def test_too_little_memory_is_refused_with_the_least_that_would_do(tmp_path):
    stored = h5ad()(CSR, tmp_path)
    with pytest.raises(ValueError, match=r"memory must be at least 0\.\d\d GB for 90 cells, 30 genes and 3") as caught:
        fit(stored, memory="1MB")
    least = float(one_line(caught).split("at least ")[1].split(" GB")[0])
    fit(stored, memory=f"{least + 0.01:.2f}GB")
    fit(CSR, memory="1MB")  # in memory it has no effect


def test_pieces_keep_to_the_memory_and_leave_room_for_the_factors():
    for rank in (5, 50):
        for memory in (8e9, 16e9):
            room = streamed.piece_bytes(memory, Huge.shape, rank, 4)
            found = InFile(Huge(), piece_bytes=room)._pieces
            largest = max(4 * Huge().count(sources.cells_of(piece)) for piece in found)
            factors = rank * (Huge.shape[0] * 4 * 2 + Huge.shape[1] * 8 * 2)
            assert largest * sources.PIECES_HELD + factors < memory


def test_memory_changes_how_much_is_read_at_once_and_not_the_result(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 30)
    monkeypatch.setattr(streamed, "PROCESS_BYTES", 0.0)
    monkeypatch.setattr(streamed, "LEAST_PIECE_BYTES", 10.0)
    stored, lengths = h5ad()(CSR, tmp_path), []
    read = StoredCSR.__getitem__

    def noted(self, cells):
        lengths.append(cells.stop - cells.start)
        return read(self, cells)

    monkeypatch.setattr(StoredCSR, "__getitem__", noted)
    plain = fit(stored, init="random")
    most = max(lengths)
    assert most == 90
    for memory in (14_000, 12_500):
        lengths.clear()
        found = fit(stored, init="random", memory=memory)
        assert found.objective_ == pytest.approx(plain.objective_, rel=ROUNDING)
        assert max(lengths) < most
        most = max(lengths)
