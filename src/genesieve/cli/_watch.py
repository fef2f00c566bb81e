"""The progress bar of a run, and Ctrl-C in the middle of a fit."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from genesieve.cli._screen import plain
from genesieve.core.solvers import Progress as Step
from genesieve.workflow import Watcher

QUIET_SECONDS = 30.0  # between lines in a log file, where no bar can be drawn

WORDS = {
    "read": "reading",
    "prepare": "preparing",
    "select": "choosing numbers of programs and genes",
    "interpret": "reading genes and biclusters off",
    "project": "scoring cells",
    "enrich": "testing gene sets",
    "write": "writing tables, figures and the report",
}


class Screen(Watcher):
    """Draws stages and iterations; the first Ctrl-C in a fit ends it with what it has, the second aborts."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.stopped = False

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A spinner with the stage's words."""
        words = WORDS.get(name, name)
        began = time.perf_counter()
        with self.console.status(words):
            yield
        self.console.print(f"{words}: {time.perf_counter() - began:.1f} s")

    def say(self, line: str) -> None:
        """A line of its own; names in it are no markup."""
        self.console.print(plain(line), markup=False)

    @contextmanager
    def fit(self, most_iterations: int | None) -> Iterator[Callable[[Step], bool]]:
        """A bar over the iterations, with objective and time left."""
        columns = ("[progress.description]{task.description}", "{task.fields[objective]}", "{task.fields[left]}")
        bar = Progress(
            SpinnerColumn(),
            TextColumn(columns[0]),
            BarColumn(),
            TextColumn(columns[1]),
            TimeElapsedColumn(),
            TextColumn(columns[2]),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        task = bar.add_task("fitting, finding a start", total=most_iterations, objective="", left="")
        began = spoke = time.perf_counter()
        last: Step | None = None
        count = 0

        def callback(step: Step) -> bool:
            nonlocal last, spoke, count
            last, count = step, count + 1
            now = time.perf_counter()
            left = _time_left(count, most_iterations, now - began)
            words = f"objective {step.objective:.6g}"
            bar.update(task, completed=count, description=f"fitting, iteration {count}", objective=words, left=left)
            if bar.disable and now - spoke > QUIET_SECONDS:
                spoke = now
                self.console.print(f"fitting, iteration {count}: {words} {left}")
            return self.stopped

        with self._one_more_chance(), bar:
            self.console.print("fitting; Ctrl-C ends the fit early and keeps what it has")
            yield callback
        took = f"{time.perf_counter() - began:.1f} s"
        reached = f", objective {last.objective:.6g}" if last is not None else ""
        self.console.print(f"fitting: {count} iteration{'' if count == 1 else 's'}{reached}, {took}")
        if self.stopped:
            self.console.print("stopped early: the fit as it stands is kept and written")

    @contextmanager
    def _one_more_chance(self) -> Iterator[None]:
        """The first Ctrl-C asks the fit to end, the second one is an interrupt as ever."""

        def on_interrupt(number: int, frame: FrameType | None) -> None:
            if self.stopped:
                raise KeyboardInterrupt
            self.stopped = True
            self.console.print("stopping after this iteration; Ctrl-C again stops at once and keeps nothing")

        before = signal.getsignal(signal.SIGINT)
        if before == signal.SIG_IGN:  # whoever started us in the background wants no Ctrl-C to reach us
            yield
            return
        signal.signal(signal.SIGINT, on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _time_left(count: int, most: int | None, seconds: float) -> str:
    """An upper bound: most fits meet their tolerance before the last iteration."""
    if most is None or count >= most:
        return ""
    left = seconds / count * (most - count)
    return f"at most {left / 60:.0f} min left" if left >= 90 else f"at most {left:.0f} s left"
