"""The places of docs/runs.md."""

from __future__ import annotations

from benchmarks.harness.data import DATA
from benchmarks.harness.report import goal_table, highest_load, number, table
from benchmarks.harness.results import Results
from benchmarks.runs.goals import GOALS

STAGES = {"read": "read", "prepare": "prepare", "fit": "fit", "interpret": "read genes off", "write": "write"}


def fill(results: Results) -> dict[str, str]:
    """The text of every place."""
    return {
        "goals": goal_table([goal.row(results) for goal in GOALS]),
        "seconds": seconds_table(results),
        "outliers": outliers_table(results),
    }


def seconds_table(results: Results) -> str:
    """Seconds of every stage, by the clock."""
    records = sorted(results.measured("cost"), key=lambda record: record["n_cells"])
    body = []
    for record in records:
        took = [record["timings"][stage] for stage in STAGES]
        body.append([f"{record['n_cells']:,}", *(number(seconds, 1) for seconds in [*took, sum(took)])])
    if not body:
        return ""
    load = f"Cores: {max(record['threads'] for record in records)}; highest load average when a run started: "
    return f"{table(['cells', *STAGES.values(), 'whole'], body)}\n{load}{highest_load(results):.1f}.\n"


def outliers_table(results: Results) -> str:
    """Cells flagged in every clean set."""
    records = results.measured("outliers", kind="clean")
    body = [
        [DATA[record["data"]].title, str(record["flagged"]), f"{100 * record['flagged'] / record['n_cells']:.2f}%"]
        for record in records
    ]
    return table(["set", "cells flagged", "share"], body) if body else ""
