"""docs/quality.md, written from the records alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.quality import data, goals, peers
from benchmarks.quality.genes import COUNTS, SELECTORS
from benchmarks.quality.plots import DOTS, GENES, draw_all
from benchmarks.quality.results import Results, mean_of
from benchmarks.report import table

INTRO = """# Quality

Written by `python -m benchmarks.quality` from the measurements; do not edit.

How well clusters agree with known cell types, and how much of the types the selected genes keep, on labelled data
against peers. Every method gets the same prepared cells (`gs.pp.prepare`: counts to one depth, logarithm, genes seen in
at least 30% of the cells for full-length data and 5% for the rest), the true number of classes unless its name says
otherwise, one thread of BLAS and OpenMP, and a budget of 2,000 genes (all, where a set has fewer) if it takes one; it
never sees the labels. Settings are the same on all sets. NMI is the geometric one. The mean is over the eight sets of
the goals, of the mean over seeds; a method without a measurement on each of them has no mean.
"""

COMMANDS = """## Commands

```sh
python -m benchmarks.quality                                # what has no record yet, then this page
python -m benchmarks.quality --fresh --only genesieve       # one method anew
python -m benchmarks.quality --data pollen yan --seeds 2    # some sets, fewer seeds
python -m benchmarks.quality --report                       # this page from the records
```

