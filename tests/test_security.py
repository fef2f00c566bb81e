"""Nothing in a file that is read runs, no command goes through a shell, and dependencies have no known weakness."""

from __future__ import annotations

import ast
import json
import os
import pickle
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pytest
import zarr

import audit
import genesieve as gs
from genesieve._damage import _unpickles
from genesieve.workflow import folder
from genesieve.workflow.model import load_model, save_model

SOURCE = Path(gs.__file__).parent
# Modules and functions that run, or may run, what they are given.
RUNNING = {"pickle", "dill", "cloudpickle", "marshal", "shelve", "subprocess", "pty", "code", "runpy"}
CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "read_pickle", "literal_eval", "unsafe_load"}


def suspicious(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in RUNNING]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in RUNNING:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            function = node.func
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            of_re = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "re"
            if name in CALLS and not of_re:
                found.append(name)
            found += [
                f"{word.arg}=True"
                for word in node.keywords
                if word.arg in ("allow_pickle", "shell")
                and not (isinstance(word.value, ast.Constant) and not word.value.value)
            ]
            if name == "load" and getattr(getattr(function, "value", None), "id", "") == "np":
                found += [] if any(word.arg == "allow_pickle" for word in node.keywords) else ["np.load"]
    return found


def test_no_code_of_ours_unpickles_evaluates_or_starts_a_shell():
    found = {str(file): suspicious(ast.parse(file.read_text(encoding="utf-8"))) for file in SOURCE.rglob("*.py")}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "line",
    ["import pickle", "eval(x)", "np.load(f)", "np.load(f, allow_pickle=True)", "run(x, shell=1)", "os.system(x)"],
)
def test_the_look_finds_what_it_looks_for(line):
    assert suspicious(ast.parse(line))


# ------------------------------------------------------------------------------------------------ files in other files


def lead_out(path: Path, how: str, secret: Path) -> None:
    """Let a part of an h5ad stand in another file: by a link, by values kept elsewhere, by values made of others."""
    with h5py.File(path, "a") as file:
        if how == "link":
            file["uns/note"] = h5py.ExternalLink(secret, "kept")
        elif how == "values":
            file["uns"].create_dataset("note", (8,), "u1", external=[(str(secret), 0, 8)])
        else:
            layout = h5py.VirtualLayout((8,), "u1")
            layout[:] = h5py.VirtualSource(secret, "kept", (8,))
            file["uns"].create_virtual_dataset("note", layout)


@pytest.mark.parametrize("open_file", [gs.io.read, gs.io.open_in_file])
@pytest.mark.parametrize("how", ["link", "values", "virtual"])
def test_parts_that_stand_in_other_files_are_refused(tmp_path, open_file, how):
    secret, path = tmp_path / "secret.h5", tmp_path / "data.h5ad"
    with h5py.File(secret, "w") as file:
        file["kept"] = np.arange(8, dtype=np.uint8)
    ad.AnnData(np.ones((4, 3), np.float32)).write_h5ad(path)
    lead_out(path, how, secret)
    with pytest.raises(gs.io.FileError, match=r"uns/note.*secret\.h5.*no other file is read"):
        open_file(path)


def test_links_and_views_inside_a_file_are_read(tmp_path):
    path = tmp_path / "data.h5ad"
    ad.AnnData(np.ones((4, 3), np.float32), uns={"kept": np.arange(8)}).write_h5ad(path)
    with h5py.File(path, "a") as file:
        file["uns/same"] = h5py.SoftLink("/uns/kept")
    assert list(gs.io.read(path).uns["same"]) == list(range(8))


# ------------------------------------------------------------------------------------------------ files that would run


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def trap(tmp_path):
    yield Trap(tmp_path / "sprung")
    assert not (tmp_path / "sprung").exists()


@pytest.fixture(scope="module")
def fitted():
    adata = gs.datasets.demo()[:60].copy()
    gs.tl.ssnmf(adata, 2, 10)
    return adata


