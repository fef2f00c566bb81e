"""The goals of several samples, and what was measured for each."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.goals import Found, Goal, by_margin
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results
from benchmarks.samples.job import DESIGNS

F1 = 0.95
MOST_CALLED = 0.055


def rate(results: Results, test: str, n_samples: int) -> float:
    """The share of programs called different over all permuted conditions."""
    found = results.measured(kind="nothing", n_samples=n_samples)
    weights = [record["n_permutations"] for record in found]
    return float(np.average([record["rates"][test] for record in found], weights=weights))


def found_again(results: Results) -> Found:
    """The mean F1 of shared programs, the least over designs."""
    means = {}
    for design in DESIGNS:
        found = results.measured(kind="shared", what=f"metaprograms, {design}")
        if found:
            means[design] = float(np.mean([one["f1"] for one in found]))
    if not means:
        raise Missing("not measured")
    told = ", ".join(f"{mean:.3f} ({design})" for design, mean in means.items())
    return told, by_margin(min(means.values()) - F1)


def never_merged(results: Results) -> Found:
    """Programs that are two planted ones at once."""
    found = [one for one in results.measured(kind="shared") if one["what"].startswith("metaprograms")]
    if not found:
        raise Missing("not measured")
    merged = sum(one["merged"] for one in found)
    return f"{merged} in {len(found)} draws", by_margin(0.0 - merged)


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
