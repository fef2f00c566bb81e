"""The goals of recovered programs, and what was measured for each."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.harness.goals import Found, Goal, by_margin
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Record, Results
from benchmarks.programs.score import KINDS, LEVELS

OURS = "genesieve"
MEASURES = ("usage_r", "classified", "spectrum_r", "sensitivity")


def draws(results: Results, peer: str, level: str) -> list[Record]:
    found = results.measured(f"planted/{peer}/{level}/")
    if not found:
        raise Missing("not measured")
    return found


def mean(records: list[Record], kind: str, field: str) -> float:
    return float(np.mean([one[kind][field] for one in records]))


def usages(results: Results, *, level: str, bounds: tuple[float, float]) -> Found:
    """Correlation of usages of both kinds of programs."""
    records = draws(results, OURS, level)
    values = [mean(records, kind, "usage_r") for kind in KINDS]
    told = " / ".join(f"{value:.3f}" for value in values)
    return f"{told} ({len(records)} draws)", by_margin(float(np.min(np.subtract(values, bounds))))


def none_lost(results: Results) -> Found:
    """No program lost in any draw."""
    records = [one for level in LEVELS for one in draws(results, OURS, level)]
    lost = sum(one["lost"] for one in records)
    worst = min(one["worst"] for one in records)
    return f"{lost} lost in {len(records)} draws, worst correlation {worst:.2f}", by_margin(-float(lost))


def above(results: Results, *, peer: str) -> Found:
    """Every measure at every level, on the draws that both have."""
    gaps: dict[str, float] = {}
    for level in LEVELS:
        ours, theirs = shared_draws(draws(results, OURS, level), draws(results, peer, level))
        gaps |= {
            f"{field} of {kind} programs, {level}": mean(ours, kind, field) - mean(theirs, kind, field)
            for kind in KINDS
            for field in MEASURES
        }
    least = min(gaps, key=lambda name: gaps[name])
    n_above = sum(gap > 0 for gap in gaps.values())
    told = f"{n_above} of {len(gaps)} measures above; the least lead is {gaps[least]:+.3f} ({least})"
    return told, by_margin(gaps[least])


def shared_draws(ours: list[Record], theirs: list[Record]) -> tuple[list[Record], list[Record]]:
    """Both on the draws that both have."""
    seeds = {one["seed"] for one in ours} & {one["seed"] for one in theirs}
    return [one for one in ours if one["seed"] in seeds], [one for one in theirs if one["seed"] in seeds]


GOALS = (
    Goal("usages, medium: 0.985 / 0.94", partial(usages, level="medium", bounds=(0.985, 0.94))),
    Goal("usages, hard: 0.975 / 0.92", partial(usages, level="hard", bounds=(0.975, 0.92))),
    Goal("usages, faint: 0.96 / 0.86", partial(usages, level="faint", bounds=(0.96, 0.86))),
    Goal("no program is lost", none_lost),
    Goal("above cNMF at every level and in every measure", partial(above, peer="cnmf")),
    Goal("above scikit-learn at every level and in every measure", partial(above, peer="sklearn")),
)
