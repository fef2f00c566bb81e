"""What a peer is asked for and what it shows: its ``run`` takes cells and a task, and gives points."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    cpu: float | None = None  # seconds of all cores, where they are counted
    passes: int | None = None  # over all of X
    start_seconds: float = 0.0  # part of ``seconds`` spent on the start
    history: Curve = field(default_factory=list)  # what the peer itself tells about its course
