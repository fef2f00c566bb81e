"""Spoiled run.json, model and checkpoints: refused in one line, or of use; nothing outside their folder is touched."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from typing import Any

import anndata as ad
import numpy as np

import genesieve as gs
from genesieve.cli.run import _inputs
from genesieve.selection.saved import checksum as checksum_of_choice
from genesieve.workflow import Settings, repeated
from genesieve.workflow.folder import check_free, is_result, staged, write_record
from genesieve.workflow.model import checksum, load_model, save_model

from .campaign import FaultError
from .mutation import pick, spoiled_text, spoiled_tree

CLEAR = (ValueError, TypeError, OSError)


def records(seed: int, folder: Path) -> str:
    """One spoiled record of one of the kinds."""
    rng = np.random.default_rng([seed, 37])
    return (_run, _model, _checkpoint, _selection)[seed % 4](rng, folder)


def _clear(use: Callable[[], Any], content: object) -> Any:
    """What ``use`` returns, or None where it refuses in one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return use()
    except CLEAR as error:
        if not str(error) or len(str(error).splitlines()) != 1:
            raise FaultError(f"{error!r}: {content}"[:900]) from None
        return None
    except Exception as error:
        where = " < ".join(
            f"{Path(step.filename).name}:{step.lineno}" for step in extract_tb(error.__traceback__)[:-5:-1]
        )
        raise FaultError(f"{error!r} in {where}: {content}"[:900]) from None


@functools.cache
def _cells() -> ad.AnnData:
    X = np.random.default_rng(0).poisson(1.0, (20, 12)).astype(np.float32)
    adata = ad.AnnData(X)
    gs.pp.prepare(adata, min_cells=1)
    gs.tl.ssnmf(adata, 2, 6, random_state=0)
    return adata


# ------------------------------------------------------------------------------------------------ run.json


def _run(rng: np.random.Generator, folder: Path) -> str:
    out = folder / "result"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    (out / "cells.csv").write_text("a")
    record = {
        "kind": "run",
        "settings": Settings(rank=2, genes=10, known="type").as_dict(),
        "data": {"path": str(folder / "data.h5ad"), "name": "data.h5ad", "fingerprint": "ab" * 32},
        "gene_sets": {"path": str(folder / "x.gmt"), "name": "x.gmt", "sha256": "ab"},
        "markers": None,
        "timings": {"fit": 1.0},
        "notes": [],
    }
    write_record(out, {"genesieve": gs.__version__, **record})
    path = out / "run.json"
    if rng.random() < 0.3:
        path.write_bytes(spoiled_text(path.read_text(), rng))
    else:
        path.write_text(json.dumps(spoiled_tree(json.loads(path.read_text()), rng)))
    content = path.read_bytes()
    _clear(lambda: is_result(out), content)
    found = _clear(lambda: repeated(path), content)
    if found is not None:
        _clear(lambda: found[1].estimator(), content)
        _clear(lambda: _through_typer(lambda: _inputs(None, None, None, found[0])), content)
    _clear(lambda: check_free(out, force=True), content)
    _clear(lambda: _replace(out), content)
    if not (folder / "result").exists():
        raise FaultError(f"the result is gone: {content!r}"[:900])
    return "run.json" if found is not None else "run.json refused"


def _through_typer(use: Callable[[], Any]) -> Any:
    import typer

    try:
        return use()
    except typer.BadParameter as error:
        raise ValueError(error.format_message()) from None


def _replace(out: Path) -> None:
    with staged(out, force=True, carry=True) as stage:
        write_record(stage, {"genesieve": "x"})


# ------------------------------------------------------------------------------------------------ model/


def _model(rng: np.random.Generator, folder: Path) -> str:
    whole, place = folder / "whole", folder / "model"
    if not whole.exists():
        save_model(_cells(), whole)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(whole, place)
    if rng.random() < 0.6:
        file = place / "model.json"
        if rng.random() < 0.2:
            file.write_bytes(spoiled_text(file.read_text(), rng))
        else:
            file.write_text(json.dumps(spoiled_tree(json.loads(file.read_text()), rng)))
        content: object = file.read_bytes()
    else:
        content = _spoil_arrays(place / "arrays.npz", rng)
    if rng.random() < 0.8:
        _sign(place)
    new = _cells().copy()
    fitted = _clear(lambda: load_model(place), content)
    if fitted is None:
        return "model refused"
    usages = _clear(lambda: _projected(new, fitted), content)
    if usages is None:
        return "model refused"
    if not np.isfinite(usages).all() or (usages < 0).any():
        raise FaultError(f"usages are not finite: {content}"[:900])
    return "model used"


def _sign(place: Path) -> None:
    """Make the checksum that of what is there, as whoever crafts a file would."""
    with contextlib.suppress(Exception):
        about = json.loads((place / "model.json").read_text())
        with np.load(place / "arrays.npz") as file:
            about["sha256"] = checksum(about, {name: file[name] for name in file.files})
        (place / "model.json").write_text(json.dumps(about))


