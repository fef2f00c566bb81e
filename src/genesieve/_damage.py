"""Damage on which libraries crash or never come back, looked for before they read a file.

HDF5 keeps texts of variable length, names of cells and all attributes among them, in "global heap collections". The
library walks a collection from object to object by their sizes, and a size of zero, as a wiped stretch leaves it, keeps
it on the spot for ever, where no signal and no thread of Python can reach it. (HDF5 File Format Specification 3.0,
III.E.) SciPy's reader of Matrix Market files leaves its memory where a line holds a zero byte.
"""

from __future__ import annotations

import gzip
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["check_heaps", "check_text"]

SIGNATURE = b"GCOL\x01\x00\x00\x00"  # with the version and three reserved bytes, so that chance does not write it
HEADER = 16  # bytes, of a collection and of each object in it
# How much of a file is looked through at either end: texts stand before and after the values of X, which may be large.
REACH = 1 << 30
PIECE = 1 << 20  # bytes of a text that are looked at together


def check_heaps(path: Path) -> None:
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
    stretches = [(0, size)] if size <= 2 * REACH else [(0, REACH), (size - REACH, size)]
    for first, last in stretches:
        start = held.find(SIGNATURE, first, last)
        while start >= 0:
            yield start
            start = held.find(SIGNATURE, start + 1, last)


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


def check_text(path: Path) -> Path:
    """The path of a text file, plain or gzipped; ValueError if there are zero bytes in it."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        place = 0
        while piece := file.read(PIECE):
            if b"\0" in piece:
                raise ValueError(f"{path.name} has a zero byte at {place + piece.index(0)}: the file is damaged")
            place += len(piece)
    return path
