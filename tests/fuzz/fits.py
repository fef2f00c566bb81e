"""Random fits as a subject of a campaign."""

from __future__ import annotations

from pathlib import Path

from .campaign import FaultError
from .drawing import Case, draw
from .judging import judge

REPEATED = 16  # one case in so many is fitted again


def fits(seed: int, folder: Path) -> str:
    """One fit of random data with random options."""
    return _judged(draw(seed), seed)


def large_fits(seed: int, folder: Path) -> str:
    """The same of up to 500 cells and genes."""
    return _judged(draw(seed, share_of_large=1.0), seed)


def _judged(case: Case, seed: int) -> str:
    found = judge(case, twice=seed % REPEATED == 0)
    if found:
        raise FaultError(f"{case}: {'; '.join(found)}")
    return "refused" if case.note.get("refused") else "fitted"
