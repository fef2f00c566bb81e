"""Who watches a run: told about its stages and iterations, and able to end the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from genesieve.core.solvers import Progress
from genesieve.selection.evidence import Step


class Watcher:
    """Watches in silence. The command line has one that draws a bar and listens to Ctrl-C."""

    stopped = False
    """Whether the fit was ended early."""

    @contextmanager
    def stage(self, name: str, steps: int | None = None) -> Iterator[Callable[[str], None]]:
        """Around a stage: read, prepare, interpret, write; gives what to call at each of its steps, with its name."""
        yield lambda what: None

    @contextmanager
    def select(self) -> Iterator[Callable[[Step], object] | None]:
        """Around the choice of numbers; gives its callback."""
        yield None

    def say(self, line: str) -> None:
        """A line that the one who waits should see."""

    @contextmanager
    def fit(self, most_iterations: int | None) -> Iterator[Callable[[Progress], bool] | None]:
        """Around the fit; gives its callback, which ends it by returning True."""
        yield None
