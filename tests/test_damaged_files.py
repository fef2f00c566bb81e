"""Sparse matrices whose parts do not fit together: refused in one line wherever they come in, never a crash.

Compiled code trusts the places of values, so that a wrong one would be read or written outside the matrix.
"""

from __future__ import annotations

import gzip
import json
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anndata as ad
import dask.array as da
import h5py
import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

import genesieve as gs
from genesieve import _damage, workflow
from genesieve.core.cells.intact import check_intact

N_CELLS, N_GENES = 40, 30
FAR = 40_000_000  # far enough outside to leave the process's memory
SLOTS = {"X": (), "layers/counts": ("--layer", "counts"), "raw/X": ("--use-raw",)}

Arrays = dict[str, np.ndarray]
Break = Callable[[Arrays], None]


def put(part: str, place: Any, value: int) -> Break:
    def change(arrays: Arrays) -> None:
        arrays[part] = arrays[part].copy()
        arrays[part][place] = value

    return change


def cut(part: str, stop: int) -> Break:
    return lambda arrays: arrays.update({part: arrays[part][:stop]})


def grow(part: str, value: int) -> Break:
    return lambda arrays: arrays.update({part: np.append(arrays[part], [value] * 5).astype(arrays[part].dtype)})


def shape(cells: int, genes: int) -> Break:
    return lambda arrays: arrays.update(shape=np.array([cells, genes]))


DAMAGE: dict[str, Break] = {
    "an index one too large": put("indices", -1, N_CELLS),  # cells and genes alike: there are more cells
    "an index far too large": put("indices", 7, FAR),
    "all indices far too large": put("indices", slice(None), FAR),
    "a negative index": put("indices", 3, -1),
    "an index far below zero": put("indices", 3, -FAR),
    "indices of 64 bits": lambda arrays: arrays.update(indices=arrays["indices"].astype(np.int64) + (1 << 40)),
    "indices that are fractions": lambda arrays: arrays.update(indices=arrays["indices"] + 0.5),
    "ends that fall": put("indptr", 10, 0),
    "ends in reverse": lambda arrays: arrays.update(indptr=arrays["indptr"][::-1]),
    "an end beyond the values": put("indptr", -1, 10**6),
    "an end far beyond the values": put("indptr", slice(5, None), FAR),
    "an end before the last value": put("indptr", -1, 200),
    "ends that begin late": put("indptr", 0, 3),
    "ends that begin below zero": put("indptr", 0, -FAR),
    "a negative end": put("indptr", 12, -5),
    "an end too few": cut("indptr", -1),
    "no ends": cut("indptr", 0),
    "ends too many": grow("indptr", 10**6),
    "fewer values": cut("data", 100),
    "more values": grow("data", 1),
    "fewer indices": cut("indices", 100),
    "no indices": cut("indices", 0),
    "fewer genes than said": shape(N_CELLS, 10),
    "more cells than said": shape(10**6, N_GENES),
}


def whole() -> sparse.csr_matrix:
    return sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (N_CELLS, N_GENES)).astype(np.float32))


