"""What data sets, peers and measures look like to the runner."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

Curve = list[tuple[float, float]]
"""Pairs of seconds and objective."""


@dataclass(frozen=True)
class Task:
    """What a peer is asked for."""

    rank: int
    n_genes: int  # the budget of models that select genes
    seeds: tuple[int, ...]
    max_iterations: int  # iterations that this data set affords a peer
    threads: int

    def looks(self, iterations: tuple[int, ...]) -> list[int]:
        """Those of the iteration counts that are afforded."""
        return [count for count in iterations if count <= self.max_iterations]


@dataclass(frozen=True)
class Point:
    """Where a run of a peer stood when it was looked at."""

    run: str  # points of one name make one curve
    seconds: float  # since the start of the run
    H: np.ndarray  # (cells, rank)
    W: np.ndarray  # (genes, rank)
    iterations: int
    peak: int | None  # bytes above the input
    passes: int | None = None  # over all of X
    start_seconds: float = 0.0  # part of ``seconds`` spent on the start
    history: Curve = field(default_factory=list)  # what the peer itself tells about its course


class Peer(Protocol):
    """A module of ``benchmarks.peers``."""

    TITLE: str
    MODEL: str  # "nmf" or "l20"

    def missing(self) -> str | None:
        """Why the peer cannot run here, if so."""

    def versions(self) -> dict[str, str]:
        """Versions of what it runs."""

    def run(self, X: Any, task: Task) -> Iterator[Point]:
        """Fit, and show where it stands."""


class Measure(Protocol):
    """A module of ``benchmarks.measures``: what is not a race on one data set."""

    TITLE: str

    def missing(self) -> str | None:
        """Why it cannot be taken here, if so."""

    def take(self, quick: bool, threads: int) -> dict[str, Any]:
        """The measurement, ready for JSON."""


@dataclass(frozen=True)
class DataSet:
    """A matrix, how to get it, and who is run on it with what."""

    title: str
    load: Callable[[], Any]
    missing: Callable[[], str | None]
    rank: int
    n_genes: int
    peers: tuple[str, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    max_iterations: int = 200

    def task(self, threads: int) -> Task:
        """What its peers are asked for."""
        return Task(self.rank, self.n_genes, self.seeds, self.max_iterations, threads)


def available_threads() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
