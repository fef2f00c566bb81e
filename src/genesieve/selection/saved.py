"""Steps of a choice that are done, in a file that an interrupted one goes on from.

JSON and plain arrays in one npz file; nothing in it runs code when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from genesieve._files import write_whole

FORMAT = 1
ABOUT = "about"

Arrays = dict[str, np.ndarray]


class Saved:
    """The steps of one choice. ``about`` says which, in plain types; the file of another is refused, not overwritten.

    Without a path, steps are just taken.
    """

    def __init__(self, path: str | os.PathLike[str] | None, about: dict[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._about = {"format": FORMAT, "kind": "selection", **about}
        self._steps = {} if self._path is None else self._read(self._path)

    def step(self, name: str, take: Callable[[], Arrays]) -> Arrays:
        """What a step found, now or before."""
        if name not in self._steps:
            self._steps[name] = take()
            if self._path is not None:
                arrays = {f"{step}/{field}": array for step, of in self._steps.items() for field, array in of.items()}
                with write_whole(self._path) as file:
                    np.savez(file, **{ABOUT: np.array(json.dumps(self._about)), **arrays})  # type: ignore[arg-type]
        return self._steps[name]

    def _read(self, path: Path) -> dict[str, Arrays]:
        if not path.parent.is_dir():
            raise ValueError(f"checkpoint must be a file in a folder that is there, got {str(path)!r}")
        if not path.exists():
            return {}
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = dict(json.loads(str(arrays.pop(ABOUT))))
        except Exception as error:  # a file of anyone else may go wrong in any way
            said = " ".join(str(error).split())[:200] or type(error).__name__
            raise ValueError(f"checkpoint must be a file of genesieve, got {path}: {said}") from None
        if about != self._about:
            rest = "of other data or choices; remove it, or name another file"
            raise ValueError(f"checkpoint must be of the same choice of numbers, got {path}, {rest}")
        steps: dict[str, Arrays] = {}
        for name, array in arrays.items():
            step, field = name.split("/")
            steps.setdefault(step, {})[field] = array
        return steps


def digest(*parts: Any) -> str:
    """Of arrays and plain values, for ``about``."""
    found = sha256()
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return found.hexdigest()
