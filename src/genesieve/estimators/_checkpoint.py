"""A fit in progress on disk: written whole after every iteration, and read again by a run that was interrupted.

JSON and plain arrays in one npz file; nothing in it runs code when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from genesieve._files import write_whole
from genesieve.core.cells.blocks import FROM_ZERO, NoUsages
from genesieve.core.objective import pack_penalty, unpack_penalty
from genesieve.core.solvers import SOLVERS, Factors, Progress, Result, Snapshot, check_snapshot

FORMAT = 1
# Sums over all cells. Their order, which depends on where the cells are and on how they are cut into blocks, moves them
# by less.
SUMS = ("squared_norm", "numbered_means")
SAME_SUM = 1e-9


@dataclass(frozen=True)
class SavedFit:
    """What a checkpoint holds: the restart in progress, where it stands, and the best of those before it."""

    restart: int
    snapshot: Snapshot
    best: Result | None


class Checkpoint:
    """The file of one fit. ``fit`` says which, by parameters and data; that of another is refused, not overwritten."""

    def __init__(self, path: str | os.PathLike[str], fit: dict[str, Any]) -> None:
        self._path = Path(path)
        self._fit: dict[str, Any] = json.loads(json.dumps(fit))
        if not self._path.parent.is_dir():
            raise ValueError(f"checkpoint must be a file in a folder that is there, got {str(path)!r}")

    def read(self) -> SavedFit | None:
        """What is there to go on from; None if nothing is."""
        if not self._path.exists():
            return None
        with self._one_line():
            saved, fit = _load(self._path)
        self._check_same(fit)
        with self._one_line():
            self._check_whole(saved)
        return saved

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a file of anyone else may go wrong in any way
            said = " ".join(str(error).split())[:200] or type(error).__name__
            raise ValueError(f"checkpoint must be a file of genesieve, got {self._path}: {said}") from None

    def _check_whole(self, saved: SavedFit) -> None:
        """Raise unless the fit can go on from what the file holds."""
        shape, rank = (int(self._fit["shape"][0]), int(self._fit["shape"][1])), int(self._fit["rank_"])
        check_snapshot(saved.snapshot.arrays, SOLVERS[self._fit["solver"]].saves, shape, rank)
        numbers: list[float] = [saved.restart, saved.snapshot.penalty_number]
        if saved.best is not None:
            (H, W), gram, best = saved.best.factors, saved.best.gram, saved.best
            arrays = {"W": W, "cross": W, "gram": gram, "objective": np.array(best.objective)}
            check_snapshot(arrays if isinstance(H, NoUsages) else {**arrays, "H": H}, (), shape, rank)
            numbers += [best.objective, best.squared_residual]
        histories = [saved.snapshot.history, *([] if saved.best is None else [saved.best.history])]
        for history in histories:
            numbers += [number for step in history for number in asdict(step).values()]
        if not all(histories) or not all(type(number) in (int, float) and isfinite(number) for number in numbers):
            raise ValueError("a course of the fit that is none")
        if saved.best is not None and saved.best.squared_residual < 0:
            raise ValueError(f"a squared residual of {saved.best.squared_residual:g}")

    def saver(self, restart: int, best: Result | None) -> Callable[[Snapshot], None]:
        """A function that writes snapshots of a restart, with the best result before it."""

        def save(snapshot: Snapshot) -> None:
            about = {
                "format": FORMAT,
                "fit": self._fit,
                "restart": restart,
                "stage": snapshot.penalty_number,
                "history": [asdict(step) for step in snapshot.history],
                "best": None if best is None else _pack(best),
            }
            arrays = {f"now/{name}": array for name, array in snapshot.arrays.items()}
            if best is not None:
                arrays |= {"best/W": best.factors.W, "best/gram": best.gram}
                if "H" in snapshot.arrays:  # of a solver whose H does not follow from W
                    arrays["best/H"] = best.factors.H
            self._write({"about": np.array(json.dumps(about)), **arrays})

        return save

    def _write(self, arrays: dict[str, np.ndarray]) -> None:
        with write_whole(self._path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def _check_same(self, fit: dict[str, Any]) -> None:
        for name, now in self._fit.items():
            then = fit.get(name)
            if name in SUMS and isinstance(then, float) and abs(then - now) <= SAME_SUM * now:
                continue
            if then != now:
                raise ValueError(
                    f"checkpoint must be of the same fit, got {self._path}, where {name} was {then!r} and not {now!r};"
                    " remove it, or name another file"
                )


def _load(path: Path) -> tuple[SavedFit, dict[str, Any]]:
    """What a file holds, and of which fit."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(str(arrays.pop("about")))
    if about["format"] != FORMAT:
        raise ValueError(f"format {about['format']!r}")
    if not isinstance(about["fit"], dict):
        raise ValueError("no parameters of a fit")
    now, best = (_under(name, arrays) for name in ("now", "best"))
    saved = SavedFit(
        restart=about["restart"],
        snapshot=Snapshot(about["stage"], now, _history(about["history"])),
        best=None if about["best"] is None else _unpack(about["best"], best),
    )
    return saved, about["fit"]


def _pack(result: Result) -> dict[str, Any]:
    """A finished restart as plain types, but for its arrays."""
    return {
        "objective": result.objective,
        "squared_residual": result.squared_residual,
        "penalty": pack_penalty(result.penalty),
        "converged": result.converged,
        "history": [asdict(step) for step in result.history],
    }


def _unpack(packed: dict[str, Any], arrays: dict[str, np.ndarray]) -> Result:
    return Result(
        factors=Factors(arrays.get("H", FROM_ZERO), arrays["W"]),
        gram=arrays["gram"],
        objective=packed["objective"],
        squared_residual=packed["squared_residual"],
        penalty=unpack_penalty(packed["penalty"]),
        converged=packed["converged"],
        stopped=False,
        history=_history(packed["history"]),
    )


def _history(steps: list[dict[str, Any]]) -> list[Progress]:
    return [Progress(**step) for step in steps]


def _under(place: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(f"{place}/"): array for name, array in arrays.items() if name.startswith(f"{place}/")}
