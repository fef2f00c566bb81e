"""A goal, what was measured for it, and whether it is met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.harness.peers import Missing

NEVER = float("inf")
NOT_MEASURED = "not measured"
T = TypeVar("T")
Found = tuple[str, str]
"""What was measured, and the verdict."""


@dataclass(frozen=True)
class Row:
    """A goal and how it went."""

    goal: str
    measured: str
    verdict: str
    command: str  # that measures it anew
    work: str  # that the goal is about, where the goal does not say


@dataclass(frozen=True)
class Goal:
    """A goal, and how to read what was measured for it from the results of its suite."""

    goal: str
    read: Callable[..., Found]  # raises Missing where it was not measured
    command: str = ""
    work: str = ""

    def row(self, *results: object) -> Row:
        """What was measured, or why it was not."""
        try:
            found = self.read(*results)
        except Missing as reason:
            found = str(reason), "-"
        return Row(self.goal, *found, self.command, self.work)


def needed(value: T | None, reason: str = NOT_MEASURED) -> T:
    """A value that a goal cannot do without."""
    if value is None:
        raise Missing(reason)
    return value


def verdict(value: float, bound: float, at_least: bool) -> str:
    """Met, or missed by what factor."""
    if value != value or value == NEVER or (at_least and value == 0.0):
        return "missed"
    if (value >= bound) if at_least else (value <= bound):
        return f"met ({value:.3g} against {bound:g})"
    factor = bound / value if at_least else value / bound
    return f"missed by a factor of {factor:.2f} ({value:.3g} against {bound:g})"


def by_margin(margin: float) -> str:
    """Met by a margin that is not negative, or missed by it."""
    return "met" if margin >= 0 else f"missed by {-margin:.3f}"
