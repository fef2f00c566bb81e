"""Steps of a choice that are done, in a file that an interrupted one goes on from.

JSON and plain arrays in one npz file; nothing in it runs code when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from genesieve._files import write_whole

FORMAT = 1
ABOUT, CHECKSUM = "about", "sha256"

Arrays = dict[str, np.ndarray]


class Saved:
    """The steps of one choice. ``about`` says which, in plain types; the file of another is refused, not overwritten.

    Without a path, steps are just taken.
    """

    def __init__(self, path: str | os.PathLike[str] | None, about: dict[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._about = {"format": FORMAT, "kind": "selection", **about}
        self._steps = {} if self._path is None else self._read(self._path)
        self._read_any = bool(self._steps)

    def step(self, name: str, take: Callable[[], Arrays]) -> Arrays:
        """What a step found, now or before."""
        if name not in self._steps:
            self._steps[name] = take()
            if self._path is not None:
                arrays = {f"{step}/{field}": array for step, of in self._steps.items() for field, array in of.items()}
                about = np.array(json.dumps({**self._about, CHECKSUM: checksum(arrays)}))
                with write_whole(self._path) as file:
                    np.savez(file, **{ABOUT: about, **arrays})  # type: ignore[arg-type]
        return self._steps[name]

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Errors in here that steps of a file lead to, one made by hand say, in one line about that file."""
        try:
            yield
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            if not self._read_any:
                raise
            raise _no_file_of_ours(self._path, error) from error

    def _read(self, path: Path) -> dict[str, Arrays]:
        if not path.parent.is_dir():
            raise ValueError(f"checkpoint must be a file in a folder that is there, got {str(path)!r}")
        if not path.exists():
            return {}
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = dict(json.loads(str(arrays.pop(ABOUT))))
            whole = about.pop(CHECKSUM, None) == checksum(arrays)
            steps = _by_step(arrays)
        except Exception as error:  # a file of anyone else may go wrong in any way
            raise _no_file_of_ours(path, error) from None
        if about != self._about:
            rest = "of other data or choices; remove it, or name another file"
            raise ValueError(f"checkpoint must be of the same choice of numbers, got {path}, {rest}")
        if not whole:
            raise _no_file_of_ours(path, ValueError("it was changed or damaged since it was written"))
        return steps


def _by_step(arrays: Arrays) -> dict[str, Arrays]:
    """Arrays of every step by their field."""
    steps: dict[str, Arrays] = {}
    for name, array in arrays.items():
        step, field = name.split("/")
        if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
            raise ValueError(f"{name} must be numbers")
        steps.setdefault(step, {})[field] = array
    return steps


def _no_file_of_ours(path: Path | None, error: Exception) -> ValueError:
    said = " ".join(str(error).split())[:200] or type(error).__name__
    return ValueError(f"checkpoint must be a file of genesieve, got {path}: {said}")


def checksum(arrays: Arrays) -> str:
    """SHA-256 of arrays with their names, types and shapes."""
    found = sha256()
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name} {array.dtype.str} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def digest(*parts: Any) -> str:
    """Of arrays and plain values, for ``about``."""
    found = sha256()
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return found.hexdigest()
