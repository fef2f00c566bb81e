"""Compiled functions: kept on disk where there is a place for them, and compiled anew where there is none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """The function compiled on first use, free of Python's lock.

    numba keeps the machine code beside the source or in the user's home. Where neither can be written to, as in a
    container with a read-only installation and no home, it would refuse; a folder that others can write to is no place.
    """
    try:
        dispatcher = njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no place to keep it
        return njit(nogil=True)(function)
    _forgive(dispatcher._cache)
    return dispatcher


def compiled_part(function: Callable[..., Any]) -> Any:
    """The function compiled as a part of compiled ones that call it: Python cannot, which takes a fifth less time.

    It is kept on disk with those.
    """
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def _forgive(cache: Any) -> None:
    """Let machine code that cannot be read, cut short by a full disk say, be dropped and compiled anew."""
    load, save = cache.load_overload, cache.save_overload

    def load_overload(*given: Any) -> Any:
        try:
            return load(*given)
        except Exception:  # whatever unpickling what is left of a file may raise
            with suppress(Exception):
                cache.flush()
            return None

    def save_overload(*given: Any) -> None:
        with suppress(Exception):  # what is not kept is compiled anew
            save(*given)

    cache.load_overload, cache.save_overload = load_overload, save_overload
