"""The goals of quality, and what was measured for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.quality import peers
from benchmarks.quality.data import GOAL_SETS
from benchmarks.quality.results import Results, mean_of

OURS = ("genesieve", "genesieve_graph")
LEIDEN = "leiden_pca"
MANY_CELLS = 500
# What each goal asks for.
ARGMAX_NMI, GRAPH_NMI, BEHIND_LEIDEN, SPREAD, COST = 0.80, 0.84, 0.05, 0.02, 3.0
GENES_AT = 250


@dataclass(frozen=True)
class Row:
    """One goal and how it went."""

    goal: str
    measured: str
    verdict: str


@dataclass(frozen=True)
class Goal:
    """A goal: how to read it from the results, as a text and a margin that is not negative where it is met."""

    goal: str
    read: Callable[[Results], tuple[str, float] | None]

    def row(self, results: Results) -> Row:
        """What was measured, or that it was not."""
        found = self.read(results)
        if found is None:
            return Row(self.goal, "not measured on every set", "-")
        text, margin = found
        return Row(self.goal, text, "met" if margin >= 0 else f"missed by {-margin:.3f}")


def rows(results: Results) -> list[Row]:
    """All goals, in order."""
    return [goal.row(results) for goal in GOALS]


def mean_nmi(method: str, bound: float) -> Callable[[Results], tuple[str, float] | None]:
    """The mean over the sets reaches a bound."""

    def read(results: Results) -> tuple[str, float] | None:
        value = results.over_sets(GOAL_SETS, method)
        return None if value is None else (f"{value:.3f}", value - bound)

    return read


def above_peers(method: str) -> Callable[[Results], tuple[str, float] | None]:
    """The mean is above that of every peer; peers that could not run on every set are named."""

    def read(results: Results) -> tuple[str, float] | None:
        ours = results.over_sets(GOAL_SETS, method)
        means = {peer: results.over_sets(GOAL_SETS, peer) for peer in peers.of_group("peer")}
        known = {peer: value for peer, value in means.items() if value is not None}
        if ours is None or not known:
            return None
        best = max(known, key=lambda peer: known[peer])
        out = [peers.get(peer).TITLE for peer in means if peer not in known]
        text = f"{ours:.3f}; best peer {peers.get(best).TITLE} {known[best]:.3f}"
        return text + (f" (not on every set: {', '.join(out)})" if out else ""), ours - known[best]

    return read


def near_leiden(method: str) -> Callable[[Results], tuple[str, float] | None]:
    """On no set far below Leiden."""

    def read(results: Results) -> tuple[str, float] | None:
        pairs = {data: (results.mean(data, method), results.mean(data, LEIDEN)) for data in GOAL_SETS}
        gaps = {
            data: ours - leiden for data, (ours, leiden) in pairs.items() if ours is not None and leiden is not None
        }
        if len(gaps) < len(GOAL_SETS):
            return None
        worst = min(gaps, key=lambda data: gaps[data])
        return f"largest lag: {worst}, {gaps[worst]:+.3f}", gaps[worst] + BEHIND_LEIDEN

    return read


def steady(method: str) -> Callable[[Results], tuple[str, float] | None]:
    """Seeds agree on every set of many cells."""

    def read(results: Results) -> tuple[str, float] | None:
        large = [data for data in GOAL_SETS if is_large(results, data, method)]
        spreads = {data: results.spread(data, method) for data in large}
        known = {data: value for data, value in spreads.items() if value is not None}
        if not known or len(known) < len(spreads) or results.over_sets(GOAL_SETS, method) is None:
            return None
        worst = max(known, key=lambda data: known[data])
        return f"largest: {worst}, {known[worst]:.3f}", SPREAD - known[worst]

    return read


def is_large(results: Results, data: str, method: str) -> bool:
    """Whether a set has more cells than the goal's bound."""
    return any(record["shape"][0] > MANY_CELLS for record in results.runs(data, method))


def informative(field: str) -> Callable[[Results], tuple[str, float] | None]:
    """Our selected genes keep at least as much as variable ones, in the mean."""

    def read(results: Results) -> tuple[str, float] | None:
        ours, theirs = (
            mean_of([results.genes(data, selector, GENES_AT, field) for data in GOAL_SETS])
            for selector in ("genes_genesieve", "genes_variable")
        )
        return None if ours is None or theirs is None else (f"{ours:.3f} against {theirs:.3f}", ours - theirs)

    return read


def cost(results: Results) -> tuple[str, float] | None:
    """Seconds of the default fit as a multiple of a single start, by set."""
    pairs = {
        data: (results.mean(data, "genesieve", "seconds"), results.mean(data, "genesieve_single", "seconds"))
        for data in GOAL_SETS
    }
    ratios = {data: fit / start for data, (fit, start) in pairs.items() if fit is not None and start}
    if len(ratios) < len(GOAL_SETS):
        return None
    worst = max(ratios, key=lambda data: ratios[data])
    text = f"mean {np.mean(list(ratios.values())):.2f} times, largest {worst}, {ratios[worst]:.2f} times"
    return text, COST - ratios[worst]


GOALS = (
    Goal(f"mean NMI, argmax labels, at least {ARGMAX_NMI:.2f}", mean_nmi("genesieve", ARGMAX_NMI)),
    Goal(f"mean NMI, graph labels, at least {GRAPH_NMI:.2f}", mean_nmi("genesieve_graph", GRAPH_NMI)),
    Goal("argmax labels above every peer in the mean", above_peers("genesieve")),
    Goal("graph labels above every peer in the mean", above_peers("genesieve_graph")),
    Goal(f"argmax labels nowhere below Leiden on PCA by more than {BEHIND_LEIDEN}", near_leiden("genesieve")),
    Goal(f"graph labels nowhere below Leiden on PCA by more than {BEHIND_LEIDEN}", near_leiden("genesieve_graph")),
    Goal(f"sd of NMI over seeds, argmax labels, at most {SPREAD} above {MANY_CELLS} cells", steady("genesieve")),
    Goal(f"sd of NMI over seeds, graph labels, at most {SPREAD} above {MANY_CELLS} cells", steady("genesieve_graph")),
    Goal(f"{GENES_AT} genes against as many variable genes: NMI of k-means", informative("nmi")),
    Goal(f"{GENES_AT} genes against as many variable genes: balanced accuracy", informative("balanced_accuracy")),
    Goal(f"a default fit costs at most {COST:g} times a single start", cost),
)
