"""What the system tells of this process: seconds, memory, bytes read, cores."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
import time
from pathlib import Path
from typing import Self

STATUS, READS, RESET = (Path("/proc/self") / name for name in ("status", "io", "clear_refs"))


class Meter:
    """Seconds by the clock and of all cores, and bytes of peak memory above those at the start, of a ``with`` block.

    ``peak`` is ``None`` where the system does not tell (it is read from Linux's ``/proc``).
    """

    seconds: float = float("nan")
    cpu: float = float("nan")
    peak: int | None = None

    def __enter__(self) -> Self:
        _settle()
        self._before = _status("VmRSS")
        self._began, self._cpu_began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *exception: object) -> None:
        self.seconds, self.cpu = self.elapsed(), self.cpu_elapsed()
        after = _status("VmHWM")
        if self._before is not None and after is not None:
            self.peak = max(after - self._before, 0)

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began

    def cpu_elapsed(self) -> float:
        """Seconds of all cores since the start."""
        return time.process_time() - self._cpu_began


def available_threads() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def _settle() -> None:
    """Give free memory back to the system, so that it is not used again unseen, and forget the peak so far."""
    gc.collect()
    if os.name == "posix" and STATUS.exists():
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        RESET.write_text("5")


def _status(name: str) -> int | None:
    kilobytes = _field(STATUS, name)
    return None if kilobytes is None else 1024 * kilobytes


def _field(path: Path, name: str) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)