def _projected(new: ad.AnnData, fitted: ad.AnnData) -> np.ndarray:
    key = next(name.removesuffix("_selected") for name in fitted.var if name.endswith("_selected"))
    new = ad.AnnData(new.X.copy(), var=new.var[[]].copy())
    gs.pp.prepare_like(new, fitted)
    gs.tl.project(new, fitted, key=key, key_added="ssnmf")
    return np.asarray(new.obsm["X_ssnmf"])


def _spoil_arrays(file: Path, rng: np.random.Generator) -> str:
    """Another array in place of one of an npz file; what was done."""
    with np.load(file) as old:
        arrays = {name: old[name] for name in old.files}
    name = str(pick(rng, sorted(arrays)))
    array = arrays[name]
    ways: dict[str, Callable[[], Any]] = {
        "gone": lambda: None,
        "empty": lambda: array[:0] if array.ndim else array,
        "longer": lambda: np.concatenate([array, array]) if array.ndim else array,
        "one axis more": lambda: array[None],
        "words": lambda: np.full(array.shape, "x"),
        "objects": lambda: np.full(array.shape, {}, dtype=object),
        "not a number": lambda: np.full(array.shape, np.nan),
        "negative": lambda: np.full(array.shape, -1.0),
        "infinite": lambda: np.full(array.shape, np.inf),
        "complex": lambda: np.full(array.shape, 1j),
        "times": lambda: np.full(array.shape, np.datetime64("2020-01-01")),
        "huge": lambda: np.full(array.shape, 1e300),
        "zero": lambda: np.zeros(array.shape),
    }
    way = str(pick(rng, sorted(ways)))
    arrays[name] = ways[way]()
    if way == "gone":
        del arrays[name]
    with file.open("wb") as out:
        np.savez(out, **arrays)
    return f"{name} {way}"


# ------------------------------------------------------------------------------------------------ checkpoint


def _checkpoint(rng: np.random.Generator, folder: Path) -> str:
    whole, place = folder / "whole.npz", folder / "fit.npz"
    X = np.random.default_rng(1).gamma(0.5, 1.0, (20, 12))
    options: dict[str, Any] = {"n_genes": 5, "random_state": 0, "max_iter": 4, "tol": 0.0, "n_restarts": 2}
    if not whole.exists():
        gs.SSNMF(2, **options, checkpoint=whole, callback=_stop_at_last).fit(X)
    shutil.copyfile(whole, place)
    if rng.random() < 0.5:
        content = _spoil_arrays(place, rng)
    else:
        with np.load(place) as old:
            arrays = {name: old[name] for name in old.files}
        about = json.dumps(spoiled_tree(json.loads(str(arrays["about"])), rng))
        arrays["about"], content = np.array(about), about
        with place.open("wb") as out:
            np.savez(out, **arrays)
    model = gs.SSNMF(2, **options, checkpoint=place)
    fitted = _clear(lambda: model.fit(X), content)
    if fitted is None:
        return "checkpoint refused"
    finite = [model.components_, model.objective_, model.reconstruction_err_, model.explained_]
    if not all(np.isfinite(part).all() for part in finite) or (model.components_ < 0).any():
        raise FaultError(f"a fit that is not finite and feasible: {content}"[:900])
    if model.get_support().sum() > 5:
        raise FaultError(f"a budget that is not kept: {content}"[:900])
    return "checkpoint used"


def _selection(rng: np.random.Generator, folder: Path) -> str:
    """The checkpoint of a choice of numbers; half of those that are made by hand have a checksum that fits."""
    whole, place = folder / "choice.npz", folder / "spoiled.npz"
    counts = np.random.default_rng(2).poisson(np.random.default_rng(3).gamma(0.3, 4.0, (60, 3)) @ np.ones((3, 40)))
    expected = _suggested(counts, whole)
    shutil.copyfile(whole, place)
    content = _spoil_arrays(place, rng)
    signed = rng.random() < 0.5
    if signed:
        _sign_choice(place)
    found = _clear(lambda: _suggested(counts, place), content)
    if found is None:
        return "choice refused"
    if (not signed and found != expected) or not (1 <= found[0] <= 40 and 1 <= found[1] <= 40):
        raise FaultError(f"{found} suggested, and not {expected}: {content}"[:900])
    return "choice used"


def _suggested(counts: np.ndarray, checkpoint: Path) -> tuple[int, int]:
    adata = ad.AnnData(counts.astype(np.float32))
    gs.tl.select(adata, checkpoint=checkpoint)
    found = adata.uns["ssnmf_select"]["suggested"]
    return int(found["n_components"]), int(found["n_genes"])


def _sign_choice(place: Path) -> None:
    with contextlib.suppress(Exception):
        with np.load(place) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        about["sha256"] = checksum_of_choice(arrays)
        with place.open("wb") as out:
            np.savez(out, about=np.array(json.dumps(about)), **arrays)


def _stop_at_last(progress: Any) -> bool:
    """End the second start before its last iteration, so that there is something to go on from."""
    _stop_at_last.calls += 1  # type: ignore[attr-defined]
    return _stop_at_last.calls == 6  # type: ignore[attr-defined]


_stop_at_last.calls = 0  # type: ignore[attr-defined]
