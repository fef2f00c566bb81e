"""The progress bar of a run, and Ctrl-C in the middle of a fit."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

from genesieve.cli._screen import in_flags, plain
from genesieve.core.solvers import Progress as Step
from genesieve.core.solvers import Stand
from genesieve.estimators._progress import Forecast, Outlook, outlook_of_choice
from genesieve.selection.evidence import Step as Choice
from genesieve.workflow import Watcher

QUIET_SECONDS = 30.0  # between lines in a log file, where no bar can be drawn

WORDS = {
    "read": "reading",
    "prepare": "preparing",
    "select": "choosing numbers of programs and genes",
    "interpret": "scoring genes and finding biclusters",
    "panel": "choosing the panel",
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
    def stage(self, name: str, steps: int | None = None) -> Iterator[Callable[[str], None]]:
        """A spinner with the stage's words, or a bar over its steps."""
        words = WORDS.get(name, name)
        began = time.perf_counter()
        bar = self._bar(BarColumn() if steps else TextColumn(""), TimeElapsedColumn())
        task = bar.add_task(words, total=steps)
        done = -1

        def step(what: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done, description=f"writing {what}" if name == "write" else what)

        with bar:
            yield step
        self.console.print(f"{words}: {time.perf_counter() - began:.1f} s")

    @contextmanager
    def select(self) -> Iterator[Callable[[Choice], None]]:
        """A bar over the work, with what is done and about how long it will be."""
        began = time.perf_counter()
        bar = self._bar(BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        task = bar.add_task(WORDS["select"], total=1.0, left="")

        def callback(step: Choice) -> None:
            outlook = outlook_of_choice(step, time.perf_counter() - began)
            bar.update(task, completed=outlook.share, description=outlook.words, left=outlook.time_left)

        with bar:
            yield callback
        self.console.print(f"{WORDS['select']}: {time.perf_counter() - began:.1f} s")

    def say(self, line: str) -> None:
        """A line of its own; names in it are no markup."""
        self.console.print(in_flags(plain(line)), markup=False, soft_wrap=True)

    @contextmanager
    def fit(self, most_iterations: int | None) -> Iterator[Callable[[Step], bool]]:
        """A bar over the whole fit, with what it is about and an estimate of the time left."""
        bar = self._bar(BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        seen, began = _Seen(self, bar), time.perf_counter()
        with self._one_more_chance(), bar:
            self.console.print("fitting; Ctrl-C ends the fit early and keeps what it has")
            yield seen
        took, count, last = f"{time.perf_counter() - began:.1f} s", seen.count, seen.last
        reached = f", objective {last.objective:.6g}" if last is not None else ""
        self.console.print(f"fitting: {count} iteration{'' if count == 1 else 's'}{reached}, {took}")
        if self.stopped:
            self.console.print("stopped early: the fit as it stands is kept and written")

    def _bar(self, *columns: ProgressColumn) -> Progress:
        """A line that moves, on a terminal."""
        words = TextColumn("{task.description}", markup=False)
        off = not self.console.is_terminal
        return Progress(SpinnerColumn(), words, *columns, console=self.console, transient=True, disable=off)

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


class _Seen:
    """What is seen of a fit: a monitor that moves the bar, or in a log file says a line now and then."""

    def __init__(self, screen: Screen, bar: Progress) -> None:
        self.count = 0
        self.last: Step | None = None
        self._screen, self._bar, self._forecast = screen, bar, Forecast()
        self._task = bar.add_task("preparing the fit", total=None, left="")
        self._spoke = time.perf_counter()

    def __call__(self, step: Step) -> bool:
        self.count, self.last = self.count + 1, step
        self._show(self._forecast.step(step))
        return self._screen.stopped

    def stands(self, stand: Stand) -> None:
        """Show where the fit stands."""
        self._show(self._forecast.stands(stand))

    def _show(self, outlook: Outlook) -> None:
        # Without a total the bar only moves to and fro: better than a share without ground.
        total, done = (None, 0.0) if outlook.share is None else (1.0, outlook.share)
        self._bar.update(self._task, description=outlook.words, total=total, completed=done, left=outlook.time_left)
        if self._bar.disable and time.perf_counter() - self._spoke > QUIET_SECONDS:
            self._spoke = time.perf_counter()
            self._screen.console.print(f"{outlook.words} {outlook.time_left}".strip())
