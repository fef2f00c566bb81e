"""What is not a race on one data set: imports, one pass, dense data to convergence, growth with the cells.

Each is a module whose ``take`` is told whether to be quick, and returns what it measured.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from benchmarks.harness.results import Record

GROUP = "measures"
NAMES = ("imports", "one_pass", "dense", "scale")


def get(name: str) -> Callable[[bool], Record]:
    """The measurement of that name."""
    return import_module(f"benchmarks.speed.measures.{name}").take
