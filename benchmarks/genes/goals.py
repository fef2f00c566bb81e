"""The goals of gene scores, and what was measured for each."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.genes.planted import KINDS, LEVELS
from benchmarks.genes.terms import SHARED_BY_ALL
from benchmarks.harness.goals import Found, Goal, by_margin
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results

SETTINGS = ("planted", "cnmf")
TOLERANCE = 1.5  # the promised rate holds within this factor


def mean(results: Results, level: str, score: str, kind: str, field: str, setting: str = "planted") -> float:
    """Over the seeds of a level, in our setting or in that of cNMF's paper."""
    found = [record["scores"][score][kind] for record in results.measured(kind=setting, what=level)]
    if not found:
        raise Missing("not measured")
    return float(np.mean([one[field] for one in found]))


def precision(results: Results, *, level: str, bounds: tuple[float, float]) -> Found:
    """Average precision of both kinds of programs, among the genes that are often seen."""
    values = [mean(results, level, "regression", kind, "precision_often") for kind in KINDS]
    return " / ".join(f"{value:.3f}" for value in values), by_margin(float(np.min(np.subtract(values, bounds))))


def honest(results: Results, *, rate: float) -> Found:
    """No level has more false discoveries than promised, of either kind and in either setting."""
    field = f"false_{rate:g}"
    worst = [
        max(mean(results, level, "regression", kind, field, setting) for level in LEVELS[:3] for setting in SETTINGS)
        for kind in KINDS
    ]
    return f"at most {worst[0]:.3f} / {worst[1]:.3f}", by_margin(TOLERANCE * rate - max(worst))


def sensitive(results: Results, *, bound: float) -> Found:
    """In the setting of cNMF's paper more raised genes are found than there, over all programs."""
    found = [record["scores"]["regression"] for record in results.measured(kind="cnmf")]
    if not found:
        raise Missing("not measured")
    values = [float(np.mean([one[kind]["sensitivity_0.05"] for one in found])) for kind in KINDS]
    return " / ".join(f"{value:.3f}" for value in values), by_margin(values[0] - bound)


def about_types(results: Results) -> Found:
    """Most programs of real data are led by a set that not all cells share."""
    told = {}
    for name in ("before", "after"):
        leads = [program[name][:1] for record in results.measured(kind="real") for program in record["programs"]]
        told[name] = np.mean([bool(lead) and lead[0] not in SHARED_BY_ALL for lead in leads]) if leads else 0.0
    if not told["after"]:
        raise Missing("not measured")
    return f"{told['after']:.0%} of the programs, {told['before']:.0%} before", by_margin(float(told["after"]) - 0.5)


GOALS = (
    Goal("average precision, easy: 0.90 / 0.87", partial(precision, level="easy", bounds=(0.90, 0.87))),
    Goal("average precision, medium: 0.87 / 0.76", partial(precision, level="medium", bounds=(0.87, 0.76))),
    Goal("of a promised 5 %, at most 7.5 % are false", partial(honest, rate=0.05)),
    Goal("of a promised 10 %, at most 15 % are false", partial(honest, rate=0.1)),
    Goal("at 5 %, more than the 61 % of cNMF's paper are found in its own setting", partial(sensitive, bound=0.61)),
    Goal("most programs of real data are led by a set that not all cells share", about_types),
)
