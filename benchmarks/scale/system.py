"""What the system tells of this process and of the machine's disk."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

STATUS, READS = Path("/proc/self/status"), Path("/proc/self/io")
AT_ONCE = 2**24


def resident() -> int:
    """Bytes of memory that are resident now."""
    return _status("VmRSS") or peak()


def peak() -> int:
    """Bytes that were resident at most.

    ``ru_maxrss`` of a process that another one started counts the starter's peak, too: the kernel's own mark does not.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def read_from_disk() -> int | None:
    """Bytes that this process had fetched from disk, not from the file cache; ``None`` where nobody counts them."""
    return _field(READS, "read_bytes")


def read_through(path: Path) -> None:
    """Read a file, or all files of a folder, so that they are in the cache."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        if file.is_file():
            with file.open("rb", buffering=0) as stream:
                while stream.read(AT_ONCE):
                    pass


def _status(name: str) -> int | None:
    kilobytes = _field(STATUS, name)
    return None if kilobytes is None else 1024 * kilobytes


def _field(path: Path, name: str) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)
