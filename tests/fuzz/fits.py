"""Random fits as a subject of a campaign."""

from __future__ import annotations

from pathlib import Path

from .campaign import FaultError
from .drawing import draw
from .judging import judge

REPEATED = 16  # one case in so many is fitted again


def fits(seed: int, folder: Path) -> str:
    """One fit of random data with random options."""
    case = draw(seed)
    found = judge(case, twice=seed % REPEATED == 0)
    if found:
        raise FaultError(f"{case}: {'; '.join(found)}")
    return "refused" if case.note.get("refused") else "fitted"