Records are kept in `benchmarks/results/quality/`, one JSON a data set, method and seed. The data are read from
`../shared/data` beside the project and skipped where they are absent. cNMF runs in the Python that
`GENESIEVE_CNMF_PYTHON` names.
"""

NONE = "-"
METHODS = ("genesieve", "peer")


def write(results: Results, document: Path, images: Path) -> None:
    """Write the page and its pictures."""
    drawn = draw_all(results, images)
    folder = images.relative_to(document.parent)
    parts = [
        INTRO,
        versions(results),
        goal_section(results),
        mean_section(results) + picture(folder, DOTS, drawn),
        set_section(results),
        seed_section(results),
        genes_section(results) + picture(folder, GENES, drawn),
        data_section(results),
        COMMANDS,
    ]
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text("\n".join(parts))


def picture(folder: Path, name: str, drawn: list[str]) -> str:
    """A picture, if it was drawn."""
    return f"\n![{name.removesuffix('.png')}]({folder / name})\n" if name in drawn else ""


def number(value: float | None, digits: int = 3) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def versions(results: Results) -> str:
    """What ran, and how busy the machine was."""
    found: dict[str, str] = {}
    for record in results.records:
        found |= record.get("versions", {})
    told = ", ".join(f"{name} {version}" for name, version in found.items())
    load = max((record["load"] for record in results.records), default=0.0)
    return f"Versions: {told}. Highest load average at the end of a run: {load:.1f}.\n"


def goal_section(results: Results) -> str:
    """The goals, row by row."""
    body = [[row.goal, row.measured, row.verdict] for row in goals.rows(results)]
    return "## Goals\n\n" + table(["goal", "measured", "met?"], body)


def ranked(results: Results) -> list[str]:
    """Methods that ran anywhere, by their mean NMI."""
    ran = [name for name in peers.of_group(*METHODS) if any(results.runs(data_set, name) for data_set in data.DATA)]
    return sorted(ran, key=lambda name: -(results.over_sets(data.GOAL_SETS, name) or 0.0))


def mean_section(results: Results) -> str:
    """Every score in the mean of the sets, and who could not run."""
    fields = {"nmi": "NMI", "ari": "ARI", "purity": "purity", "entropy": "entropy (0 is pure)"}
    head = ["method", *fields.values(), "stability", "seconds"]
    body = [
        [
            peers.get(name).TITLE,
            *(number(results.over_sets(data.GOAL_SETS, name, field)) for field in fields),
            number(mean_of([results.stability(data_set, name) for data_set in data.GOAL_SETS])),
            number(results.over_sets(data.GOAL_SETS, name, "seconds"), 2),
        ]
        for name in ranked(results)
    ]
    text = "## Mean over the sets of the goals\n\nStability is the adjusted Rand index between seeds.\n\n"
    return text + table(head, body) + not_measured(results)


def not_measured(results: Results) -> str:
    """Methods with a reason for a missing measurement."""
    reasons = {name: results.why_not(name) for name in peers.of_group(*METHODS)}
    told = [f"* {peers.get(name).TITLE}: {reason}" for name, reason in reasons.items() if reason]
    return "\nNot measured:\n\n" + "\n".join(told) + "\n" if told else ""


def set_section(results: Results) -> str:
    """NMI, ARI, purity, entropy, clusters found and seconds, set by set."""
    fields = {"nmi": 3, "ari": 3, "purity": 3, "entropy": 3, "seconds": 2}
    names = {"nmi": "NMI", "ari": "ARI", "seconds": "Seconds"}
    tables = [
        f"### {names.get(field, field.capitalize())}\n\n" + by_set(results, partial(mean_text, results, field, digits))
        for field, digits in fields.items()
    ]
    return "## Set by set\n\nMeans over seeds.\n\n" + "\n".join(tables)


def mean_text(results: Results, field: str, digits: int, one: str, method: str) -> str:
    """A mean over seeds, ready for a table."""
    return number(results.mean(one, method, field), digits)


def by_set(results: Results, cell: Callable[[str, str], str]) -> str:
    """A table of methods x sets."""
    body = [[peers.get(name).TITLE, *(cell(one, name) for one in data.DATA)] for name in ranked(results)]
    return table(["method", *data.DATA], body)


def seed_section(results: Results) -> str:
    """What changes with the seed, how many ran, and how many clusters came out."""
    spread = by_set(results, lambda one, name: number(results.spread(one, name)))
    agree = by_set(results, lambda one, name: number(results.stability(one, name)))
    count = by_set(results, lambda one, name: str(len(results.runs(one, name)) or NONE))
    found = by_set(results, partial(clusters_text, results))
    return (
        f"## Seeds and clusters\n\n### Standard deviation of NMI over seeds\n\n{spread}\n"
        f"### Stability: adjusted Rand index between seeds\n\n{agree}\n### Seeds measured\n\n{count}\n"
        f"### Clusters found, of classes\n\nA method may leave clusters empty; Leiden has no resolution for fewer"
        f" clusters than its graph has pieces, and the nearest number stands.\n\n{found}"
    )


def clusters_text(results: Results, one: str, method: str) -> str:
    """Mean number of clusters, and how many classes there are."""
    runs = results.runs(one, method)
    return f"{results.mean(one, method, 'n_clusters'):.1f} of {runs[0]['n_classes']}" if runs else NONE


def genes_section(results: Results) -> str:
    """What k genes keep, in the mean and at the goal's count set by set."""
    text = (
        "## Selected genes\n\nWhat k genes keep of the classes: NMI of k-means in 30 principal components of them (mean"
        " of single starts), and balanced accuracy of the nearest centroid on them, cross-validated. Means over the"
        " sets of the goals that have more than k genes.\n\n"
    )
    for field, title in {"nmi": "NMI of k-means", "balanced_accuracy": "Balanced accuracy"}.items():
        head = ["genes from", *(f"k = {k} ({len(results.genes_sets(k))} sets)" for k in COUNTS)]
        body = [
            [selector.title, *(number(results.genes_over_sets(name, k, field)) for k in COUNTS)]
            for name, selector in SELECTORS.items()
        ]
        at_goal = [
            [selector.title, *(number(results.genes(one, name, goals.GENES_AT, field)) for one in data.DATA)]
            for name, selector in SELECTORS.items()
        ]
        text += f"### {title}\n\n{table(head, body)}\nAt k = {goals.GENES_AT}, set by set:\n\n"
        text += table(["genes from", *data.DATA], at_goal) + "\n"
    return text


def data_section(results: Results) -> str:
    """The sets, and which of them defaults were chosen on."""
    body = [
        [name, data_set.title, "yes" if data_set.in_goals else "no", shape(results, name), data.role(name)]
        for name, data_set in data.DATA.items()
    ]
    head = ["name", "data set", "in the goals", "prepared, cells x genes", "defaults"]
    return f"## Data sets\n\n{table(head, body)}\n{choice()}"


def shape(results: Results, name: str) -> str:
    """Cells x genes as methods got them."""
    found = [record["shape"] for record in results.records if record["data"] == name and "shape" in record]
    return " x ".join(f"{size:,}" for size in found[0]) if found else NONE


def choice() -> str:
    """Where defaults come from."""
    if data.CHOSEN_ON is None:
        return (
            "**It is not declared yet which sets genesieve's defaults were chosen on** (`CHOSEN_ON` in"
            " `benchmarks/quality/data.py`); until then no set counts as a confirmation.\n"
        )
    chosen = ", ".join(name for name in data.DATA if name in data.CHOSEN_ON)
    return f"genesieve's defaults were chosen on {chosen or 'none of them'}; the other sets confirm them.\n"
