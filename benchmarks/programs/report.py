"""The places of docs/programs.md."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.harness.report import NONE, number, picture, table
from benchmarks.harness.results import Record, Results
from benchmarks.programs.peers import PEERS
from benchmarks.programs.score import KINDS

LEVELS = ("easy", "medium", "hard", "faint")


def fill(results: Results, pictures: list[str]) -> dict[str, str]:
    """The text of every place."""
    return {
        "usages": by_level(results, both("usage_r")),
        "lost": by_level(results, lost),
        "spectra": by_level(results, both("spectrum_r")),
        "genes": by_level(results, both("sensitivity")),
        "cost": by_level(results, seconds),
        "pictures": "".join(picture(name) for name in pictures),
    }


def by_level(results: Results, tell: Callable[[list[Record]], str]) -> str:
    """A table of peers x levels."""
    body = []
    for name, peer in PEERS.items():
        found = {level: results.measured(peer=name, level=level) for level in LEVELS}
        if any(found.values()):
            body.append([peer.title, *(tell(records) if records else NONE for records in found.values())])
    return table(["", *LEVELS], body) if body else ""


def both(field: str) -> Callable[[list[Record]], str]:
    """The means of both kinds of programs."""

    def tell(records: list[Record]) -> str:
        return " / ".join(number(float(np.mean([one[kind][field] for one in records])), 3) for kind in KINDS)

    return tell


def lost(records: list[Record]) -> str:
    """Programs lost, of how many in how many draws, and the worst correlation."""
    n_programs = sum(len(one["usage_r"]) for one in records)
    worst = min(one["worst"] for one in records)
    return f"{sum(one['lost'] for one in records)} of {n_programs} ({len(records)} draws; worst {worst:.2f})"


def seconds(records: list[Record]) -> str:
    """Seconds of a fit, and its memory."""
    peaks = [one["peak"] for one in records if one["peak"] is not None]
    memory = f", {np.median(peaks) / 2**20:.0f} MB" if peaks else ""
    return f"{np.median([one['seconds'] for one in records]):.1f} s{memory}"
