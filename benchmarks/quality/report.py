"""The places of docs/quality.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.harness.report import NONE, goal_table, highest_load, number, picture, table, versions
from benchmarks.harness.results import Results as AnyResults
from benchmarks.quality import data, goals, plots
from benchmarks.quality.data import GOAL_SETS, SETS
from benchmarks.quality.genes import COUNTS, SELECTORS
from benchmarks.quality.peers import PEERS, of_group
from benchmarks.quality.results import Results, mean_of

METHODS = ("genesieve", "peer")
SCORES = {"nmi": "NMI", "ari": "ARI", "purity": "purity", "entropy": "entropy (0 is pure)"}


def fill(found: AnyResults, images: Path) -> dict[str, str]:
    """The text of every place; the pictures are drawn."""
    results = Results(found.records)
    drawn = plots.draw_all(results, images)
    pictures = {name: picture(name) if name in drawn else "" for name in (plots.DOTS, plots.GENES)}
    return {
        "versions": f"{versions(results)} Highest load average at the start of a run: {highest_load(results):.1f}.",
        "goals": goal_table([goal.row(results) for goal in goals.GOALS]),
        "means": mean_table(results) + not_measured(results) + pictures[plots.DOTS],
        **{field: by_set(results, partial(results.mean, field=field), 3) for field in SCORES},
        "seconds": by_set(results, partial(results.mean, field="seconds"), 2),
        "spread": by_set(results, results.spread, 3),
        "stability": by_set(results, results.stability, 3),
        "seeds": by_set(results, lambda one, name: len(results.runs(one, name)) or None, 0),
        "clusters": clusters_table(results),
        "genes": genes_section(results) + pictures[plots.GENES],
        "sets": sets_table(results) + "\n" + choice(),
    }


def ranked(results: Results) -> list[str]:
    """Methods that ran anywhere, by their mean NMI."""
    ran = [name for name in of_group(*METHODS) if any(results.runs(one, name) for one in SETS)]
    return sorted(ran, key=lambda name: -(results.over_sets(GOAL_SETS, name) or 0.0))


def mean_table(results: Results) -> str:
    """Every score in the mean of the sets."""
    head = ["method", *SCORES.values(), "stability", "seconds"]
    body = [
        [
            PEERS[name].title,
            *(number(results.over_sets(GOAL_SETS, name, field), 3) for field in SCORES),
            number(mean_of([results.stability(one, name) for one in GOAL_SETS]), 3),
            number(results.over_sets(GOAL_SETS, name, "seconds"), 2),
        ]
        for name in ranked(results)
    ]
    return table(head, body)


def not_measured(results: Results) -> str:
    """Methods with a reason for a missing measurement."""
    reasons = {name: results.why_not(name) for name in of_group(*METHODS)}
    told = [f"* {PEERS[name].title}: {reason}" for name, reason in reasons.items() if reason]
    return "\nNot measured:\n\n" + "\n".join(told) + "\n" if told else ""


def by_set(results: Results, value: Callable[[str, str], float | None], digits: int) -> str:
    """A table of methods x sets."""
    body = [[PEERS[name].title, *(number(value(one, name), digits) for one in SETS)] for name in ranked(results)]
    return table(["method", *SETS], body)


def clusters_table(results: Results) -> str:
    """Mean number of clusters, and how many classes there are."""

    def cell(one: str, name: str) -> str:
        runs = results.runs(one, name)
        return f"{results.mean(one, name, 'n_clusters'):.1f} of {runs[0]['n_classes']}" if runs else NONE

    body = [[PEERS[name].title, *(cell(one, name) for one in SETS)] for name in ranked(results)]
    return table(["method", *SETS], body)


def genes_section(results: Results) -> str:
    """What k genes keep, in the mean and at the goal's count set by set."""
    text = ""
    for field, title in {"nmi": "NMI of k-means", "balanced_accuracy": "Balanced accuracy"}.items():
        head = ["genes from", *(f"k = {k} ({len(results.genes_sets(k))} sets)" for k in COUNTS)]
        body = [
            [selector.title, *(number(results.genes_over_sets(name, k, field), 3) for k in COUNTS)]
            for name, selector in SELECTORS.items()
        ]
        at_goal = [
            [selector.title, *(number(results.genes(one, name, goals.GENES_AT, field), 3) for one in SETS)]
            for name, selector in SELECTORS.items()
        ]
        text += f"### {title}\n\n{table(head, body)}\nAt k = {goals.GENES_AT}, set by set:\n\n"
        text += table(["genes from", *SETS], at_goal) + "\n"
    return text


def sets_table(results: Results) -> str:
    """The sets, and which of them defaults were chosen on."""
    head = ["name", "data set", "in the goals", "prepared, cells x genes", "defaults"]
    body = [
        [name, data_set.title, "yes" if name in GOAL_SETS else "no", shape(results, name), data.role(name)]
        for name, data_set in SETS.items()
    ]
    return table(head, body)


def shape(results: Results, name: str) -> str:
    """Cells x genes as methods got them."""
    found = [record["shape"] for record in results.records.values() if record["data"] == name and "shape" in record]
    return " x ".join(f"{size:,}" for size in found[0]) if found else NONE


def choice() -> str:
    """Where defaults come from."""
    if data.CHOSEN_ON is None:
        return (
            "**It is not declared yet which sets genesieve's defaults were chosen on** (`CHOSEN_ON` in"
            " `benchmarks/quality/data.py`); until then no set counts as a confirmation.\n"
        )
    chosen = ", ".join(name for name in SETS if name in data.CHOSEN_ON)
    return f"genesieve's defaults were chosen on {chosen or 'none of them'}; the other sets confirm them.\n"
