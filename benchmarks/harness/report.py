"""Pages of docs/: what was measured goes into their marked places, the rest is written by hand.

A place begins with a line ``<!-- measured: NAME -->`` and ends with the next ``<!-- end -->``.
"""

from __future__ import annotations

import platform
import re
from pathlib import Path

from benchmarks.harness.goals import Row
from benchmarks.harness.results import Results

PLACE = re.compile(r"<!-- measured: (\w+) -->\n.*?<!-- end -->\n", re.DOTALL)
NONE = "-"


def write(document: Path, page: str, texts: dict[str, str]) -> None:
    """Write a page with these texts in its places."""
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(filled(page, texts))


def filled(page: str, texts: dict[str, str]) -> str:
    """The page with a text in each of its places."""
    places = PLACE.findall(page)
    if sorted(places) != sorted(texts):
        raise ValueError(f"the page must have places for {', '.join(texts)}, got {', '.join(places)}")

    def fill(place: re.Match[str]) -> str:
        text = texts[place[1]].strip() or "Not measured."
        return f"<!-- measured: {place[1]} -->\n\n{text}\n\n<!-- end -->\n"

    return PLACE.sub(fill, page)


def table(head: list[str], body: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def number(value: float | None, digits: int) -> str:
    """A number for a table, or that there is none."""
    return NONE if value is None or value != value else f"{value:,.{digits}f}"


def picture(name: str, title: str | None = None) -> str:
    """A picture of the page."""
    return f"\n![{title or name.removesuffix('.png')}](img/{name})\n"


def goal_table(rows: list[Row]) -> str:
    """The goals, row by row."""
    work = [[row.work] if row.work else [] for row in rows]
    head = ["work", "goal", "measured", "met?"] if any(work) else ["goal", "measured", "met?"]
    body = [[*about, row.goal, row.measured, row.verdict] for about, row in zip(work, rows, strict=True)]
    return table(head, body)


def commands(rows: list[Row]) -> str:
    """The commands of some goals."""
    return "```sh\n" + "\n".join(row.command for row in rows) + "\n```\n"


def versions(results: Results, **found: str) -> str:
    """Versions of all that ran, after those that are given."""
    for each in results.values("versions"):
        found |= each
    return f"Versions: {', '.join(f'{name} {version}' for name, version in found.items())}."


def highest_load(results: Results) -> float:
    """The highest load average that a job started at."""
    return max(results.values("load"), default=0.0)


def machine(results: Results) -> str:
    """Where this ran, and on which versions."""
    quick = any(results.values("quick"))
    warning = "\n**Tiny data (`--quick`): a trial of the suite, not a measurement.**\n" if quick else ""
    return (
        f"Measured on {max(results.values('threads'))} cores ({_processor()}); highest load average at the start of a"
        f" job: {highest_load(results):.1f}.\n{versions(results, Python=platform.python_version())}\n{warning}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
