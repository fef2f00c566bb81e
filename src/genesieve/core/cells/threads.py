"""Threads: how many there are, and work that is shared out to them while BLAS keeps to one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import ThreadpoolController

S = TypeVar("S")
T = TypeVar("T")


def available_threads(n_jobs: int | None) -> int:
    """Threads to use: ``None`` or -1 for every core this process may run on."""
    if n_jobs is None or n_jobs == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs


def side_by_side(work: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """What ``work`` returns for each item, on threads of their own."""
    with single_threaded_blas(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS from starting threads of its own under ours."""
    global _controller
    if _controller is None:
        _controller = ThreadpoolController()
    with _controller.limit(limits=1, user_api="blas"):
        yield


_controller: ThreadpoolController | None = None  # looking up the loaded libraries takes milliseconds: do it once
