"""Files that appear whole or not at all, with the mode of any other new file."""

from __future__ import annotations

import io
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["claimed_beside", "forgiving_file", "hidden_beside", "strays", "sweep", "write_whole"]


@contextmanager
def write_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of ``path`` once it is whole; if anything fails, what was there stays."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} must be in a folder that exists, got none at {path.parent}")
    sweep(path, "part")
    with claimed_beside(path, "part", make=Path.touch) as part:
        try:
            with part.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)  # in one step: whoever looks finds the old file or the new one
        finally:
            part.unlink(missing_ok=True)


def hidden_beside(path: Path, ending: str) -> Path:
    """A hidden name in the same folder that nothing has yet.

    What is made under it gets the mode that the user's umask gives; Python's temporary files are their owner's alone.
    """
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{ending}")


@contextmanager
def claimed_beside(path: Path, ending: str, *, make: Callable[[Path], None] = Path.mkdir) -> Iterator[Path]:
    """A new hidden folder, or file, in the same folder; locked until the end, however this process ends."""
    lock = None
    while True:
        made = hidden_beside(path, ending)
        make(made)
        with suppress(BlockingIOError, FileNotFoundError):  # someone who sweeps found it before it was locked
            lock = _lock(made)
            if made.exists():
                break
            _unlock(lock)
    try:
        yield made
    finally:
        _unlock(lock)


def strays(path: Path, ending: str) -> list[Path]:
    """What has a name that `hidden_beside` gives."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.{ending}")
    return sorted(file for file in path.parent.glob(f".*.{ending}") if name.fullmatch(file.name))


def sweep(path: Path, ending: str) -> bool:
    """Remove what `claimed_beside` made for processes that are gone, and their locks with them; whether all are."""
    all_gone = True
    for stray in strays(path, ending):
        lock = None
        with suppress(OSError):
            lock = _lock(stray)
        if lock is None:  # at work, or on a disk without locks
            all_gone = False
        else:
            with suppress(OSError):  # it may be someone else's
                shutil.rmtree(stray) if stray.is_dir() else stray.unlink()
            _unlock(lock)
    return all_gone


def _lock(path: Path) -> int | None:
    """A lock that no one else has, or None where there are no locks."""
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe of such a name is not waited for
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # some network disks
        os.close(descriptor)
        return None
    return descriptor


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


@contextmanager
def forgiving_file(path: Path) -> Iterator[BinaryIO]:
    """A file for a library that cannot go on where the disk is full: what has no room is lost, and told at the end."""
    with _Forgiving(path) as file:
        try:
            yield file
        except Exception:
            if file.error is None:
                raise
    if file.error is not None:
        raise OSError(file.error.errno, os.strerror(file.error.errno or 0), path.name) from None


class _Forgiving(io.FileIO):
    """A file that reads as zeros where it could not be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all of it, or none after the first error."""
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while len(left) and self.error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = error
        return size

    def readinto(self, buffer: Any) -> int:
        """Read, and zeros behind the end."""
        view = memoryview(buffer).cast("B")
        count = super().readinto(view) or 0
        view[count:] = bytes(len(view) - count)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Cut or extend, if there is room."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return self.tell() if size is None else size
