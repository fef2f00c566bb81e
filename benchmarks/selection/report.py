"""The places of docs/selection.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.ticker import MaxNLocator

from benchmarks.harness.data import DATA
from benchmarks.harness.plots import BLACK, BLUE, ORANGE, picture
from benchmarks.harness.report import NONE, number, table
from benchmarks.harness.results import Record, Results
from benchmarks.selection.planted import LEVELS, SHAPES

FACTOR = 1.5
PEERS = {"cnmf": "cNMF", "rcppml": "RcppML"}
REPLICATES = 0.85  # as the rule has it


def fill(results: Results) -> dict[str, str]:
    """The text of every place."""
    return {
        "planted": planted_table(results),
        "summary": summary(results),
        "peers": peers_table(results),
        "real": real_table(results),
    }


def planted_table(results: Results) -> str:
    """Suggested ranks and budgets, case by case."""
    body = []
    for level in LEVELS:
        for types, activities in SHAPES:
            about = {"what": level, "shape": [types, activities]}
            found = results.measured(kind="planted", **about)
            if not found:
                continue
            body.append(
                [
                    level,
                    f"{types} + {activities}",
                    str(len(found)),
                    _counts(found),
                    *(_counts(results.measured(kind=peer, **about)) for peer in PEERS),
                    _span(found, "true_genes"),
                    _span(found, "genes"),
                    number(float(np.mean([record["cpu_seconds"] for record in found])), 1),
                ]
            )
    head = ["level", "types + activities", "draws", "suggested", *PEERS.values(), "genes raised", "genes suggested"]
    return table([*head, "CPU seconds"], body)


def summary(results: Results) -> str:
    """Shares of the draws in which the numbers are right."""
    body = []
    for name, levels in (("easy and medium", LEVELS[:2]), ("all", LEVELS)):
        found = [record for level in levels for record in results.measured(kind="planted", what=level)]
        if not found:
            continue
        off = np.array([abs(record["rank"] - record["true_rank"]) for record in found])
        ratio = np.array([record["genes"] / record["true_genes"] for record in found])
        near = np.maximum(ratio, 1 / ratio) <= FACTOR
        body.append([name, str(len(found)), f"{np.mean(off == 0):.0%}", str(off.max()), f"{near.mean():.0%}"])
    return table(["levels", "draws", "rank right", "off by at most", "genes within a factor of 1.5"], body)


def peers_table(results: Results) -> str:
    """On the draws that a peer was given, how often it and genesieve have the right number."""
    body = []
    for peer, title in PEERS.items():
        pairs = [
            (other, own)
            for other in results.measured(kind=peer)
            for own in results.measured(kind="planted", **{name: other[name] for name in ("what", "shape", "seed")})
        ]
        if pairs:
            off = np.array([[abs(record["rank"] - record["true_rank"]) for record in pair] for pair in pairs])
            shares = [f"{share:.0%}" for share in (off == 0).mean(axis=0)]
            body.append([title, str(len(pairs)), *shares, *(str(most) for most in off.max(axis=0))])
    head = ["peer", "draws", "right", "genesieve right", "off by at most", "genesieve off by at most"]
    return table(head, body) if body else ""


def real_table(results: Results) -> str:
    """Agreement with known types."""
    found = {record["what"]: record for record in results.measured(kind="real")}
    if not found:
        return ""
    fields = ("nmi", "nmi_usual")
    body = [
        [DATA[name].title, str(record["rank"]), str(record["genes"]), *(number(record[field], 3) for field in fields)]
        for name, record in found.items()
    ]
    means = [number(float(np.mean([record[field] for record in found.values()])), 3) for field in fields]
    body.append(["mean", NONE, NONE, *means])
    for name, record in found.items():
        if "fine_nmi" in record:
            title = f"{DATA[name].title.split(',')[0]}, its {record['fine_classes']} finer classes"
            scores = (number(record[f"fine_{field}"], 3) for field in fields)
            body.append([title, str(record["rank"]), str(record["genes"]), *scores])
    return table(["data", "programs", "genes", "NMI as suggested", "NMI with true classes and 2,000 genes"], body)


def draw(results: Results, path: Path) -> bool:
    """A number that is clear beside one that is not: sizes of directions, and what replicates."""
    clear = [record for record in results.measured(kind="planted", what="medium", shape=[12, 2]) if "table" in record]
    faded = [record for record in results.measured(kind="real", what="pbmc3k") if "table" in record]
    shown = {"12 types and 2 activities, planted": clear[:1], "PBMC 3k": faded[:1]}
    shown = {title: found for title, found in shown.items() if found}
    if not shown:
        return False
    with picture(path, 2, len(shown), size=(4 * len(shown), 5), squeeze=False) as (_, axes):
        for column, (title, (record,)) in zip(axes.T, shown.items(), strict=True):
            for ax, name, bound in zip(column, ("size", "agreement"), (1.0, REPLICATES), strict=True):
                values = np.array(record["table"][name], dtype=float)
                ax.plot(np.arange(1, len(values) + 1), values, "o", color=BLUE, markersize=4)
                ax.axhline(bound, color=BLACK, linewidth=0.8, linestyle="--")
                ax.axvline(record["rank"], color=ORANGE, linewidth=1.0, zorder=0)
                ax.set_ylabel({"size": "size over the end of noise", "agreement": "agreement of two halves"}[name])
            column[0].set(title=f"{title}: {record['rank']} suggested", yscale="log")
            column[1].set(xlabel="directions, and programs, the best first", ylim=(0, 1.05))
            for ax in column:
                ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return True


def _counts(records: list[Record]) -> str:
    """The ranks, with how often each came where they differ."""
    ranks, often = np.unique([record["rank"] for record in records], return_counts=True)
    if len(ranks) < 2:
        return str(ranks[0]) if len(ranks) else NONE
    return ", ".join(f"{rank} ({times}x)" for rank, times in zip(ranks, often, strict=True))


def _span(records: list[Record], field: str) -> str:
    """The least and the largest."""
    values = [record[field] for record in records]
    return f"{min(values):,} to {max(values):,}" if min(values) < max(values) else f"{values[0]:,}"