def broken(X: Any, damage: str) -> Any:
    """The matrix by hand: SciPy does not look at parts that are set one by one."""
    X, arrays = X.copy(), {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    DAMAGE[damage](arrays)
    if tuple(arrays["shape"]) != X.shape:
        X = type(X)(tuple(arrays["shape"]), dtype=X.dtype)
    X.data, X.indices, X.indptr = arrays["data"], arrays["indices"], arrays["indptr"]
    return X


@cache
def whole_file(form: str) -> bytes:
    X = whole().asformat(form)
    adata = ad.AnnData(X.copy(), layers={"counts": X.copy()})
    adata.raw = adata
    with TemporaryDirectory() as folder:
        adata.write_h5ad(Path(folder) / "whole.h5ad")
        return (Path(folder) / "whole.h5ad").read_bytes()


def write_broken(path: Path, slot: str, form: str, damage: str) -> None:
    path.write_bytes(whole_file(form))
    with h5py.File(path, "a") as file:
        group = file[slot]
        arrays = {name: group[name][:] for name in ("data", "indices", "indptr")}
        DAMAGE[damage](arrays)
        for name in ("data", "indices", "indptr"):
            del group[name]
            group[name] = arrays[name]
        group.attrs["shape"] = arrays.get("shape", group.attrs["shape"])


# Every command in a process of its own, forked after the imports and one use, which take longer than all else.
FORKS = """
import json, os, sys
import anndata, h5py, scanpy
from genesieve.cli import main
import genesieve as gs
gs.SSNMF(2, n_genes=3, random_state=0).fit([[1.0, 2.0, 3.0]] * 4)
plan, ends = sys.argv[1], []
commands = json.load(open(plan))
sys.argv = ["genesieve", *commands[0][:-1], commands[0][-1] + "first"]
try:
    main()
except SystemExit:
    pass
for arguments in commands:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(arguments[-1] + ".said", os.O_CREAT | os.O_WRONLY), 2)
        sys.argv = ["genesieve", *arguments]
        try:
            main()
            code = 0
        except SystemExit as error:
            code = error.code or 0
        sys.stderr.flush()
        os._exit(code)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
json.dump(ends, open(plan, "w"))
"""


def run_each(folder: Path, commands: list[list[str]]) -> list[tuple[int, str]]:
    """Exit code, negative for a signal, and standard error of every command; its last argument names a new folder."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps(commands))
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", FORKS, plan], check=True, timeout=600, env=quiet, capture_output=True)
    said = [Path(f"{command[-1]}.said").read_text(encoding="utf-8") for command in commands]
    return list(zip(json.loads(plan.read_text()), said, strict=True))


# Where a matrix is damaged, how it is stored, and the options that lead there; the last is left in its file.
READ = {
    **{f"{slot} in csr": (slot, "csr", options) for slot, options in SLOTS.items()},
    "X in csc": ("X", "csc", ()),
    "X left in its file": ("X", "csr", ("--memory", "4GB")),
}


@pytest.fixture(scope="module")
def ends(tmp_path_factory) -> dict[tuple[str, str], tuple[int, str]]:
    """How every damage ends wherever it is: all by one process that forks, as loading the libraries takes longest."""
    place, commands = tmp_path_factory.mktemp("damaged"), {}
    for number, (where, damage) in enumerate(product(READ, DAMAGE)):
        slot, form, options = READ[where]
        data = place / f"{number}.h5ad"
        write_broken(data, slot, form, damage)
        line = ["run", str(data), "-r", "2", "-k", "5", *options, "--min-cells", "0.01", "-q", "-o"]
        commands[where, damage] = [*line, str(place / f"out{number}")]
    return dict(zip(commands, run_each(place, list(commands.values())), strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize("where", READ)
def test_a_damaged_h5ad_ends_in_one_line(ends, where):
    for damage in DAMAGE:
        code, said = ends[where, damage]
        assert code in (1, 2), (damage, code, said)
        assert len(said.splitlines()) == 1, (damage, said)
        assert said.startswith("error: "), damage


def test_the_line_says_where_the_damage_is(tmp_path):
    write_broken(tmp_path / "far.h5ad", "X", "csr", "an index far too large")
    row = int(np.searchsorted(whole().indptr, 7, side="right")) - 1
    with pytest.raises(gs.io.FileError, match=f"X of .*far.h5ad is damaged: index {FAR} of gene in row {row} must be"):
        gs.io.read(tmp_path / "far.h5ad")


def test_a_shape_that_no_memory_holds_is_told_with_the_file(tmp_path):
    ad.AnnData(whole()).write_h5ad(tmp_path / "data.h5ad")
    with h5py.File(tmp_path / "data.h5ad", "a") as file:
        file["X"].attrs["shape"] = np.array([1 << 60, N_GENES])
    with pytest.raises((gs.io.FileError, MemoryError), match=r"data\.h5ad") as caught:
        gs.io.read(tmp_path / "data.h5ad")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("slot", ["obsp", "varp", "obsm", "varm"])
def test_other_matrices_of_a_file_are_looked_at(tmp_path, slot):
    size = N_CELLS if slot.startswith("obs") else N_GENES
    adata = ad.AnnData(whole(), **{slot: {"graph": sparse.csr_matrix(np.eye(size))}})
    adata.write_h5ad(tmp_path / "data.h5ad")
    with h5py.File(tmp_path / "data.h5ad", "a") as file:
        file[slot]["graph"]["indices"][4] = FAR
    with pytest.raises(gs.io.FileError, match=r"graph.* is damaged"):
        gs.io.read(tmp_path / "data.h5ad")


def test_a_damaged_zarr_store_is_refused(tmp_path):
    import zarr

    ad.AnnData(whole()).write_zarr(tmp_path / "data.zarr")
    zarr.open_group(tmp_path / "data.zarr", mode="a")["X"]["indices"][4] = FAR
    with pytest.raises(gs.io.FileError, match="is damaged"):
        gs.io.read(tmp_path / "data.zarr")


@pytest.mark.parametrize("damage", ["an index far too large", "a negative index", "ends that fall"])
def test_a_damaged_10x_file_is_refused(tmp_path, damage):
    X = whole()
    arrays = {"data": X.data.astype(np.int32), "indices": X.indices, "indptr": X.indptr}
    DAMAGE[damage](arrays)
    with h5py.File(tmp_path / "counts.h5", "w") as file:
        matrix = file.create_group("matrix")
        for name, values in {**arrays, "shape": X.shape[::-1]}.items():
            matrix[name] = values
        matrix["barcodes"] = [f"cell{number}".encode() for number in range(N_CELLS)]
        genes = [f"gene{number}".encode() for number in range(N_GENES)]
        kinds = [b"Gene Expression"] * (N_GENES - 1) + [b"Antibody Capture"]
        for name, words in (("name", genes), ("id", genes), ("feature_type", kinds), ("genome", [b"hg"] * N_GENES)):
            matrix[f"features/{name}"] = words
    with pytest.raises(gs.io.FileError, match="is damaged"):
        gs.io.read(tmp_path / "counts.h5")


def test_an_mtx_file_with_places_outside_is_refused(tmp_path):
    scipy_io.mmwrite(tmp_path / "matrix.mtx", whole().T.tocoo())
    lines = (tmp_path / "matrix.mtx").read_text().splitlines()
    (tmp_path / "matrix.mtx").write_text("\n".join([*lines[:-1], f"{FAR} 1 1"]) + "\n")
    (tmp_path / "features.tsv").write_text("".join(f"g{i}\n" for i in range(N_GENES)))
    (tmp_path / "barcodes.tsv").write_text("".join(f"c{i}\n" for i in range(N_CELLS)))
    with pytest.raises(gs.io.FileError) as caught:
        gs.io.read(tmp_path)
    assert len(str(caught.value).splitlines()) == 1


# ------------------------------------------------------------------------------------------------ matrices by hand

FORMS = {
    "csr_matrix": whole(),
    "csc_matrix": whole().tocsc(),
    "csr_array": sparse.csr_array(whole()),
    "csc_array": sparse.csc_array(whole()),
}
NO_LIE = [damage for damage in DAMAGE if damage not in ("fewer genes than said", "more cells than said")]


@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
@pytest.mark.parametrize("kind", ["f4", "i4"])
@pytest.mark.parametrize("open_file", [gs.io.read, gs.io.open_in_file])
def test_an_empty_data_set_in_place_of_a_part_is_refused(tmp_path, open_file, part, kind):
    path = tmp_path / "x.h5ad"
    path.write_bytes(whole_file("csr"))
    with h5py.File(path, "a") as file:
        del file["X"][part]
        file["X"][part] = h5py.Empty(kind)
    with pytest.raises((gs.io.FileError, ValueError, OSError)) as error:
        gs.SSNMF(2, n_genes=3).fit(open_file(path).X)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", ["array", "csr", "csc"])
@pytest.mark.parametrize("kind", [np.longdouble, np.complex64])
def test_values_of_odd_types_are_worked_on_or_refused_in_one_line(form, kind):
    """In an AnnData they ended in a page of numba's complaints, `SparseKMeans` told of them by all their values."""
    X = whole().toarray().astype(kind) if form == "array" else whole().asformat(form).astype(kind)
    uses: list[Callable[[], Any]] = [
        lambda: gs.SSNMF(2, n_genes=3, random_state=0).fit(X),
        lambda: gs.SparseKMeans(2, n_genes=3, random_state=0).fit(X),
        lambda: gs.pp.prepare(ad.AnnData(X.copy())),
        lambda: gs.tl.ssnmf(ad.AnnData(X.copy()), 2, 5),
    ]
    for use in uses:
        if kind == np.complex64:
            with pytest.raises(ValueError, match=r"(?i)complex") as error:
                use()
            assert len(str(error.value).splitlines()) == 1
        else:
            use()


@pytest.mark.parametrize("model", [gs.SSNMF(2, n_genes=3), gs.SparseKMeans(2, n_genes=3)])
def test_masked_values_are_refused(model):
    """scikit-learn takes what is under a mask as it stands there."""
    X = np.ma.masked_less(whole().toarray(), 1)
    with pytest.raises(ValueError, match="X must have no masked values, got"):
        model.fit(X)
    model.fit(np.ma.masked_less(whole().toarray(), -1))


INDEX_TYPES = [">i4", ">i8", "u8", "u4", "i2", "u2", "u1"]


@pytest.mark.parametrize("kind", INDEX_TYPES)
@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("open_file", [gs.io.read, gs.io.open_in_file])
def test_a_file_may_have_indices_of_any_whole_type(tmp_path, open_file, part, kind):
    """Compiled code takes two; a file in the other byte order ended in a page of numba's complaints."""
    if part == "indptr" and kind == "u1":
        kind = "u2"  # there are more values
    path = tmp_path / "x.h5ad"
    path.write_bytes(whole_file("csr"))
    with h5py.File(path, "a") as file:
        values = file["X"][part][:].astype(kind)
        del file["X"][part]
        file["X"][part] = values
    options = {"n_genes": 5, "random_state": 0}
    expected = gs.SSNMF(2, **options).fit(whole())
    np.testing.assert_allclose(gs.SSNMF(2, **options).fit(open_file(path).X).components_, expected.components_)


@pytest.mark.parametrize("kind", [">i4", ">i8", "u8", "i2"])
@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_indices_of_another_type_by_hand_are_refused_in_one_line(part, kind):
    X = whole()
    setattr(X, part, getattr(X, part).astype(kind))
    before, adata = getattr(X, part).dtype, ad.AnnData(whole())
    adata.X = X
    uses = [
        lambda: gs.SSNMF(2, n_genes=3).fit(X),
        lambda: gs.SSNMF(2, n_genes=3, random_state=0).fit(whole()).transform(X),
        lambda: gs.SparseKMeans(2, n_genes=3).fit(X),
        lambda: gs.pp.prepare(adata),
        lambda: gs.tl.ssnmf(adata, 2, 5),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=rf"{part} must be int32 or int64 in the byte order of this machine, got"):
            use()
    assert getattr(X, part).dtype == before


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("form", FORMS)
def test_matrices_by_hand_are_refused(form, damage):
    X = broken(FORMS[form], damage)
    if form.startswith("csc") and damage == "more cells than said":
        return  # columns without values at their end are no damage
    with pytest.raises(ValueError, match="X is damaged") as caught:
        gs.SSNMF(2, n_genes=5).fit(X)
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(ValueError, match="X is damaged"):
        gs.SparseKMeans(2).fit(X)


@pytest.fixture(scope="module")
def fitted() -> tuple[gs.SSNMF, gs.SparseKMeans]:
    return gs.SSNMF(2, n_genes=N_GENES, random_state=0).fit(whole()), gs.SparseKMeans(2, n_init=1).fit(whole())


@pytest.mark.parametrize("damage", NO_LIE)
def test_new_cells_are_looked_at(fitted, damage):
    (model, means), X = fitted, broken(whole(), damage)
    for use in (model.transform, means.predict, means.transform, means.inverse_transform):
        with pytest.raises(ValueError, match="X is damaged"):
            use(X)
    with pytest.raises(ValueError, match="X is damaged"):
        model.transform(X, selected_only=True)


@pytest.mark.parametrize("damage", NO_LIE)
def test_dask_blocks_are_looked_at(damage):
    numbers = da.from_array(np.zeros((2, N_GENES), dtype=np.float32), chunks=(1, N_GENES))
    blocks = numbers.map_blocks(
        lambda _, block_id: broken(whole(), damage) if block_id[0] else whole(),
        chunks=((N_CELLS, N_CELLS), (N_GENES,)),
        meta=sparse.csr_matrix((0, 0), dtype=np.float32),
    )
    with pytest.raises(ValueError, match="X is damaged"):
        gs.SSNMF(2, n_genes=5).fit(blocks)


@pytest.mark.parametrize("slot", ["X", "layer", "raw", "view", "other layer"])
@pytest.mark.parametrize("damage", ["an index far too large", "a negative index", "ends that fall", "fewer values"])
def test_an_anndata_is_looked_at(slot, damage):
    adata = ad.AnnData(whole(), layers={"counts": whole()})
    adata.raw = adata
    if slot in ("X", "view"):
        adata.X = broken(whole(), damage)
    elif slot == "raw":
        adata.raw._X = broken(whole(), damage)
    else:
        adata.layers._data["counts"] = broken(whole(), damage)
    adata = adata[:, 3:] if slot == "view" else adata
    use = partial(gs.tl.ssnmf, n_components=2, n_genes=5, layer="counts" if slot == "layer" else None)
    if slot == "other layer":
        use = partial(gs.pp.prepare, values="counts", min_cells=30)
    elif slot == "raw":
        use = partial(use, use_raw=True)
    with pytest.raises(ValueError, match="is damaged"):
        use(adata)


@pytest.fixture(scope="module")
def analysed() -> ad.AnnData:
    adata = ad.AnnData(whole(), obs={"sample": ["a", "b"] * (N_CELLS // 2)})
    gs.pp.prepare(adata, min_cells=1)
    gs.tl.ssnmf(adata, 2, 10, clusters=False)
    return adata


AFTER_A_FIT: dict[str, Callable[[ad.AnnData, ad.AnnData], Any]] = {
    "gene_scores": lambda adata, _: gs.tl.gene_scores(adata),
    "cluster": lambda adata, _: gs.tl.cluster(adata, 2),
    "panel": lambda adata, _: gs.tl.panel(adata, 5),
    "path": lambda adata, _: gs.tl.path(adata, 2, [5]),
    "select": lambda adata, _: gs.tl.select(adata),
    "metaprograms": lambda adata, _: gs.tl.metaprograms(adata, "sample", [2], 5, min_cells=5),
    "project": lambda adata, fitted: gs.tl.project(adata, fitted, key_added="new"),
    "prepare_like": lambda adata, fitted: gs.pp.prepare_like(adata, fitted),
    "run": lambda adata, _: workflow.run(adata, "never", rank=2, genes=5),
}


@pytest.mark.parametrize("whole_or_view", [slice(None), slice(3, 35)])
@pytest.mark.parametrize("use", AFTER_A_FIT)
def test_whatever_reads_values_after_a_fit_looks_at_them(tmp_path, monkeypatch, analysed, use, whole_or_view):
    monkeypatch.chdir(tmp_path)
    adata = analysed.copy()
    adata.X = broken(whole(), "an index far too large")
    adata = adata if whole_or_view == slice(None) else adata[whole_or_view]
    with pytest.raises(ValueError, match="is damaged"):
        AFTER_A_FIT[use](adata, analysed)
    assert list(tmp_path.iterdir()) == []


def test_other_storage_is_looked_at():
    places = sparse.coo_matrix(whole())
    places.col = places.col.copy()
    places.col[5] = FAR
    blocks = sparse.bsr_matrix(whole(), blocksize=(2, 5))
    blocks.indices = np.where(blocks.indices == 3, N_GENES, blocks.indices).astype(blocks.indices.dtype)
    for X in (places, blocks):
        with pytest.raises(ValueError, match="is damaged"):
            check_intact(X)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_whole_matrices_pass(form):
    for X in (whole(), sparse.csr_matrix((3, 4)), sparse.csr_matrix((0, 4)), sparse.csr_array(whole())):
        check_intact(X.asformat(form))


# ------------------------------------------------------------------------------------------------ texts of HDF5


def collections(content: bytes) -> list[int]:
    """Where the file keeps its texts."""
    starts = [content.find(b"GCOL\x01")]
    while starts[-1] >= 0:
        starts.append(content.find(b"GCOL\x01", starts[-1] + 1))
    return starts[:-1]


@pytest.mark.parametrize("size", [0, 2**64 - 8, 2**62])
@pytest.mark.parametrize("open_file", [gs.io.read, gs.io.open_in_file])
def test_texts_that_the_library_would_walk_for_ever_are_refused(tmp_path, open_file, size):
    adata = ad.AnnData(whole(), obs={"kind": ["a", "b"] * (N_CELLS // 2)})
    adata.write_h5ad(tmp_path / "data.h5ad")
    content = bytearray((tmp_path / "data.h5ad").read_bytes())
    start = collections(bytes(content))[-1]
    content[start + 16 : start + 24] = bytes(8)  # the first object is now one of free space
    content[start + 24 : start + 32] = size.to_bytes(8, "little")
    (tmp_path / "data.h5ad").write_bytes(content)
    with pytest.raises(gs.io.FileError, match=f"the texts at byte {start} break off at byte {start + 16}"):
        open_file(tmp_path / "data.h5ad")


def link_to_itself(file: h5py.File) -> None:
    file["uns/all"] = file["/"]


def link_by_name(file: h5py.File) -> None:
    file["uns/all"] = h5py.SoftLink("/uns")


def nest(file: h5py.File) -> None:
    file.create_group("uns/" + "/".join("a" * 80))


def double(file: h5py.File) -> None:
    for number in range(40):
        group, below = file.require_group(f"of/{number}"), file.require_group(f"of/{number + 1}")
        group["left"], group["right"] = below, below
    file["uns/all"] = file["of/0"]


@pytest.mark.parametrize("open_file", [gs.io.read, gs.io.open_in_file])
@pytest.mark.parametrize("circle", [link_to_itself, link_by_name, nest, double])
def test_groups_without_an_end_are_refused_before_h5py_loses_its_lock(tmp_path, open_file, circle):
    ad.AnnData(whole()).write_h5ad(tmp_path / "data.h5ad")
    with h5py.File(tmp_path / "data.h5ad", "a") as file:
        circle(file)
    with pytest.raises(gs.io.FileError, match=r"holds itself|groups must be at most 64 deep"):
        open_file(tmp_path / "data.h5ad")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(h5py.is_hdf5, tmp_path / "data.h5ad").result(timeout=60)


@pytest.mark.parametrize("note", ["_index", "column-order"])
@pytest.mark.parametrize("name", [".", "/", "/obs", "kind/."])
@pytest.mark.parametrize("open_file", [gs.io.read, gs.io.open_in_file])
def test_a_table_that_is_its_own_column_is_refused(tmp_path, open_file, name, note):
    ad.AnnData(whole()).write_h5ad(tmp_path / "data.h5ad")
    with h5py.File(tmp_path / "data.h5ad", "a") as file:
        file["obs"].attrs[note] = name if note == "_index" else [name]
    with pytest.raises(gs.io.FileError, match=r"the table 'obs' has itself, or what it stands in, as its column"):
        open_file(tmp_path / "data.h5ad")


@pytest.mark.parametrize("reach", [8, 1 << 18])
def test_damage_is_found_in_files_that_are_looked_through_window_by_window(tmp_path, monkeypatch, reach):
    """At either end of a file that is larger than what is looked at, wherever windows end."""
    page = mmap.ALLOCATIONGRANULARITY
    monkeypatch.setattr(_damage, "WINDOW", page)
    monkeypatch.setattr(_damage, "REACH", reach * page)
    path = tmp_path / "data.h5"
    for start in (page - 4, 3 * page - 1, 24 * page - 16 * 3):
        content = bytearray(24 * page)
        content[start : start + 16] = _damage.SIGNATURE + (48).to_bytes(8, "little")
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"the texts at byte {start} break off at byte {start + 16}"):
            _damage._check_heaps(path)


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_whole_texts_pass(tmp_path, compression):
    names = [f"cell {'long ' * (number % 70)}{number}" for number in range(500)]
    adata = ad.AnnData(sparse.csr_matrix((500, 3)), obs={"name": names})
    adata.write_h5ad(tmp_path / "data.h5ad", compression=compression)
    assert len(collections((tmp_path / "data.h5ad").read_bytes())) > 3
    assert list(gs.io.read(tmp_path / "data.h5ad").obs["name"]) == names


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("name", ["x.h5ad", "x.h5", "x.csv", "x.loom"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(gs.io.RequestError, match="got a pipe or a device"):
        gs.io.read(tmp_path / name)


@pytest.mark.parametrize("gzipped", [False, True])
def test_a_zero_byte_in_an_mtx_file_is_refused(tmp_path, gzipped):
    scipy_io.mmwrite(tmp_path / "matrix.mtx", whole().T.tocoo())
    content = bytearray((tmp_path / "matrix.mtx").read_bytes())
    content[500:660] = bytes(160)
    (tmp_path / "matrix.mtx").unlink()
    (tmp_path / f"matrix.mtx{'.gz' * gzipped}").write_bytes(gzip.compress(content) if gzipped else content)
    (tmp_path / "features.tsv").write_text("".join(f"g{i}\n" for i in range(N_GENES)))
    (tmp_path / "barcodes.tsv").write_text("".join(f"c{i}\n" for i in range(N_CELLS)))
    with pytest.raises(gs.io.FileError, match="has a zero byte at 500: the file is damaged"):
        gs.io.read(tmp_path)
