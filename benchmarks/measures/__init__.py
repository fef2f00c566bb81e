"""What is not a race on one data set: imports, one pass, dense data to convergence, growth with the cells."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from benchmarks.protocol import Measure

NAMES = ("imports", "one_pass", "dense", "scale")


def get(name: str) -> Measure:
    """The measure of that name."""
    return cast(Measure, import_module(f"benchmarks.measures.{name}"))