def test_a_pickle_in_a_model_or_a_checkpoint_is_refused(tmp_path, trap, fitted):
    save_model(fitted, tmp_path / "model")
    arrays = dict(np.load(tmp_path / "model" / "arrays.npz"))
    with (tmp_path / "model" / "arrays.npz").open("wb") as file:
        np.savez(file, **{**arrays, "weights": np.array([trap], dtype=object)})
    with pytest.raises(gs.io.FileError, match="model"):
        load_model(tmp_path / "model")
    for content in (np.array(trap, dtype=object), None):
        with (tmp_path / "fit.npz").open("wb") as file:
            np.savez(file, about=content) if content is not None else pickle.dump(trap, file)
        with pytest.raises(ValueError, match="checkpoint must be a file of genesieve"):
            gs.SSNMF(2, random_state=0, checkpoint=tmp_path / "fit.npz").fit(np.ones((4, 3)))


@pytest.mark.parametrize("place", ["compressor", "filters", "escaped"])
@pytest.mark.parametrize("read", [gs.io.read, gs.io.open_in_file])
@pytest.mark.filterwarnings("ignore:Writing zarr v2")
def test_a_store_of_zarr_that_asks_to_be_unpickled_is_refused(tmp_path, trap, place, read):
    store = tmp_path / "x.zarr"
    group = zarr.open_group(store, mode="w", zarr_format=2)
    ad.io.write_elem(group, "/", ad.AnnData(np.ones((4, 3), dtype=np.float32)))
    array = store / "X"
    about = json.loads((array / ".zarray").read_text())
    about |= {"filters": [{"id": "pickle"}]} if place == "filters" else {"compressor": {"id": "pickle"}}
    text = json.dumps(about)
    (array / ".zarray").write_text(text.replace("pickle", "pickl\\u0065") if place == "escaped" else text)
    (store / ".zmetadata").unlink(missing_ok=True)
    (array / "0.0").write_bytes(pickle.dumps([trap, "|u1", (4,)]))
    with pytest.raises(gs.io.FileError, match="asks to unpickle"):
        read(store)


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
def test_a_store_of_the_newer_format_is_looked_at_too(tmp_path):
    store = tmp_path / "x.zarr"
    ad.AnnData(np.ones((4, 3)), obs={"pickle": ["a", "b"] * 2}, uns={"name": "pickle"}).write_zarr(store)
    assert gs.io.read(store).shape == (4, 3)  # names of the user are no codecs
    file = next(file for file in (store / "X" / "zarr.json", store / "X" / ".zarray") if file.exists())
    about = json.loads(file.read_text())
    file.write_text(json.dumps({**about, "codecs": [{"name": "numcodecs.pickle"}]}))
    with pytest.raises(gs.io.FileError, match="asks to unpickle"):
        gs.io.read(store)


def test_parts_of_a_store_that_are_named_as_its_notes_are_looked_at():
    array = {"zarr_format": 3, "node_type": "array", "codecs": [{"name": "numcodecs.pickle"}]}
    group = {"zarr_format": 3, "node_type": "group", "attributes": {"name": "pickle"}}
    assert not _unpickles(group)
    assert _unpickles({**group, "consolidated_metadata": {"metadata": {"attributes": array}}})
    assert not _unpickles({"metadata": {"X/.zattrs": {"id": "pickle"}}})
    assert _unpickles({"metadata": {"attributes/.zarray": {"compressor": {"id": "pickle"}}}})


def test_a_store_is_looked_at_where_a_group_is_named_as_chunks_are(tmp_path, trap):
    store = tmp_path / "x.zarr"
    ad.AnnData(np.ones((4, 3)), uns={"c": {"note": np.arange(4)}}).write_zarr(store)
    for file in (store / "uns" / "c").rglob("*"):
        if file.name in ("zarr.json", ".zarray") and "note" in str(file):
            file.write_text(json.dumps({**json.loads(file.read_text()), "codecs": [{"name": "numcodecs.pickle"}]}))
    with pytest.raises(gs.io.FileError, match="asks to unpickle"):
        gs.io.read(store)


