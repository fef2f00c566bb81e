"""docs/scale.md, written from the records alone."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import machine, table
from benchmarks.results import Results, why_not
from benchmarks.scale import goals
from benchmarks.scale.plan import FORMATS
from benchmarks.scale.plots import GROWTH, PASSES, draw_all
from benchmarks.scale.results import Record, line_through, measured, median, total

INTRO = """# Scale

Written by `python -m benchmarks.scale` from the measurements; do not edit.

Fits of data that stay in their file, which this machine or the workers of a Dask cluster read in every pass. The data
are simulated atlases of raw counts (`python -m benchmarks.scale.generate`: sums of a few neighbouring real cells,
thinned), 28,000 genes of which a cell shows 7%, as CSR in h5ad (not compressed) or zarr (lz4). What is measured is what
a user types,

```python
adata = genesieve.io.open_in_file(path)  # or, from memory, anndata.read_h5ad(path)
gs.pp.prepare(adata)
gs.tl.ssnmf(adata, 20, 2000, random_state=0)
```

each in a process of its own, after a run on a tiny file that loads compiled code. Peak memory is the highest resident
memory of that process in its life; pages of the system's file cache do not count to it.
"""

COMMANDS = """## Commands

```sh
python -m benchmarks.scale                                    # what has no record yet, then this page
python -m benchmarks.scale --only growth --sizes 50000 100000 # some sizes
python -m benchmarks.scale --only disk dask passes --fresh    # some goals anew
python -m benchmarks.scale --format zarr --folder atlases     # the other format; where the atlases are or will be
python -m benchmarks.scale --report                           # this page from the records
python -m benchmarks.scale --quick --output quick             # tiny data, to see that it runs
```

Records are kept in `benchmarks/results/scale/`, one JSON a job, and atlases in a folder beside them unless `--folder`
says otherwise; the largest takes 21 GB.
"""

NONE = "-"


def write(results: Results, kind: str, document: Path, images: Path) -> None:
    """Write the page and its pictures; ``kind`` is the format that goals and pictures are about."""
    drawn = draw_all(results, kind, images)
    folder = images.relative_to(document.parent)
    parts = [
        INTRO,
        machine(results, any(record["quick"] for record in results.records.values())),
        goal_section(results, kind),
        growth_section(results) + picture(folder, GROWTH, drawn),
        disk_section(results),
        dask_section(results),
        passes_section(results) + picture(folder, PASSES, drawn),
        faults_section(),
        not_measured(results),
        COMMANDS,
    ]
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text("\n".join(part for part in parts if part))


def picture(folder: Path, name: str, drawn: list[str]) -> str:
    """A picture, if it was drawn."""
    return f"\n![{name.removesuffix('.png')}]({folder / name})\n" if name in drawn else ""


def number(value: float | None, digits: int = 1) -> str:
    return NONE if value is None or value != value else f"{value:,.{digits}f}"


def goal_section(results: Results, kind: str) -> str:
    """The goals, row by row."""
    rows = goals.rows(results, kind)
    body = [[row.goal, row.measured, row.verdict] for row in rows]
    commands = "\n".join(dict.fromkeys(row.command for row in rows))
    text = f"## Goals\n\n{table(['goal', 'measured', 'met?'], body)}\nOn {kind}, the second on both formats."
    return f"{text} Measured anew by\n\n```sh\n{commands}\n```\n"


def growth_section(results: Results) -> str:
    """Every size, and the line through them."""
    text = ""
    for kind in FORMATS:
        records = measured(results, "growth", format=kind)
        if records:
            text += f"{growth_table(records)}\n{line_text(records)}\n"
    return text and (
        "## From file, at growing numbers of cells\n\n`memory` is the limit that the fit was given. The file cache is"
        " as it happens to be: what was fetched from the disk itself stands in the last column. The start of a fit is"
        " what it does before its first pass: gene weights, and a fit of a sample of the cells; of a fit with a single"
        " iteration it is not known. CPU is that of all threads.\n\n" + text
    )


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
        number(total(record)),
        *(number(record[field]) for field in ("open", "prepare", "fit", "fit_cpu", "start")),
        number(record["pass"], 2),
        str(record["passes"]),
        number(1e6 * total(record) / record["cells"], 0),
        number(record["peak"] / 1e9, 2),
        number(fetched),
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
    record = next(iter(pairs.values()))[0][0]
    return (
        f"## From file against from memory\n\n{record['cells']:,} cells, the file in the system's cache; seconds are"
        f" medians of {len(next(iter(pairs.values()))[0])} runs, taken by turns.\n\n{table(head, body)}\n"
        f"How many times longer it takes from file:\n\n{table(['format', *STEPS], ratios)}"
    )


STEPS = {
    "a pass": ("pass",),
    "fit": ("fit",),
    "prepare and fit": ("prepare", "fit"),
    "open or read, prepare and fit": ("open", "prepare", "fit"),
}


def disk_cells(records: list[Record]) -> list[str]:
    return [
        *(number(median(records, field), 2) for field in ("open", "prepare", "fit", "fit_cpu", "start", "pass")),
        number(median(records, "passes"), 0),
        number(max(record["peak"] for record in records) / 1e9, 2),
    ]


def dask_section(results: Results) -> str:
    """Seconds and bytes of a pass on a cluster."""
    runs = {
        (kind, cells, workers): records
        for kind in FORMATS
        for workers in (1, 2)
        for cells, records in goals.cluster_runs(results, kind, workers).items()
    }
    if not runs:
        return ""
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
            number(median(records, "messages") / 1e6, 2),
            number(median(records, "parcels") / 1e6, 2),
        ]
        for (kind, cells, workers), records in sorted(runs.items())
    ]
    return (
        "## On a Dask cluster\n\nA LocalCluster of worker processes with one thread each; every pass reads its blocks"
        " from the file. Some iterations from a random start, medians over them and over runs. Messages are all bytes"
        " that client, scheduler and workers write to each other; results that workers sent are their own count"
        " (`transfer_outgoing_bytes_total`).\n\n" + table(head, body)
    )


def passes_section(results: Results) -> str:
    """Memory after some of the passes."""
    records = measured(results, "passes")
    if not records:
        return ""
    head = ["cells", "format", "pass", "resident (MB)", "peak so far (MB)"]
    body = [
        [f"{record['cells']:,}", record["format"], str(step["passes"]), *memory_cells(step)]
        for record in records
        for step in record["steps"]
    ]
    return f"## Memory over passes\n\nIterations from a random start, from file.\n\n{table(head, body)}"


def faults_section() -> str:
    """The tests of what is not measured."""
    return "## Faults\n\nThat a run survives them is tested, on a real LocalCluster where workers die:\n\n" + "".join(
        f"* `{name}`\n" for name in goals.fault_tests()
    )


def memory_cells(step: Record) -> list[str]:
    return [number(step[field] / 1e6, 0) for field in ("resident", "peak")]


def not_measured(results: Results) -> str:
    """Jobs with a reason for a missing measurement."""
    told = [f"* {job}: {why_not(record)}" for job, record in results.records.items() if why_not(record)]
    return "## Not measured\n\n" + "\n".join(told) + "\n" if told else ""
