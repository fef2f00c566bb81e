"""The output folder: it appears whole or not at all, and never in place of what genesieve did not write."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from genesieve._checks import first_few
from genesieve._files import claimed_beside, hidden_beside, strays, sweep
from genesieve.io import FileError, RequestError

RECORD = "run.json"
LITTER = re.compile(
    r"\.DS_Store|\._.*|\.directory|\.nfs[0-9a-f]+|Thumbs\.db|desktop\.ini|\..*\.[0-9a-f]{8}\.(partial|old|part)"
)
"""Files that macOS, desktops, network disks and killed runs leave in any folder."""


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
    beside = out / out.name if _must_stay(out) else out
    _tidy(out, beside)
    check_free(out, force=force, carry=carry)
    made = _make_parents(out.parent)
    done = False
    try:
        with claimed_beside(beside, "partial") as stage:
            try:
                yield stage
                _carry(stage, out, carry=carry)
                (_swap if beside == out else _refill)(stage, out)
                done = True
            finally:
                if not done:
                    shutil.rmtree(stage, ignore_errors=True)
    finally:
        if not done:
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
    except (ValueError, RecursionError) as error:  # JSON of another form, or a number of thousands of digits
        raise FileError(f"{path} must be the {RECORD} of an earlier run, got no JSON: {error}") from None
    if not isinstance(record, dict) or "genesieve" not in record:
        raise FileError(f"{path} must be the {RECORD} of an earlier run, got other JSON")
    return record


def read_run(path: Path) -> dict[str, Any]:
    """run.json of a run, with the parts that a repetition needs; FileError where one is missing or no such part."""
    record = read_record(path)
    if record.get("kind") != "run":
        raise FileError(f"{path} must be the record of a run, got one of {record.get('kind')!r}")
    data: Any = record.get("data")
    files = [record.get(name) for name in ("gene_sets", "markers")]
    checks = {
        "genesieve": isinstance(record["genesieve"], str),
        "settings": isinstance(record.get("settings"), dict),
        "data": isinstance(data, dict)
        and isinstance(data.get("path", ""), str | None)
        and isinstance(data.get("fingerprint"), str),
        "gene_sets or markers": all(
            file is None or (isinstance(file, dict) and isinstance(file.get("path"), str)) for file in files
        ),
        "timings": isinstance(record.get("timings", {}), dict),
        "notes": isinstance(record.get("notes", []), list),
    }
    for name, whole in checks.items():
        if not whole:
            raise FileError(f"{path} must be the {RECORD} of an earlier run, got one without {name} as a run writes it")
    return {"gene_sets": None, "markers": None, "timings": {}, "notes": [], **record, "data": {"path": None, **data}}


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write run.json, with the list of all files beside it."""
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    text = json.dumps({**record, "files": [*files, RECORD]}, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")


def others_files(folder: Path) -> list[Path]:
    """Files in a result that genesieve did not write, relative to it; what systems leave everywhere does not count."""
    listed = read_record(folder).get("files")
    ours = {file for file in listed if isinstance(file, str)} if isinstance(listed, list) else set()
    found = [file.relative_to(folder) for file in sorted(folder.rglob("*")) if not file.is_dir() or file.is_symlink()]
    return [file for file in found if file.as_posix() not in ours and not LITTER.fullmatch(file.name)]


def _must_stay(out: Path) -> bool:
    """Whether the folder itself cannot be replaced, only what is in it: where a disk is mounted, say in a container."""
    if not out.is_dir():
        return False
    if os.path.ismount(out) or not os.access(out.parent, os.W_OK):
        return True
    try:  # some mounts look like any other folder
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    escaped = "".join(f"\\{ord(letter):03o}" if letter in " \t\n\\" else letter for letter in str(out))
    return any(line.split(" ")[4] == escaped for line in mounts)


def _tidy(out: Path, beside: Path) -> None:
    """Clear away what runs that were killed left here, and bring back a result that one was about to replace."""
    if not sweep(beside, "partial"):
        return  # another run is at work: what is there may be its own
    for old in strays(beside, "old"):
        if beside == out and not out.exists():
            os.replace(old, out)
        elif beside != out and not (out / RECORD).exists():
            _move(old, out)
        shutil.rmtree(old, ignore_errors=True)


def _carry(stage: Path, out: Path, *, carry: bool) -> None:
    if not carry or not is_result(out):
        return
    for file in others_files(out):
        (stage / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(out / file, stage / file, follow_symlinks=False)


def _swap(stage: Path, out: Path) -> None:
    """Put the stage in place of ``out``; the old folder goes only after that."""
    if not out.exists() or not any(out.iterdir()):
        os.replace(stage, out)
        return
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


def _refill(stage: Path, out: Path) -> None:
    """Put what is in the stage in place of what is in ``out``; in between there is no record, as it is not whole."""
    old = hidden_beside(stage.with_name(out.name), "old")
    old.mkdir()
    emptied = False
    try:
        _move(out, old, record_first=True)
        emptied = True
        _move(stage, out)
    except BaseException:
        if emptied:
            _move(out, stage, record_first=True)
        _move(old, out)
        old.rmdir()
        raise
    stage.rmdir()
    shutil.rmtree(old, ignore_errors=True)


def _move(source: Path, target: Path, *, record_first: bool = False) -> None:
    """Move all but our hidden folders, over what is there; what has a record is whole, so that comes last into it."""
    files = [file for file in source.iterdir() if file.suffix not in (".partial", ".old") or file.name[0] != "."]
    for file in sorted(files, key=lambda file: (file.name == RECORD) != record_first):
        place = target / file.name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        os.replace(file, place)


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
