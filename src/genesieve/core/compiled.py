"""Compiled functions: kept on disk where there is a place for them, and compiled anew where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """The function compiled on first use, free of Python's lock.

    numba keeps the machine code beside the source or in the user's home. Where neither can be written to, as in a
    container with a read-only installation and no home, it would refuse; a folder that others can write to is no place.
    """
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no place to keep it
        return njit(nogil=True)(function)
