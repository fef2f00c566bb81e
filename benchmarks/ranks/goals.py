"""The goals of the sweep; each row reads the worst of its cases."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from benchmarks.harness.goals import Found, Goal, needed, verdict
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results
from benchmarks.ranks.data import MATRICES, RANKS
from benchmarks.ranks.results import all_reached, median, runs

SPARSE = tuple(name for name, matrix in MATRICES.items() if matrix.sparse)


def faster(results: Results, bound: float, data: Iterable[str], ranks: tuple[int, ...]) -> Found:
    """The least lead of our time to the objective of rivals, or to within a tenth of a per cent where minima differ."""
    leads = {
        f"{name}, rank {rank}, {each.title}": (each.faster, each.faster_to_close)
        for name in data
        for rank in ranks
        for each in all_reached(results, name, (rank,))
    }
    if not leads:
        raise Missing("not measured")
    behind = [f"{case} {_lead(*lead)}" for case, lead in leads.items() if lead[0] < bound]
    least = min(lead for lead, _ in leads.values())
    told = f"{len(leads) - len(behind)} of {len(leads)} cases"
    return f"{told}{'; not: ' if behind else ''}{', '.join(behind)}", verdict(least, bound, at_least=True)


def _lead(lead: float, to_close: float) -> str:
    return f"{lead:.1f}x" if lead else f"never (to within 0.1%: {to_close:.1f}x)"


def growth(results: Results, bound: float) -> Found:
    """Whole fits at rank 64 over those at 16."""
    ratios = {}
    for name in MATRICES:
        few, many = (median(runs(results, name, "genesieve", rank), "time") for rank in (16, 64))
        if few and many:
            ratios[name] = many / few
    worst = max(needed(ratios or None).values())
    return ", ".join(f"{name} {ratio:.1f}x" for name, ratio in ratios.items()), verdict(worst, bound, at_least=False)


def budget(results: Results, bound: float) -> Found:
    """Default fits with a budget over plain ones, on the first matrix."""
    ratios = {}
    for rank in RANKS:
        plain, chosen = (median(runs(results, "atlas-5k", peer, rank), "time") for peer in ("genesieve", "budget"))
        if plain and chosen:
            ratios[rank] = chosen / plain
    worst = max(needed(ratios or None).values())
    return ", ".join(f"rank {rank} {ratio:.1f}x" for rank, ratio in ratios.items()), verdict(
        worst, bound, at_least=False
    )


def lead(goal: str, bound: float, data: Iterable[str], ranks: tuple[int, ...]) -> Goal:
    return Goal(goal, partial(faster, bound=bound, data=tuple(data), ranks=ranks))


GOALS = (
    lead("to a peer's objective after 60 iterations never slower than the peer", 1.0, MATRICES, RANKS),
    lead("on sparse data up to rank 32 at least 5 times faster", 5.0, SPARSE, RANKS[:3]),
    lead("on sparse data at rank 128 at least 2 times faster", 2.0, SPARSE, RANKS[-1:]),
    Goal("a whole fit grows by at most 8 times from rank 16 to 64", partial(growth, bound=8.0)),
    Goal("a default fit with a budget takes at most 2.5 times a plain one", partial(budget, bound=2.5)),
)
