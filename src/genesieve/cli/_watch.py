"""The progress bar of a run, and Ctrl-C in the middle of a fit."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

from genesieve.cli._screen import in_flags, plain
from genesieve.core.solvers import Progress as Step
from genesieve.selection.evidence import Step as Choice
from genesieve.workflow import Watcher

USUAL_TOLERANCE = 1e-4  # a fit ends when its objective falls by less, or by about as much
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
            spent = time.perf_counter() - began
            left = about_left(spent * (1.0 - step.done) / step.done) if step.done > 0 else ""
            bar.update(task, completed=step.done, description=step.what, left=left)

        with bar:
            yield callback
        self.console.print(f"{WORDS['select']}: {time.perf_counter() - began:.1f} s")

    def say(self, line: str) -> None:
        """A line of its own; names in it are no markup."""
        self.console.print(in_flags(plain(line)), markup=False, soft_wrap=True)

    @contextmanager
    def fit(self, most_iterations: int | None) -> Iterator[Callable[[Step], bool]]:
        """A bar over the iterations, with objective and time left."""
        objective, left = TextColumn("{task.fields[objective]}"), TextColumn("{task.fields[left]}")
        bar = self._bar(BarColumn(), objective, TimeElapsedColumn(), left)
        # Without a total the bar only moves: programs are placed on a sample first, which no iteration counts.
        task = bar.add_task("placing programs on a sample of the cells", total=None, objective="", left="")
        pace = Pace()
        began = spoke = time.perf_counter()
        last: Step | None = None
        count = 0

        def callback(step: Step) -> bool:
            nonlocal last, spoke, count
            last, count = step, count + 1
            now = time.perf_counter()
            left = pace.left(step.objective, now)
            words = f"objective {step.objective:.6g}"
            bar.update(task, description=f"fitting, iteration {count}", objective=words, left=left)
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


class Pace:
    """How long a fit will take, from how its objective falls: an estimate, and none before there is ground for one."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None  # objective and time of the last iteration
        self._fall = 0.0  # of the last iteration, relative

    def left(self, objective: float, now: float) -> str:
        """About how long it is, told after an iteration; falls are taken to shrink as the last ones did."""
        before, self._before = self._before, (objective, now)
        if before is None or not before[0] > 0:
            return ""
        fall, last = (before[0] - objective) / before[0], self._fall
        self._fall = fall
        if not last > fall > USUAL_TOLERANCE:
            return ""
        iterations = math.log(fall / USUAL_TOLERANCE) / math.log(last / fall)
        return about_left(iterations * (now - before[1]))


def about_left(seconds: float) -> str:
    """How long it will be, in words."""
    return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"
