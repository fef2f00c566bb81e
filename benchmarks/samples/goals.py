"""The goals of several samples, and what was measured for each."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.goals import Found, Goal, by_margin
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results
from benchmarks.samples.job import DESIGNS

F1 = 0.95
CONFIRMED = 5  # how programs are compared was chosen on draws with lower seeds
MOST_CALLED = 0.055


def rate(results: Results, test: str, n_samples: int) -> float:
    """The share of programs called different over all permuted conditions."""
    found = results.measured(kind="nothing", n_samples=n_samples)
    weights = [record["n_permutations"] for record in found]
    return float(np.average([record["rates"][test] for record in found], weights=weights))


def found_again(results: Results) -> Found:
    """The mean F1 of shared programs, the least over designs."""
    means, told = {}, []
    for design in DESIGNS:
        draws = results.measured(kind="shared", what=f"metaprograms, {design}")
        if draws:
            values = [one["f1"] for one in draws]
            means[design] = float(np.mean(values))
            told.append(f"{means[design]:.3f} ({design}; the lowest of {len(draws)} draws {min(values):.3f})")
    if not means:
        raise Missing("not measured")
    return ", ".join(told), by_margin(min(means.values()) - F1)


def never_merged(results: Results) -> Found:
    """Programs that are two planted ones at once."""
    draws = [one for one in results.measured(kind="shared") if one["what"].startswith("metaprograms")]
    if not draws:
        raise Missing("not measured")
    merged, fresh = sum(one["merged"] for one in draws), [one for one in draws if one["seed"] >= CONFIRMED]
    told = f"{merged} in {len(draws)} draws"
    if fresh:
        told += f", {sum(one['merged'] for one in fresh)} in the {len(fresh)} that nothing was chosen on"
    return told, by_margin(0.0 - merged)


def honest(results: Results) -> Found:
    """False positives of the default test, the most over numbers of samples."""
    sizes = sorted({record["n_samples"] for record in results.measured(kind="nothing")})
    if not sizes:
        raise Missing("not measured")
    rates = {size: rate(results, "auto", size) for size in sizes}
    told = ", ".join(f"{each:.1%} ({size} samples)" for size, each in rates.items())
    return told, by_margin(MOST_CALLED - max(rates.values()))


GOALS = (
    Goal("F1 of shared programs at least 0.95", found_again),
    Goal("no false merges", never_merged),
    Goal("at 5 %, permuted conditions give at most 5.5 % false positives over 1,000 permutations", honest),
)
