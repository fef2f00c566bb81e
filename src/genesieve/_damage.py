"""Damage on which libraries crash, never come back or run code, looked for before they read a file.

HDF5 keeps texts of variable length, names of cells and all attributes among them, in "global heap collections". The
library walks a collection from object to object by their sizes, and a size of zero, as a wiped stretch leaves it, keeps
it on the spot for ever, where no signal and no thread of Python can reach it. (HDF5 File Format Specification 3.0,
III.E.) SciPy's reader of Matrix Market files leaves its memory where a line holds a zero byte, and takes the part of a
line that it understands for the whole; pandas takes what stands before a zero byte. Stores of zarr may
name a codec that unpickles, which runs whatever the file says. Parts of an HDF5 file may stand in other files, any that
the reader of it may read, and groups in themselves.
"""

from __future__ import annotations

import gzip
import json
import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["check_codecs", "check_hdf5", "check_matrix_market", "check_text", "closed_on_failure"]

SIGNATURE = b"GCOL\x01\x00\x00\x00"  # with the version and three reserved bytes, so that chance does not write it
OF_COLLECTION = re.compile(re.escape(SIGNATURE))  # quicker than `find`, which goes byte by byte
HEADER = 16  # bytes, of a collection and of each object in it
# How much of a file is looked through at either end: texts stand before and after the values of X, which may be large.
REACH = 1 << 30
# Bytes of it that are in memory at a time, whole pages.
WINDOW = 1 << 24
# Groups in one another, and in all: where Python gives up on deeper ones, h5py keeps its lock, which threads wait for.
DEEPEST, MOST_GROUPS = 64, 20_000
METADATA = {".zarray", ".zgroup", ".zmetadata", "zarr.json"}  # of zarr
PIECE = 1 << 20  # bytes of a text that are looked at together
SHOWN_LETTERS = 60  # of a line that is not as it should be
# What lines of plain numbers are made of.
OF_WHOLE = b"0123456789 \t\r\n"
OF_REAL = OF_WHOLE + b".eE+-"


@contextmanager
def closed_on_failure(opened: Any) -> Iterator[Any]:
    """A file, or a store that needs no closing; where it cannot be read it does not stay open."""
    try:
        yield opened
    except BaseException:
        if hasattr(opened, "close"):
            opened.close()
        raise


def check_hdf5(path: Path) -> None:
    """Raise ValueError if the library would never come back from a file, or lead to another one."""
    import h5py

    _check_heaps(path)
    with h5py.File(path, "r") as file:
        _check_links(file)
        _check_depth(file.id, (h5py.h5o.get_info(file["/"].id).addr,), iter(range(MOST_GROUPS)))
        _check_columns(file)


def _check_heaps(path: Path) -> None:
    """Raise ValueError if a collection of texts cannot be walked to its end."""
    if path.stat().st_size < HEADER:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        for start in _collections(held):
            place = _standstill(held, start)
            if place is not None:
                raise ValueError(f"the texts at byte {start} break off at byte {place}: the file is damaged")


