"""What the suite set out to reach, and what was measured for it."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.harness.goals import Found, Goal, by_margin
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results
from benchmarks.panels.cells import SETS
from benchmarks.panels.peers import FREE, PEERS

SIZES = (50, 150)
COMMAND = "python -m benchmarks.panels"
OPEN = "not all measured"  # a goal about all sets is not met on some of them


def scores(results: Results, method: str, n_genes: int, field: str = "score") -> dict[str, float]:
    """By data set, where it was measured."""
    found = results.measured(method=method, n_genes=n_genes)
    return {record["data"]: record[field] for name in SETS for record in found if record["data"] == name}


def against(ours: str, theirs: str, n_genes: int, slack: float) -> Callable[[Results], Found]:
    """The mean margin over the sets that both were measured on."""

    def read(results: Results) -> Found:
        mine, its = scores(results, ours, n_genes), scores(results, theirs, n_genes)
        both = [name for name in mine if name in its]
        if not both:
            raise Missing(f"{PEERS[theirs].title} was not measured at {n_genes} genes")
        means = [sum(each[name] for name in both) / len(both) for each in (mine, its)]
        told = f"{means[0]:.3f} against {means[1]:.3f}, mean of {', '.join(both)}"
        return told, by_margin(means[0] - means[1] + slack) if len(both) == len(SETS) else OPEN

    return read


def best_free(n_genes: int) -> Callable[[Results], Found]:
    """The smallest margin over label-free peers, over all sets."""

    def read(results: Results) -> Found:
        mine = scores(results, "panel", n_genes)
        others = [name for name, peer in PEERS.items() if peer.group == FREE and name not in ("panel", "ssnmf")]
        margins = {
            (mine[data] - score, data, name)
            for name in others
            for data, score in scores(results, name, n_genes).items()
            if data in mine
        }
        if not margins:
            raise Missing(f"no label-free peer was measured at {n_genes} genes")
        margin, data, name = min(margins)
        wanted = len(others) * len(SETS)
        told = f"smallest margin {margin:+.3f} ({PEERS[name].title}, {data}), in {len(margins)} of {wanted}"
        return told, by_margin(margin) if len(margins) == wanted else OPEN

    return read


def faster(results: Results) -> Found:
    """Processor seconds of Spapros over ours, on the same cells."""
    mine, its = scores(results, "panel", 50, "cpu_seconds"), scores(results, "spapros", 50, "cpu_seconds")
    ratios = {name: its[name] / mine[name] for name in mine if name in its}
    if not ratios:
        raise Missing("Spapros was not measured")
    least = min(ratios.values())
    told = ", ".join(f"{name} {ratio:.0f} times" for name, ratio in ratios.items())
    return told, "met" if least >= 100 else f"missed by a factor of {100 / least:.1f}"


GOALS = [
    *(
        Goal(f"at {n} genes, without labels within 0.01 of Spapros", against("panel", "spapros", n, 0.01), COMMAND)
        for n in SIZES
    ),
    *(Goal(f"at {n} genes, above every label-free peer on every set", best_free(n), COMMAND) for n in SIZES),
    *(
        Goal(f"at {n} genes, with labels above Spapros", against("panel_labels", "spapros", n, 0.0), COMMAND)
        for n in SIZES
    ),
    Goal("100 times faster than Spapros (processor seconds, fit included)", faster, COMMAND),
]
