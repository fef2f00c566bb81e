"""The goals of quality, and what was measured for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter

import numpy as np

from benchmarks.harness.goals import Found, Goal, by_margin, needed
from benchmarks.harness.peers import Missing
from benchmarks.quality.data import GOAL_SETS
from benchmarks.quality.peers import PEERS, of_group
from benchmarks.quality.results import Results, mean_of

LEIDEN = "leiden_pca"
MANY_CELLS = 500
# What each goal asks for.
ARGMAX_NMI, GRAPH_NMI, BEHIND_LEIDEN, SPREAD, COST = 0.80, 0.84, 0.05, 0.02, 3.0
GENES_AT = 250
LABELS = {"argmax": "genesieve", "graph": "genesieve_graph"}
NOT_MEASURED = "not measured on every set"
value_of = itemgetter(1)


def mean_nmi(results: Results, *, method: str, bound: float) -> Found:
    """The mean over the sets reaches a bound."""
    value = needed(results.over_sets(GOAL_SETS, method), NOT_MEASURED)
    return f"{value:.3f}", by_margin(value - bound)


def above_peers(results: Results, *, method: str) -> Found:
    """The mean is above that of every peer; peers that could not run on every set are named."""
    ours = needed(results.over_sets(GOAL_SETS, method), NOT_MEASURED)
    means = {peer: results.over_sets(GOAL_SETS, peer) for peer in of_group("peer")}
    best, theirs = max(known(means), key=value_of)
    out = [PEERS[peer].title for peer, value in means.items() if value is None]
    text = f"{ours:.3f}; best peer {PEERS[best].title} {theirs:.3f}"
    return text + (f" (not on every set: {', '.join(out)})" if out else ""), by_margin(ours - theirs)


def near_leiden(results: Results, *, method: str) -> Found:
    """On no set far below Leiden."""
    gaps = of_means(results, method, LEIDEN, "nmi", lambda ours, leiden: ours - leiden)
    worst, gap = min(known(gaps, all_of_them=True), key=value_of)
    return f"largest lag: {worst}, {gap:+.3f}", by_margin(gap + BEHIND_LEIDEN)


def steady(results: Results, *, method: str) -> Found:
    """Seeds agree on every set of many cells."""
    needed(results.over_sets(GOAL_SETS, method), NOT_MEASURED)
    large = [data for data in GOAL_SETS if results.runs(data, method)[0]["shape"][0] > MANY_CELLS]
    spreads = {data: results.spread(data, method) for data in large}
    worst, spread = max(known(spreads, all_of_them=True), key=value_of)
    return f"largest: {worst}, {spread:.3f}", by_margin(SPREAD - spread)


def informative(results: Results, *, field: str) -> Found:
    """Our selected genes keep at least as much as variable ones, in the mean."""
    ours, theirs = (
        needed(mean_of([results.genes(data, selector, GENES_AT, field) for data in GOAL_SETS]), NOT_MEASURED)
        for selector in ("genes_genesieve", "genes_variable")
    )
    return f"{ours:.3f} against {theirs:.3f}", by_margin(ours - theirs)


def cost(results: Results) -> Found:
    """Seconds of the default fit as a multiple of a single start, by set."""
    ratios = of_means(results, "genesieve", "genesieve_single", "seconds", lambda fit, start: fit / start)
    found = known(ratios, all_of_them=True)
    worst, ratio = max(found, key=value_of)
    mean = np.mean([value for _, value in found])
    return f"mean {mean:.2f} times, largest {worst}, {ratio:.2f} times", by_margin(COST - ratio)


def of_means(
    results: Results, one: str, other: str, field: str, how: Callable[[float, float], float]
) -> dict[str, float | None]:
    """Two methods compared set by set, by their means over seeds."""
    pairs = {data: (results.mean(data, one, field), results.mean(data, other, field)) for data in GOAL_SETS}
    return {data: None if a is None or b is None else how(a, b) for data, (a, b) in pairs.items()}


def known(values: dict[str, float | None], *, all_of_them: bool = False) -> list[tuple[str, float]]:
    """What there is by name, if there is any, or if nothing is missing."""
    found = [(name, value) for name, value in values.items() if value is not None]
    if not found or (all_of_them and len(found) < len(values)):
        raise Missing(NOT_MEASURED)
    return found


def by_rule(goal: str, read: Callable[..., Found]) -> list[Goal]:
    """A goal for either rule of labelling cells."""
    return [Goal(goal.format(rule=rule), partial(read, method=method)) for rule, method in LABELS.items()]


GOALS = (
    Goal(
        f"mean NMI, argmax labels, at least {ARGMAX_NMI:.2f}", partial(mean_nmi, method="genesieve", bound=ARGMAX_NMI)
    ),
    Goal(
        f"mean NMI, graph labels, at least {GRAPH_NMI:.2f}",
        partial(mean_nmi, method="genesieve_graph", bound=GRAPH_NMI),
    ),
    *by_rule("{rule} labels above every peer in the mean", above_peers),
    *by_rule(f"{{rule}} labels nowhere below Leiden on PCA by more than {BEHIND_LEIDEN}", near_leiden),
    *by_rule(f"sd of NMI over seeds, {{rule}} labels, at most {SPREAD} above {MANY_CELLS} cells", steady),
    Goal(f"{GENES_AT} genes against as many variable genes: NMI of k-means", partial(informative, field="nmi")),
    Goal(
        f"{GENES_AT} genes against as many variable genes: balanced accuracy",
        partial(informative, field="balanced_accuracy"),
    ),
    Goal(f"a default fit costs at most {COST:g} times a single start", cost),
)
