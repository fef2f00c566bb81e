"""The places of docs/programs.md."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.harness.report import NONE, goal_table, number, picture, table
from benchmarks.harness.results import Record, Results
from benchmarks.programs import goals
from benchmarks.programs.peers import PEERS
from benchmarks.programs.score import KINDS, LEVELS
from benchmarks.programs.stability import RANKS


def fill(results: Results, pictures: list[str]) -> dict[str, str]:
    """The text of every place."""
    return {
        "goals": goal_table([goal.row(results) for goal in goals.GOALS]),
        "usages": by_level(results, both("usage_r")),
        "lost": by_level(results, lost),
        "classified": by_level(results, both("classified")),
        "spectra": by_level(results, both("spectrum_r")),
        "spectra_found": by_level(results, both("spectrum_found")),
        "genes": by_level(results, both("sensitivity")),
        "promised": by_level(results, promised),
        "cost": by_level(results, seconds),
        "cnmf": by_level(results, in_short, setting="cnmf"),
        "stability": stability_table(results),
        "pictures": "".join(picture(name) for name in pictures),
    }


def by_level(results: Results, tell: Callable[[list[Record]], str], *, setting: str = "planted") -> str:
    """A table of peers x levels."""
    levels = LEVELS if setting == "planted" else LEVELS[:3]
    body = []
    for name, peer in PEERS.items():
        found = [results.measured(f"{setting}/{name}/{level}/") for level in levels]
        if any(found):
            body.append([peer.title, *(tell(records) if records else NONE for records in found)])
    return table(["", *levels], body) if body else ""


def stability_table(results: Results) -> str:
    """How alike seeds are on real data: usages in the mean (the worst program), and genes in common."""
    body = []
    for name, peer in PEERS.items():
        found = [results.measured(f"real/{name}/{data}") for data in RANKS]
        if any(found):
            body.append([peer.title, *(alike(records[0]) if records else NONE for records in found)])
    return table(["", *(f"{data}, {rank} programs" for data, rank in RANKS.items())], body) if body else ""


def alike(record: Record) -> str:
    genes = "" if record["genes"] is None else f"; genes {record['genes']:.3f}"
    return f"{record['alike']:.4f} ({record['worst']:.3f}){genes}"


def in_short(records: list[Record]) -> str:
    """Usages, spectra and genes in one place."""
    return f"{both('usage_r')(records)}; {both('sensitivity')(records)}; lost {sum(one['lost'] for one in records)}"


def both(field: str) -> Callable[[list[Record]], str]:
    """The means of both kinds of programs."""

    def tell(records: list[Record]) -> str:
        return " / ".join(number(float(np.mean([one[kind][field] for one in records])), 3) for kind in KINDS)

    return tell


def promised(records: list[Record]) -> str:
    """The raised genes that pass, and the share of those that pass that is false."""
    return f"{both('passed')(records)} (false {both('false')(records)})"


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
