"""The places of docs/scale.md."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.report import commands, goal_table, machine, number, picture, table
from benchmarks.harness.results import Record, Results, why_not
from benchmarks.scale import goals, plots
from benchmarks.scale.plan import FORMATS
from benchmarks.scale.results import line_through, measured, median, total

# Steps whose seconds from file and from memory are compared.
STEPS = {
    "a pass": ("pass",),
    "fit": ("fit",),
    "prepare and fit": ("prepare", "fit"),
    "open or read, prepare and fit": ("open", "prepare", "fit"),
}
SECONDS = ("open", "prepare", "fit", "fit_cpu", "start")


def fill(results: Results, kind: str, images: Path) -> dict[str, str]:
    """The text of every place; the pictures are drawn. ``kind`` is the format that goals and pictures are about."""
    drawn = plots.draw_all(results, kind, images)
    pictures = {name: picture(name) if name in drawn else "" for name in (plots.GROWTH, plots.PASSES)}
    return {
        "machine": machine(results),
        "goals": goals_section(results, kind),
        "growth": growth_section(results) + pictures[plots.GROWTH],
        "disk": disk_section(results),
        "dask": dask_table(results),
        "passes": passes_table(results) + pictures[plots.PASSES],
        "faults": "".join(f"* `{name}`\n" for name in goals.fault_tests()) + not_measured(results),
    }


def goals_section(results: Results, kind: str) -> str:
    """The goals, row by row."""
    rows = [goal.row(results, kind) for goal in goals.GOALS]
    unique = {row.command: row for row in rows}
    told = f"\nOn {kind}, the second on both formats. Measured anew by\n\n"
    return goal_table(rows) + told + commands(list(unique.values()))


def growth_section(results: Results) -> str:
    """Every size, and the line through them."""
    by_format = [measured(results, "growth", format=kind) for kind in FORMATS]
    return "\n".join(f"{growth_table(records)}\n{line_text(records)}" for records in by_format if records)


def growth_table(records: list[Record]) -> str:
    """One line a size."""
    head = ["cells", "format", "memory", "seconds", "open", "prepare", "fit", "its CPU", "its start", "a pass"]
    head += ["passes", "us a cell", "peak (GB)", "fetched from disk (GB)"]
    return table(head, [growth_line(record) for record in records])


def growth_line(record: Record) -> list[str]:
    fetched = None if record["fetched"] is None else record["fetched"] / 1e9
    return [
        f"{record['cells']:,}",
        record["format"],
        record["memory"],
        number(total(record), 1),
        *(number(record[field], 1) for field in SECONDS),
        number(record["pass"], 2),
        str(record["passes"]),
        number(1e6 * total(record) / record["cells"], 0),
        number(record["peak"] / 1e9, 2),
        number(fetched, 1),
    ]


def line_text(records: list[Record]) -> str:
    """The line in words, with what it says of the goal's size."""
    line = line_through(records, total, goals.CELLS)
    if line is None:
        return f"Too few sizes for a line: {len(records)}.\n"
    text = (
        f"The least-squares line through {', '.join(f'{cells:,}' for cells in line.cells)} cells:"
        f" {line.intercept:.1f} s + {1e6 * line.slope:.1f} us a cell,"
        f" so {line(goals.CELLS):,.0f} s for {goals.CELLS:,} cells"
    )
    there = [total(record) for record in records if record["cells"] == goals.CELLS]
    return text + (f"; measured: {there[0]:,.0f} s.\n" if there else "; not measured.\n")


def disk_section(results: Results) -> str:
    """From file against from memory."""
    pairs = goals.disk_pairs(results)
    if not pairs:
        return ""
    head = ["format", "from", "open or read", "prepare", "fit", "its CPU", "its start", "a pass", "passes", "peak (GB)"]
    body = [
        [kind, where, *disk_cells(records)]
        for kind, pair in pairs.items()
        for where, records in zip(("file", "memory"), pair, strict=True)
    ]
    ratios = [
        [kind, *(number(goals.ratio(pair, *steps), 2) for steps in STEPS.values())] for kind, pair in pairs.items()
    ]
    files, _ = next(iter(pairs.values()))
    return (
        f"{files[0]['cells']:,} cells, the file in the system's cache; seconds are medians of {len(files)} runs,"
        f" taken by turns.\n\n{table(head, body)}\nHow many times longer it takes from file:\n\n"
        f"{table(['format', *STEPS], ratios)}"
    )


def disk_cells(records: list[Record]) -> list[str]:
    return [
        *(number(median(records, field), 2) for field in (*SECONDS, "pass")),
        number(median(records, "passes"), 0),
        number(max(record["peak"] for record in records) / 1e9, 2),
    ]


def dask_table(results: Results) -> str:
    """Seconds and bytes of a pass on a cluster."""
    runs = {
        (kind, cells, workers): records
        for kind in FORMATS
        for workers in (1, 2)
        for cells, records in goals.cluster_runs(results, kind, workers).items()
    }
    head = ["format", "cells", "blocks", "workers", "runs", "seconds a pass", "MB a pass, all messages"]
    head += ["MB a pass, results that workers sent"]
    body = [
        [
            kind,
            f"{cells:,}",
            str(records[0]["blocks"]),
            str(workers),
            str(len(records)),
            number(median(records, "pass"), 2),
            *(number(median(records, field) / 1e6, 2) for field in ("messages", "parcels")),
        ]
        for (kind, cells, workers), records in sorted(runs.items())
    ]
    return table(head, body) if body else ""


def passes_table(results: Results) -> str:
    """Memory after some of the passes."""
    head = ["cells", "format", "pass", "resident (MB)", "peak so far (MB)"]
    body = [
        [f"{record['cells']:,}", record["format"], str(step["passes"]), *memory_cells(step)]
        for record in measured(results, "passes")
        for step in record["steps"]
    ]
    return table(head, body) if body else ""


def memory_cells(step: Record) -> list[str]:
    return [number(step[field] / 1e6, 0) for field in ("resident", "peak")]


def not_measured(results: Results) -> str:
    """Jobs with a reason for a missing measurement."""
    told = [f"* {job}: {why_not(record)}" for job, record in results.records.items() if why_not(record)]
    return "\n## Not measured\n\n" + "\n".join(told) + "\n" if told else ""
