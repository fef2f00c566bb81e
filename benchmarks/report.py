"""docs/benchmarks.md, written from the records alone."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from benchmarks import data, goals, peers
from benchmarks.plots import draw_all, picture
from benchmarks.protocol import DataSet
from benchmarks.results import Results, best, runs, why_not

INTRO = """# Benchmarks

Written by `make bench` (`python -m benchmarks`) from the measurements of one run; do not edit.

Every peer runs in a process of its own, one after the other, and is scored by one scorer: half the squared residual in
double precision, wall time, and peak resident memory above the input. Times leave out loading the data and compiling
(each peer first runs on a few cells); they include a peer's own start. scikit-learn's `cd` and the paper's PALM and
maPALM run with tolerance 0 for a fixed number of iterations, RcppML likewise, from one seed. Objectives of our own
courses are the solver's, their ends the scorer's.
"""

COMMANDS = """## Commands

```sh
make bench                                     # everything that is not measured yet, then this page
python -m benchmarks --fresh                   # everything anew
python -m benchmarks --only atlas-20k          # one data set
python -m benchmarks --only atlas-20k/rcppml   # one peer on it
python -m benchmarks --only measures/one_pass  # one measurement
python -m benchmarks --quick --output quick    # tiny data, to see that it runs
```

Records are kept in `benchmarks/results/`, one JSON a job. bmmc, kang and pollen are read from `../shared/data` beside
the project and skipped where they are absent; RcppML needs R (Debian: `r-cran-rcppml`), nmf-torch PyTorch.
"""

MODELS = {"nmf": "plain NMF", "l20": "NMF with a gene budget (l20)"}


def write(results: Results, document: Path, images: Path) -> None:
    """Write the page and its pictures."""
    draw_all(results, images)
    folder = images.relative_to(document.parent)
    quick = any(record["quick"] for record in results.records.values())
    sections = [
        data_section(results, name, data_set, folder)
        for name, data_set in (data.QUICK_DATA if quick else data.DATA).items()
    ]
    parts = [INTRO, machine(results, quick), goal_table(results), *sections, scale_section(results), COMMANDS]
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text("\n".join(part for part in parts if part))


def table(head: list[str], body: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def machine(results: Results, quick: bool) -> str:
    """Where this ran, and on which versions."""
    versions: dict[str, str] = {"Python": platform.python_version()}
    for record in results.records.values():
        versions |= record.get("versions", {})
    cores = max(record["threads"] for record in results.records.values())
    load = max(record["load"][0] for record in results.records.values())
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    warning = "\n**Tiny data (`--quick`): a trial of the suite, not a measurement.**\n" if quick else ""
    return (
        f"Measured on {cores} cores ({_processor()}); highest load average at the start of a job: {load:.1f}.\n"
        f"Versions: {told}.\n{warning}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def goal_table(results: Results) -> str:
    """The goals, row by row."""
    rows = goals.rows(results)
    body = [[row.work, row.goal, row.measured, row.verdict] for row in rows]
    text = "## Goals\n\n" + table(["work", "goal", "measured", "met?"], body)
    text += "\nThe command of each row, in the same order:\n\n```sh\n"
    return text + "\n".join(row.command for row in rows) + "\n```\n"


def data_section(results: Results, name: str, data_set: DataSet, images: Path) -> str:
    """Tables and pictures of one data set."""
    records = {
        peer: results.records[f"{name}/{peer}"] for peer in data_set.peers if f"{name}/{peer}" in results.records
    }
    text = ""
    for model, title in MODELS.items():
        chosen = {peer: record for peer, record in records.items() if model == peers.get(peer).MODEL}
        if not chosen:
            continue
        budget = f", {data_set.n_genes} genes" if model == "l20" else ""
        text += f"### {name}: {title}, rank {data_set.rank}{budget}\n\n{race_table(chosen)}\n"
        if not all(why_not(record) for record in chosen.values()):
            text += f"![objective against time]({images / picture(name, model)})\n\n"
    return text and f"## {data_set.title}\n\n{text}"


def race_table(records: dict[str, dict[str, Any]]) -> str:
    """The end of every run of every peer."""
    head = ["peer", "run", "iterations", "passes", "seconds", "objective", "above the best", "peak above input (MiB)"]
    measured = [record for record in records.values() if not why_not(record)]
    floor = min((best(record, run) for record in measured for run in runs(record)), default=1.0)
    body = []
    for peer, record in records.items():
        if why_not(record):
            body.append([peers.get(peer).TITLE, f"skipped: {why_not(record)}", *[""] * (len(head) - 2)])
            continue
        body += [[record["title"], *_cells(point, floor)] for point in record["points"]]
    return table(head, body)


def _cells(point: dict[str, Any], floor: float) -> list[str]:
    return [
        point["run"],
        str(point["iterations"]),
        "" if point["passes"] is None else str(point["passes"]),
        f"{point['seconds']:.2f}",
        f"{point['objective']:,.1f}",
        f"{100 * (point['objective'] / floor - 1):.3f}%",
        "" if point["peak"] is None else f"{point['peak'] / 2**20:.0f}",
    ]


def scale_section(results: Results) -> str:
    """Default fits at growing numbers of cells."""
    record = results.get("measures/scale")
    if record is None:
        return ""
    head = ["cells", "model", "passes", "seconds", "us a cell", "X (MiB)", "factors (MiB)", "peak above input (MiB)"]
    body = [
        [
            f"{fit['cells']:,}",
            fit["model"],
            str(fit["passes"]),
            f"{fit['seconds']:.2f}",
            f"{1e6 * fit['seconds'] / fit['cells']:.0f}",
            f"{fit['input'] / 2**20:.0f}",
            f"{fit['factors'] / 2**20:.1f}",
            "" if fit["peak"] is None else f"{fit['peak'] / 2**20:.0f}",
        ]
        for fit in record["fits"]
    ]
    return "## Growth with the number of cells\n\nDefault settings, in the order in which they ran.\n\n" + table(
        head, body
    )
