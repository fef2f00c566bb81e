"""Where a result comes from: versions, the data's fingerprint, times."""

from __future__ import annotations

import hashlib
import platform
import shlex
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from scipy import sparse

from genesieve._checks import is_ours
from genesieve.core.cells.streamed import Streamed

if TYPE_CHECKING:
    from anndata import AnnData

PACKAGES = ("genesieve", "numpy", "scipy", "numba", "scikit-learn", "pandas", "anndata", "scanpy", "matplotlib")
SAMPLED_CELLS = 1000
SAMPLED = "sampled:"  # marks a fingerprint of some cells
HASHED_CELLS = 4096  # at a time: the fingerprint of data in memory takes next to no more of it


def fingerprint(adata: AnnData, values: Any) -> str:
    """SHA-256 of the shape, the names and all values of cells x genes, the same whatever file held them.

    Values are hashed as float64 in compressed rows without stored zeros, so that dense and sparse storage, h5ad and
    csv, float32 and float64 of the same numbers agree.
    """
    digest = hashlib.sha256(np.asarray(values.shape, dtype="<i8").tobytes())
    for names in (adata.obs_names, adata.var_names):
        digest.update("\0".join(map(str, names)).encode("utf-8", "surrogatepass") + b"\0\0")
    for start in range(0, values.shape[0], HASHED_CELLS):
        rows = sparse.csr_matrix(values[start : start + HASHED_CELLS], dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        for part, kind in ((rows.indptr, "<i8"), (rows.indices, "<i8"), (rows.data, "<f8")):
            digest.update(part.astype(kind, copy=False).tobytes())
    return digest.hexdigest()


def sampled_fingerprint(adata: AnnData, values: Streamed) -> str:
    """As `fingerprint`, of a thousand cells from the first to the last: for values that are not read for this alone."""
    digest = hashlib.sha256(np.asarray(values.shape, dtype="<i8").tobytes())
    digest.update(fingerprint(adata, values.some_cells(SAMPLED_CELLS)).encode())
    return f"{SAMPLED}{digest.hexdigest()}"


def file_fingerprint(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def available_memory() -> float:
    """Bytes that a process could take now; without limit where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        return float("inf")


def versions() -> dict[str, str]:
    """Of Python and of the packages that a result depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


@dataclass
class Log:
    """Times of the stages of a run, and the warnings that came up."""

    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    timings: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Note how long a stage took, in seconds."""
        began = time.perf_counter()
        yield
        self.timings[stage] = round(time.perf_counter() - began, 3)

    def record(
        self, kind: str, command: Sequence[str], about: dict[str, Any], status: str = "complete"
    ) -> dict[str, Any]:
        """What ``run.json`` says of work of some kind, with what it was ``about``.

        Times and notes are filled to the end: the record is written last.
        """
        found = versions()
        return {
            "genesieve": found["genesieve"],
            "kind": kind,
            "status": status,
            "started": self.started,
            "command": shlex.join(command),
            **about,
            "versions": found,
            "timings": self.timings,
            "notes": self.notes,
        }

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note genesieve's warnings; they are shown as ever, each once."""
        show = warnings.showwarning

        def note(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if is_ours(category, filename):
                if str(message) in self.notes:
                    return
                self.notes.append(str(message))
            show(message, category, filename, lineno, file, line)

        warnings.showwarning = note
        try:
            yield
        finally:
            warnings.showwarning = show