def _collections(held: mmap.mmap) -> Iterator[int]:
    """Where collections start."""
    size = len(held)
    stretches = [(0, size)] if size <= 2 * REACH else [(0, REACH), ((size - REACH) // WINDOW * WINDOW, size)]
    for first, last in stretches:
        for begun in range(first, last, WINDOW):
            end = min(begun + WINDOW + len(SIGNATURE) - 1, last)  # one that is cut by the window's end, too
            yield from [found.start() for found in OF_COLLECTION.finditer(held, begun, end)]
            if hasattr(mmap, "MADV_DONTNEED"):  # what was looked through would count as memory of this process
                held.madvise(mmap.MADV_DONTNEED, begun, end - begun)


def _standstill(held: mmap.mmap, start: int) -> int | None:
    """The object of a collection from which there is no way on, or None."""
    stop = min(start + _number(held, start + 8), len(held))
    place = start + HEADER
    while place + HEADER <= stop:
        index, size = int.from_bytes(held[place : place + 2], "little"), _number(held, place + 8)
        if (index == 0 and size < HEADER) or size > stop - place:  # what is free counts its own header
            return place
        place += size if index == 0 else HEADER + (size + 7) // 8 * 8
    return None


def _number(held: mmap.mmap, place: int) -> int:
    return int.from_bytes(held[place : place + 8], "little")


def _check_links(file: Any) -> None:
    """Raise ValueError if a part of an HDF5 file stands in another file."""
    import h5py

    def elsewhere(name: str, link: Any) -> str | None:
        return f"{name!r} is a link to {link.filename!r}" if isinstance(link, h5py.ExternalLink) else None

    def kept_elsewhere(name: str, item: Any) -> str | None:
        if not isinstance(item, h5py.Dataset):
            return None
        files = [part[0] for part in item.external or ()]
        files += [part.file_name for part in item.virtual_sources() if part.file_name != "."] if item.is_virtual else []
        return f"the values of {name!r} are in {files[0]!r}" if files else None

    found = file.visititems_links(elsewhere) or file.visititems(kept_elsewhere)  # a visit ends with the first answer
    if found:
        raise ValueError(f"{found}, and no other file is read")


def _check_depth(group: Any, above: tuple[int, ...], left: Iterator[int]) -> None:
    """Raise ValueError if a group holds itself, or groups stand in one another without an end, as links can make it.

    ``group`` is an identifier of h5py, ``above`` has the places in the file of all groups that it stands in.
    """
    from h5py import h5g, h5o

    for name in group:
        try:
            about = h5o.get_info(group, name)
        except (KeyError, OSError, RuntimeError):  # a link to nothing: whoever reads it will say so
            continue
        if about.type != h5o.TYPE_GROUP:
            continue
        if about.addr in above:
            raise ValueError(f"the group {name.decode(errors='replace')!r} holds itself")
        if len(above) >= DEEPEST or next(left, None) is None:
            raise ValueError(f"groups must be at most {DEEPEST} deep and {MOST_GROUPS} in all, got more")
        _check_depth(h5g.open(group, name), (*above, about.addr), left)


def _check_columns(file: Any) -> None:
    """Raise ValueError if a table names itself, or what it stands in, among its columns: reading it would not end."""
    import h5py

    def leads_back(name: str, item: Any) -> str | None:
        if not isinstance(item, h5py.Group):
            return None
        try:
            columns = [item.attrs.get("_index", ""), *item.attrs.get("column-order", ())]
        except (OSError, TypeError, RuntimeError):  # no names at all: whoever reads them will say so
            return None
        back = [str(column) for column in columns if str(column).startswith("/") or "." in str(column).split("/")]
        return f"the table {name!r} has itself, or what it stands in, as its column {back[0]!r}" if back else None

    found = file.visititems(leads_back)
    if found:
        raise ValueError(found)


def check_text(path: Path) -> Path:
    """The path of a text file, plain or gzipped; ValueError if there are zero bytes in it."""
    with _opened(path) as file:
        place = 0
        while piece := file.read(PIECE):
            if b"\0" in piece:
                raise ValueError(f"{path.name} has a zero byte at {place + piece.index(0)}: the file is damaged")
            place += len(piece)
    return path


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


# ------------------------------------------------------------------------------------------------ Matrix Market


def check_matrix_market(path: Path) -> Path:
    """The path; ValueError about zero bytes, and about a line that is more than the place and the value of a number.

    SciPy reads a line as far as it understands it, "1.5" in a file of whole numbers as 1, and says nothing.
    """
    with _opened(path) as file:
        words = file.readline(PIECE).lower().split()
        if words[:3] != [b"%%matrixmarket", b"matrix", b"coordinate"] or words[3:4] not in ([b"integer"], [b"real"]):
            return check_text(path)
        whole, number, sizes = words[3] == b"integer", 1, False
        while not sizes and (line := file.readline(PIECE)):
            _check_no_zero(path, line)
            number, sizes = number + 1, bool(line.strip()) and not line.startswith(b"%")
        for lines in _lines(file):
            if not _plain(lines, OF_WHOLE if whole else OF_REAL):
                _check_no_zero(path, lines)
                _check_lines(path, lines, number, int if whole else float)
            number += lines.count(b"\n")
    return path


def _check_no_zero(path: Path, lines: bytes) -> None:
    if b"\0" in lines:
        check_text(path)  # knows where


def _lines(file: Any) -> Iterator[bytes]:
    """Pieces of a file that end with a line."""
    rest = b""
    while piece := file.read(PIECE):
        *whole, rest = (rest + piece).rpartition(b"\n")
        yield b"".join(whole)
    yield rest


def _plain(lines: bytes, letters: bytes) -> bool:
    """Whether all lines surely are three numbers: a quick look that most files pass."""
    spaces = lines.count(b" ") + lines.count(b"\t")
    return spaces == 2 * lines.count(b"\n") and not lines.translate(None, letters)


def _check_lines(path: Path, lines: bytes, before: int, kind: type[int | float]) -> None:
    for number, line in enumerate(lines.split(b"\n"), start=before + 1):
        words = line.split()
        if not words or words[0].startswith(b"%"):
            continue
        try:
            if len(words) != 3 or b"_" in line:  # which Python alone takes for a number
                raise ValueError
            int(words[0]), int(words[1]), kind(words[2])
        except ValueError:
            shown = line.strip().decode("utf-8", "replace")[:SHOWN_LETTERS]
            expected = f"a row, a column and a {'whole ' if kind is int else ''}number"
            raise ValueError(f"{path.name}, line {number} must be {expected}, got {shown!r}") from None


# ------------------------------------------------------------------------------------------------ zarr


def check_codecs(store: Path) -> Path:
    """The path of a zarr store; ValueError if an array of it is to be unpickled, or a part stands outside of it."""
    whole = store.resolve()
    for folder, below, files in os.walk(store):
        _check_inside(folder, [*below, *files], whole)
        for name in files:
            if name.lower() not in METADATA:
                continue
            about = json.loads(Path(folder, name).read_text(encoding="utf-8"))
            if _unpickles(about):
                raise ValueError(f"{Path(folder, name)} asks to unpickle, which could run anything")
    return store


def _check_inside(folder: str, names: list[str], whole: Path) -> None:
    """Raise ValueError if a name in a folder of a store is a link out of it, or to a folder, maybe one it stands in."""
    for name in names:
        entry = os.path.join(folder, name)
        if os.path.islink(entry):
            target = Path(entry).resolve()
            if target.is_dir() or not target.is_relative_to(whole):
                place = Path(folder).name + "/" + name
                raise ValueError(f"links out of a store or to a folder are not followed: {place} is one, to {target}")


def _unpickles(about: Any) -> bool:
    """Whether metadata name the codec, attributes of the user aside."""
    if isinstance(about, dict):
        named = any(str(about.get(key)).removeprefix("numcodecs.") == "pickle" for key in ("id", "name"))
        # Elsewhere "attributes" is the name of a part.
        own = {"attributes"} if isinstance(about.get("zarr_format"), int) else set()
        return named or any(
            _unpickles(part) for key, part in about.items() if key not in own and Path(key).name != ".zattrs"
        )
    return isinstance(about, list) and any(map(_unpickles, about))
