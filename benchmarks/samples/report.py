"""The places of docs/samples.md."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.report import NONE, goal_table, number, table
from benchmarks.harness.results import Results, why_not
from benchmarks.samples import goals
from benchmarks.samples.job import DESIGNS
from benchmarks.samples.peers import PEERS

TITLES = {
    "auto": "`gs.tl.compare`",
    "linear": '`test="linear"`',
    "permutation": '`test="permutation"`',
    "wilcoxon over cells": "Wilcoxon, cells as replicates",
    "share": "`gs.tl.compare`",
    "usage": '`values="usage"`',
    "samples as batches": '`gs.tl.compare`, fitted with `batch_key="sample"`',
    "true usages": "`gs.tl.compare` on the true usages",
}


def fill(results: Results) -> dict[str, str]:
    """The text of every place."""
    return {
        "goals": goal_table([goal.row(results) for goal in goals.GOALS]),
        "shared": shared_table(results),
        "nothing": nothing_table(results),
        "something": something_table(results),
    }


def shared_table(results: Results) -> str:
    """F1, merged programs and seconds of every method, by design."""
    body = []
    for design in DESIGNS:
        for method, peer in PEERS.items():
            found = results.measured(kind="shared", what=f"{method}, {design}")
            if found:
                means = {
                    name: float(np.mean([one[name] for one in found])) for name in ("f1", "right", "false", "merged")
                }
                lowest = number(min(one["f1"] for one in found), 3)
                shares = [
                    f"{means['right']:.1f} of {found[0]['n_shared']}",
                    f"{means['false']:.1f}",
                    f"{means['merged']:.1f}",
                ]
                seconds = f"{np.mean([one['seconds'] for one in found]):.0f}"
                body.append([design, peer.title, number(means["f1"], 3), lowest, *shares, seconds, str(len(found))])
            else:
                body.append([design, peer.title, reason(results, f"shared/{method}, {design}/"), *[NONE] * 6])
    return table(["draw", "method", "F1", "lowest", "right", "false", "merged", "seconds", "draws"], body)


def reason(results: Results, start: str) -> str:
    told = [why_not(record) for job, record in results.records.items() if job.startswith(start)]
    return (told[0] if told else None) or NONE


def nothing_table(results: Results) -> str:
    """Share called different where there is nothing, by number of samples."""
    sizes = sorted({record["n_samples"] for record in results.measured(kind="nothing")})
    body = [
        [TITLES[test], *(f"{goals.rate(results, test, size):.1%}" for size in sizes)]
        for test in ("auto", "linear", "permutation", "samples as batches", "wilcoxon over cells")
    ]
    return table(["called different at 5 %", *(f"{size} samples" for size in sizes)], body) if sizes else ""


def something_table(results: Results) -> str:
    """How often the raised activity is called, and how many other programs are."""
    sizes = sorted({record["n_samples"] for record in results.measured(kind="something")})
    body = []
    for name in ("share", "usage", "samples as batches", "true usages", "wilcoxon over cells"):
        row = [TITLES[name]]
        for size in sizes:
            called = [record["called"][name] for record in results.measured(kind="something", n_samples=size)]
            found, others = (float(np.mean([one[field] for one in called])) for field in ("found", "others"))
            row.append(f"{found:.0%} of {len(called)} draws, {others:.1f} others")
        body.append(row)
    return table(["raised activity called", *(f"{size} samples" for size in sizes)], body) if sizes else ""
