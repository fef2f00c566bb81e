"""The goals of quality, and what was measured for each."""

from __future__ import annotations

from collections.abc import Callable

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

Read = Callable[[Results], Found]


def mean_nmi(method: str, bound: float) -> Read:
    """The mean over the sets reaches a bound."""

    def read(results: Results) -> Found:
        value = needed(results.over_sets(GOAL_SETS, method), NOT_MEASURED)
        return f"{value:.3f}", by_margin(value - bound)

    return read


def above_peers(method: str) -> Read:
    """The mean is above that of every peer; peers that could not run on every set are named."""

    def read(results: Results) -> Found:
        ours = needed(results.over_sets(GOAL_SETS, method), NOT_MEASURED)
        means = {peer: results.over_sets(GOAL_SETS, peer) for peer in of_group("peer")}
        best, theirs = max(known(means), key=lambda pair: pair[1])
        out = [PEERS[peer].title for peer, value in means.items() if value is None]
        text = f"{ours:.3f}; best peer {PEERS[best].title} {theirs:.3f}"
        return text + (f" (not on every set: {', '.join(out)})" if out else ""), by_margin(ours - theirs)

    return read


def known(values: dict[str, float | None], *, all_of_them: bool = False) -> list[tuple[str, float]]:
    """What there is by name, if there is any, or if nothing is missing."""
    found = [(name, value) for name, value in values.items() if value is not None]
    if not found or (all_of_them and len(found) < len(values)):
        raise Missing(NOT_MEASURED)
    return found


def of_means(
    results: Results, one: str, other: str, field: str, how: Callable[[float, float], float]
) -> dict[str, float | None]:
    """Two methods compared set by set, by their means over seeds."""
    pairs = {data: (results.mean(data, one, field), results.mean(data, other, field)) for data in GOAL_SETS}
    return {data: None if a is None or b is None else how(a, b) for data, (a, b) in pairs.items()}


def near_leiden(method: str) -> Read:
    """On no set far below Leiden."""

    def read(results: Results) -> Found:
        gaps = of_means(results, method, LEIDEN, "nmi", lambda ours, leiden: ours - leiden)
        worst, gap = min(known(gaps, all_of_them=True), key=lambda pair: pair[1])
        return f"largest lag: {worst}, {gap:+.3f}", by_margin(gap + BEHIND_LEIDEN)

    return read


def steady(method: str) -> Read:
    """Seeds agree on every set of many cells."""

    def read(results: Results) -> Found:
        needed(results.over_sets(GOAL_SETS, method), NOT_MEASURED)
        large = [data for data in GOAL_SETS if results.runs(data, method)[0]["shape"][0] > MANY_CELLS]
        spreads = {data: results.spread(data, method) for data in large}
        worst, spread = max(known(spreads, all_of_them=True), key=lambda pair: pair[1])
        return f"largest: {worst}, {spread:.3f}", by_margin(SPREAD - spread)

    return read


def informative(field: str) -> Read:
    """Our selected genes keep at least as much as variable ones, in the mean."""

    def read(results: Results) -> Found:
        ours, theirs = (
            needed(mean_of([results.genes(data, selector, GENES_AT, field) for data in GOAL_SETS]), NOT_MEASURED)
            for selector in ("genes_genesieve", "genes_variable")
        )
        return f"{ours:.3f} against {theirs:.3f}", by_margin(ours - theirs)

    return read


def cost(results: Results) -> Found:
    """Seconds of the default fit as a multiple of a single start, by set."""
    ratios = of_means(results, "genesieve", "genesieve_single", "seconds", lambda fit, start: fit / start)
    found = known(ratios, all_of_them=True)
    worst, ratio = max(found, key=lambda pair: pair[1])
    mean = np.mean([value for _, value in found])
    return f"mean {mean:.2f} times, largest {worst}, {ratio:.2f} times", by_margin(COST - ratio)


GOALS = (
    Goal(f"mean NMI, argmax labels, at least {ARGMAX_NMI:.2f}", mean_nmi("genesieve", ARGMAX_NMI)),
    Goal(f"mean NMI, graph labels, at least {GRAPH_NMI:.2f}", mean_nmi("genesieve_graph", GRAPH_NMI)),
    *(Goal(f"{rule} labels above every peer in the mean", above_peers(method)) for rule, method in LABELS.items()),
    *(
        Goal(f"{rule} labels nowhere below Leiden on PCA by more than {BEHIND_LEIDEN}", near_leiden(method))
        for rule, method in LABELS.items()
    ),
    *(
        Goal(f"sd of NMI over seeds, {rule} labels, at most {SPREAD} above {MANY_CELLS} cells", steady(method))
        for rule, method in LABELS.items()
    ),
    Goal(f"{GENES_AT} genes against as many variable genes: NMI of k-means", informative("nmi")),
    Goal(f"{GENES_AT} genes against as many variable genes: balanced accuracy", informative("balanced_accuracy")),
    Goal(f"a default fit costs at most {COST:g} times a single start", cost),
)
