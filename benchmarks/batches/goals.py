"""The goals, and what was measured for them."""

from __future__ import annotations

from statistics import mean

from benchmarks.harness.goals import Found, Goal
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results

GOAL_LEVEL, GOAL_EFFECT = "medium", 0.3
MOST_LOST, MOST_AREA, MOST_GENES, LEAST_NMI, TENTH, MOST_COST = 0.02, 0.55, 0.02, 0.70, 0.1, 1.5


def planted_mean(results: Results, level: str, effect: float, how: str, field: str) -> float:
    """Over the seeds."""
    found = results.measured(kind="planted", what=level, effect=effect)
    if not found:
        raise Missing("not measured")
    return mean(record[how][field] for record in found)


def kang_mean(results: Results, how: str, field: str) -> float:
    """Over the seeds."""
    found = results.measured(kind="kang", what=how)
    if not found:
        raise Missing(f"{how} not measured")
    return mean(record[field] for record in found)


def verdict(met: bool) -> str:
    return "met" if met else "missed"


def usages(results: Results) -> Found:
    free, known = (planted_mean(results, GOAL_LEVEL, GOAL_EFFECT, how, "correlation") for how in ("free", "known"))
    return f"{known:.3f}, without effects {free:.3f}", verdict(known >= free - MOST_LOST)


def area(results: Results) -> Found:
    found = planted_mean(results, GOAL_LEVEL, GOAL_EFFECT, "known", "area")
    return f"{found:.3f}", verdict(found <= MOST_AREA)


def genes(results: Results) -> Found:
    free, known = (planted_mean(results, GOAL_LEVEL, GOAL_EFFECT, how, "planted") for how in ("free", "known"))
    return f"{known:.3f} planted, without effects {free:.3f}", verdict(known >= free * (1 - MOST_GENES))


def types(results: Results) -> Found:
    found = {how: kang_mean(results, how, "cell_type") for how in ("known", "ignored")}
    of_seeds = [record["cell_type"] for record in results.measured(kind="kang", what="known")]
    said = f"{found['known']:.3f} ({min(of_seeds):.3f} to {max(of_seeds):.3f}, {len(of_seeds)} seeds)"
    return f"{said}; condition not named {found['ignored']:.3f}", verdict(found["known"] >= LEAST_NMI)


def against_harmony(results: Results) -> Found:
    ours, theirs = (kang_mean(results, how, "cell_type") for how in ("known", "harmony"))
    ratio = kang_mean(results, "known", "cpu") / kang_mean(results, "harmony", "cpu")
    return f"{ours:.3f} against {theirs:.3f} at {ratio:.2f} of the CPU time", verdict(ours > theirs and ratio <= TENTH)


def cost(results: Results) -> Found:
    ratio = kang_mean(results, "known", "cpu") / kang_mean(results, "ignored", "cpu")
    return f"{ratio:.2f} of the CPU time on Kang, from counts to labels", verdict(ratio <= MOST_COST)


GOALS = [
    Goal(f"usages correlate with the true ones as without effects, less {MOST_LOST}", usages),
    Goal(f"batch told from usages within a type: area at most {MOST_AREA}", area),
    Goal("selected genes planted, to within 2 % of the fit without effects", genes),
    Goal(f"Kang: types by NMI at least {LEAST_NMI:.2f} with the condition as batch", types),
    Goal("Kang: better than scanpy, Harmony and Leiden at a tenth of the time", against_harmony),
    Goal(f"at most {MOST_COST} times the time of a fit without batches", cost),
]
