"""The output folder: it appears whole or not at all, and never in place of what genesieve did not write."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from genesieve._checks import first_few
from genesieve._files import hidden_beside
from genesieve.io import FileError, RequestError

RECORD = "run.json"


@contextmanager
def staged(out: Path, *, force: bool = False, carry: bool = False) -> Iterator[Path]:
    """A hidden folder beside ``out`` to write to; it takes the place of ``out`` if all goes well, and goes if not.

    Parameters
    ----------
    out
        The folder to be. It must not exist, or be empty.
    force
        It may also be an earlier result, which is replaced.
    carry
        With ``force``: files in the earlier result that genesieve did not write move along, instead of being refused.
    """
    out = out.resolve()
    check_free(out, force=force, carry=carry)
    made = _make_parents(out.parent)
    try:
        stage = hidden_beside(out, "partial")
        stage.mkdir()
    except OSError:
        _remove_empty(made)
        raise
    done = False
    try:
        yield stage
        _swap(stage, out, carry=carry)
        done = True
    finally:
        if not done:
            shutil.rmtree(stage, ignore_errors=True)
            _remove_empty(made)


def check_free(out: Path, *, force: bool, carry: bool = False) -> None:
    """Raise if ``out`` is something that must not be replaced."""
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir():
        raise RequestError(f"{out} must be a folder to write, got a file")
    if not any(out.iterdir()):
        return
    if not is_result(out):
        raise RequestError(f"{out} must be new, empty or an earlier result of genesieve, got a folder of other things")
    if not force:
        raise RequestError(f"{out} must be new or empty, got an earlier result; force=True replaces it")
    others = [] if carry else others_files(out)
    if others:
        raise RequestError(
            f"{out} must hold genesieve's files alone to be replaced, got also {first_few(others)}: move them first"
        )


def is_result(folder: Path) -> bool:
    """Whether genesieve wrote the folder."""
    try:
        return "genesieve" in read_record(folder)
    except (OSError, FileError):
        return False


def read_record(path: Path) -> dict[str, Any]:
    """run.json, given itself or its folder."""
    path = path / RECORD if path.is_dir() else path
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"{path} must be the {RECORD} of an earlier run, got nothing there") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FileError(f"{path} must be the {RECORD} of an earlier run, got no JSON: {error}") from None
    if not isinstance(record, dict) or "genesieve" not in record:
        raise FileError(f"{path} must be the {RECORD} of an earlier run, got other JSON")
    return record


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write run.json, with the list of all files beside it."""
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    text = json.dumps({**record, "files": [*files, RECORD]}, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")


def others_files(folder: Path) -> list[Path]:
    """Files in a result that genesieve did not write, relative to it; hidden ones do not count."""
    ours = set(read_record(folder).get("files", []))
    found = [file.relative_to(folder) for file in sorted(folder.rglob("*")) if not file.is_dir() or file.is_symlink()]
    return [file for file in found if file.as_posix() not in ours and not file.name.startswith(".")]


def _swap(stage: Path, out: Path, *, carry: bool) -> None:
    """Put the stage in place of ``out``; the old folder goes only after that."""
    if not out.exists() or not any(out.iterdir()):
        os.replace(stage, out)
        return
    if carry:
        for file in others_files(out):
            (stage / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(out / file, stage / file, follow_symlinks=False)
    old = hidden_beside(out, "old")
    try:
        os.replace(out, old)
        os.replace(stage, out)
    except BaseException:
        if not out.exists():
            os.replace(old, out)
        else:
            shutil.rmtree(old, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _make_parents(folder: Path) -> list[Path]:
    """Make a folder and what it needs; those that were new, deepest first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        _remove_empty(missing)
        raise
    return missing


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