@pytest.mark.parametrize("read", [gs.io.read, gs.io.open_in_file])
@pytest.mark.parametrize("what", ["a folder", "a chunk"])
def test_a_store_with_a_link_out_is_refused(tmp_path, read, what):
    """By it, the bytes of any file would end in a result, and a folder would not be looked at for codecs."""
    store, outside = tmp_path / "x.zarr", tmp_path / "outside"
    ad.AnnData(np.ones((4, 3), dtype=np.float32)).write_zarr(store)
    part = store / "X"
    if what == "a chunk":
        part = next(file for file in part.rglob("*") if file.is_file() and file.name not in ("zarr.json", ".zarray"))
    part.rename(outside)
    part.symlink_to(outside)
    with pytest.raises(gs.io.FileError, match="links out of a store or to a folder are not followed"):
        read(store)


@pytest.mark.parametrize("part", ["X", "uns"])
def test_a_store_that_holds_itself_is_refused(tmp_path, part):
    store = tmp_path / "x.zarr"
    ad.AnnData(np.ones((4, 3), dtype=np.float32)).write_zarr(store)
    (store / part / "again").symlink_to(store / "uns")
    with pytest.raises(gs.io.FileError, match="links out of a store or to a folder are not followed"):
        gs.io.read(store)


def test_a_link_to_a_whole_store_is_read(tmp_path):
    ad.AnnData(np.ones((4, 3), dtype=np.float32)).write_zarr(tmp_path / "x.zarr")
    (tmp_path / "link.zarr").symlink_to(tmp_path / "x.zarr")
    assert gs.io.read(tmp_path / "link.zarr").shape == (4, 3)


# ------------------------------------------------------------------------------------------------ nothing outside


@pytest.fixture
def result(tmp_path):
    out = tmp_path / "out"
    with folder.staged(out) as stage:
        (stage / "cells.csv").write_text("a")
        folder.write_record(stage, {"genesieve": gs.__version__})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "thesis.txt").write_text("years of work")
    return out


def test_force_follows_no_link_out(result, tmp_path):
    (result / "figures").symlink_to(tmp_path / "outside")
    (result / "thesis.txt").symlink_to(tmp_path / "outside" / "thesis.txt")
    with pytest.raises(gs.io.RequestError, match="move them first"), folder.staged(result, force=True):
        pass
    record = json.loads((result / "run.json").read_text())
    record["files"] += ["figures", "thesis.txt", "../outside/thesis.txt", "/etc/hosts"]  # as if they were ours
    (result / "run.json").write_text(json.dumps(record))
    with folder.staged(result, force=True) as stage:
        (stage / "cells.csv").write_text("new")
    assert [file.name for file in result.iterdir()] == ["cells.csv"]
    assert (tmp_path / "outside" / "thesis.txt").read_text() == "years of work"


def test_a_link_in_place_of_the_output_leads_to_no_other_folder(result, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    with (
        pytest.raises(gs.io.RequestError, match="folder of other things"),
        folder.staged(tmp_path / "link", force=True),
    ):
        pass
    assert (tmp_path / "outside" / "thesis.txt").read_text() == "years of work"


def test_a_checkpoint_replaces_a_link_and_not_what_it_leads_to(result, tmp_path):
    (tmp_path / "fit.npz").symlink_to(tmp_path / "absent.npz")
    gs.SSNMF(2, random_state=0, checkpoint=tmp_path / "fit.npz").fit(np.eye(4))
    assert not (tmp_path / "absent.npz").exists()


# ------------------------------------------------------------------------------------------------ dependencies


def test_no_dependency_has_a_known_weakness():
    assert [line for line in audit.findings() if "pyproject.toml" in line] == []


def test_the_audit_finds_old_versions():
    advisories = [{"package": "Some_Thing", "fixed": "2.10", "id": "X", "about": "y"}]
    assert len(list(audit.weak({"some-thing": "2.9"}, advisories))) == 1
    assert list(audit.weak({"some-thing": "2.10"}, advisories)) == []
    assert list(audit.weak({"some-thing": "1"}, [{**advisories[0], "accepted": "so"}])) == []
    assert audit.lowest(["a>=1.2,<3", "b"]) == {"a": "1.2", "b": "0"}
    assert list(audit.misfits({"numpy": [audit.Requirement("numpy<1")], "absent-one": []})) != []
