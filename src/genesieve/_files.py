"""Files that appear whole or not at all, with the mode of any other new file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["hidden_beside", "write_whole"]


@contextmanager
def write_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of ``path`` once it is whole; if anything fails, what was there stays."""
    part = hidden_beside(path, "part")
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
