"""How far a fit is and about how long it will take, and the bar that shows it in plain Python and notebooks."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from typing import Any

from genesieve.core.solvers import FINISH, PLACE, SETTLE, Callback, Progress, Stand
from genesieve.selection.evidence import Step, Tell

LONG_SECONDS = 5.0  # work that takes longer is worth a bar
# What follows placing takes this share of its time, and as much again for so many cells. Seen at ranks 8 to 30 on 2,600
# to 100,000 cells, the time left that is told from a third of placing on was mostly 0.5 to 2.4 times what it then took,
# up to five times off in the last seconds.
SETTLING, CELLS_AS_LONG_AS_PLACING = 0.15, 60_000
USUAL_PASSES = 3  # over X, as programs are well placed by then; where it takes more, it is told by the objective's fall
LAST_FALL = 1e-4  # of the objective, relative: a fit ends when it falls by less, or by about as much


@dataclass(frozen=True)
class Outlook:
    """Where a fit stands: in words, and by what is left."""

    words: str
    left: float | None  # seconds, an estimate; None where there is no ground for one
    share: float | None  # of the time that it will take in all

    @property
    def time_left(self) -> str:
        """For the eye: ``about 20 s left``, or nothing."""
        if self.left is None:
            return ""
        return f"about {self.left / 60:.0f} min left" if self.left >= 90 else f"about {max(self.left, 1.0):.0f} s left"


def outlook_of_choice(step: Step, spent: float) -> Outlook:
    """Where a choice of numbers stands after so many seconds; its steps are taken to go on at their pace."""
    return Outlook(step.what, spent * (1.0 - step.done) / step.done if step.done > 0 else None, step.done)


class Forecast:
    """Follows a fit, and makes an `Outlook` of all that it hears."""

    def __init__(self) -> None:
        self._stand = Stand(PLACE, 0, None, 0, 1, 1, 0.0)
        self._began = self._placing = 0.0  # seconds: when the stage began, and how long placing took
        self._before = 0.0  # seconds, of fits that are done
        self._objective: float | None = None
        self._pace = Pace()

    def stands(self, stand: Stand) -> Outlook:
        """After another part of a stage."""
        if stand.fit != self._stand.fit:
            self._before += self._stand.seconds
            self._objective, self._pace = None, Pace()
        if (stand.stage, stand.fit) != (self._stand.stage, self._stand.fit):
            self._began = stand.seconds
            self._placing = self._began if stand.stage == SETTLE else self._placing
        self._stand = stand
        return self._outlook()

    def step(self, progress: Progress) -> Outlook:
        """After an iteration on X."""
        self._objective = progress.objective
        self._pace.step(progress)
        return self._outlook()

    def _outlook(self) -> Outlook:
        stand, left = self._stand, self._left()
        words = {PLACE: "placing programs on a sample", SETTLE: "settling them", FINISH: "fitting all cells"}[
            stand.stage
        ]
        unit = {PLACE: "fit", SETTLE: "iteration", FINISH: "pass"}[stand.stage]
        if stand.done:
            words += f", {unit} {stand.done}" + ("" if stand.of is None else f" of {stand.of}")
        if self._objective is not None and stand.stage == FINISH:
            words += f", objective {self._objective:.6g}"
        if stand.n_fits > 1:
            words = f"start {stand.fit} of {stand.n_fits}: {words}"
        so_far = self._before + stand.seconds
        return Outlook(words, left, None if left is None else so_far / max(so_far + left, 1e-9))

    def _left(self) -> float | None:
        """Seconds of this fit, and of those from other starts, which are taken to be as long."""
        stand, this = self._stand, self._left_of_this()
        if this is None:
            return None
        return this + (stand.n_fits - stand.fit) * (self._before + stand.seconds + this) / stand.fit

    def _left_of_this(self) -> float | None:
        stand = self._stand
        spent = stand.seconds - self._began
        rest = SETTLING + stand.n_cells / CELLS_AS_LONG_AS_PLACING
        if stand.stage == PLACE and stand.of:
            if 3 * stand.done < stand.of:
                return None
            whole = spent * stand.of / stand.done
            return whole - spent + rest * whole
        if stand.stage == SETTLE:
            return max(rest * self._placing - spent, 0.0)
        if stand.stage == FINISH and not stand.done:
            return (rest - SETTLING) * self._placing or None
        if stand.stage == FINISH and stand.done <= USUAL_PASSES:
            return spent / stand.done * max(USUAL_PASSES - stand.done, 1)
        return self._pace.left


class Pace:
    """How long a fit of many iterations will take, from how its objective falls."""

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._fall = 0.0  # of the last iteration, relative
        self.left: float | None = None
        """Seconds, if falls go on to shrink as the last ones did; None before there is ground for an estimate."""

    def step(self, progress: Progress) -> None:
        """After an iteration."""
        before, self._last = self._last, progress
        if before is None or not before.objective > 0:
            return
        fall, last = (before.objective - progress.objective) / before.objective, self._fall
        self._fall, self.left = fall, None
        if last > fall > LAST_FALL:
            iterations = math.log(fall / LAST_FALL) / math.log(last / fall)
            self.left = iterations * (progress.seconds - before.seconds)


class Bar:
    """A monitor that draws a bar, and hands on to the callback that there was."""

    def __init__(self, callback: Callback | None = None, *, after: float = 0.0) -> None:
        self._callback, self._forecast = callback, Forecast()
        self._after, self._began = after, time.perf_counter()
        self._bar: Any = None

    def __call__(self, progress: Progress) -> object:
        self._draw(self._forecast.step(progress))
        return None if self._callback is None else self._callback(progress)

    def stands(self, stand: Stand) -> None:
        """Draw where the fit stands."""
        self._draw(self._forecast.stands(stand))

    def chooses(self, step: Step) -> None:
        """Draw how far the choice of numbers is."""
        self._draw(outlook_of_choice(step, time.perf_counter() - self._began))

    def close(self) -> None:
        """Leave the line as it is."""
        if self._bar is not None:
            self._bar.close()

    def _draw(self, outlook: Outlook) -> None:
        if time.perf_counter() - self._began < self._after:
            return
        self._bar = _new_bar() if self._bar is None else self._bar
        self._bar.set_description_str(outlook.words, refresh=False)
        self._bar.set_postfix_str(outlook.time_left, refresh=False)
        if outlook.share is not None:
            self._bar.n = round(100 * outlook.share)
        self._bar.refresh()


def _new_bar() -> Any:
    """In a notebook with widgets a widget, else a line on standard error."""
    if _in_notebook() and find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm
    else:
        from tqdm.std import tqdm
    return tqdm(total=100, bar_format="{desc} {bar} {elapsed} {postfix}", leave=False)


def someone_watches() -> bool:
    """Whether standard error is a terminal, or this is a notebook."""
    return _in_notebook() or bool(getattr(sys.stderr, "isatty", lambda: False)())


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


@contextmanager
def watched(callback: Callback | None, verbose: bool | None) -> Iterator[Callback | None]:
    """The callback, with a bar around it if it is wanted; with None, if work is long and someone is there to see it."""
    with _bar_if(verbose, callback) as bar:
        yield callback if bar is None else bar


@contextmanager
def watched_choice(callback: Tell | None, verbose: bool | None) -> Iterator[Tell | None]:
    """The same for the choice of numbers of programs and genes."""
    with _bar_if(verbose) as bar:

        def tell(step: Step) -> None:
            if bar is not None:
                bar.chooses(step)
            if callback is not None:
                callback(step)

        yield tell


@contextmanager
def watched_fits(n_fits: int, verbose: bool | None) -> Iterator[Callable[[str], None]]:
    """The same for many fits of about the same length: called with what comes before each of them, by any thread."""
    begun = count()
    with watched_choice(None, verbose) as tell:

        def next_fit(what: str) -> None:
            number = next(begun)
            if tell is not None:
                tell(Step(f"{what} ({number + 1} of {n_fits})", number / n_fits))

        yield next_fit


@contextmanager
def _bar_if(verbose: bool | None, callback: Callback | None = None) -> Iterator[Bar | None]:
    if not (someone_watches() if verbose is None else verbose):
        yield None
        return
    bar = Bar(callback, after=LONG_SECONDS if verbose is None else 0.0)
    try:
        yield bar
    finally:
        bar.close()
