"""``python -m tests.fuzz.figures LOG ...``: what campaigns and kills found, from their logs into docs/reliability.md.

A log has a line for every subject that was tried to its end; the same seeds of a subject count once, as they were
tried last.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .subjects import SUBJECTS

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- figures of python -m tests.fuzz.figures: begin -->", "<!-- figures: end -->"
KILLS = "kills"


def read(logs: Iterable[Path]) -> dict[str, list[dict[str, Any]]]:
    """Lines of subjects that were tried to their end, by subject."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for log in logs:
        for line in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
            if "ends" in line:
                found[line["subject"], line["first"]] = line
    subjects = [name for name in (*SUBJECTS, KILLS) if any(subject == name for subject, _ in found)]
    return {name: [line for (subject, _), line in sorted(found.items()) if subject == name] for name in subjects}


def figures(found: dict[str, list[dict[str, Any]]]) -> str:
    """Both tables, and what damaged files gave."""
    tried = {name: lines for name, lines in found.items() if name != KILLS}
    rows = ["| subject | seeds | cases | at fault | ended |", "|---|---|---:|---:|---|"]
    rows += [_row(name, lines) for name, lines in tried.items()]
    every = [line for lines in tried.values() for line in lines]
    cases, faults = (sum(line[what] for line in every) for what in ("cases", "faults"))
    rows.append(f"| **in all** | | **{cases:,}** | **{faults}** | |")
    parts = ["\n".join(rows), _damaged(found)]
    if KILLS in found:
        parts.append("\n".join(_kills(found[KILLS])))
    return "\n\n".join(part for part in parts if part)


def _row(name: str, lines: list[dict[str, Any]]) -> str:
    ends: Counter[str] = Counter()
    for line in lines:
        for how, count in line["ends"].items():
            ends[how if name == "arguments" else "refused" if "refused" in how else "not"] += count
    cases, faults = (sum(line[what] for line in lines) for what in ("cases", "faults"))
    ended = ", ".join(f"{count:,} {how}" for how, count in sorted(ends.items(), key=lambda pair: pair[0], reverse=True))
    return f"| {name} | {_seeds(lines)} | {cases:,} | {faults} | {ended} |"


def _seeds(lines: list[dict[str, Any]]) -> str:
    ends = [(line["first"], line["first"] + line["cases"] - 1) for line in lines]
    if len(ends) > 2:
        return f"{ends[0][0]:,} to {ends[-1][1]:,}, in {len(ends)} stretches"
    return ", ".join(f"{first:,} to {last:,}" for first, last in ends)


def _damaged(found: dict[str, list[dict[str, Any]]]) -> str:
    """How many files were damaged, and how many of them gave other content without a word."""
    if not {"files", "crafted"} & set(found):
        return ""
    counts = {name: sum(line["cases"] for line in found.get(name, [])) for name in ("files", "crafted")}
    silent: Counter[str] = Counter()
    for line in found.get("files", []):
        silent.update({how.partition(":")[0]: n for how, n in line["ends"].items() if how.endswith(": differs")})
    kinds = ", ".join(f"{count} of {kind}" for kind, count in silent.most_common()) or "none"
    return (
        f"Damaged files among these: {counts['files']:,} cut, wiped or flipped and {counts['crafted']:,} changed part"
        f" by part. {silent.total()} gave other values, names or sets without a word ({kinds}); no checksum covers"
        " these."
    )


def _kills(lines: list[dict[str, Any]]) -> list[str]:
    ends: Counter[str] = Counter()
    for line in lines:
        ends.update(line["ends"])
    seeds = ", ".join(f"{line['first']:,} on" for line in lines)
    rows = [f"| kills, seeds {seeds} | count |", "|---|---:|", f"| in all | {sum(line['cases'] for line in lines)} |"]
    rows += [f"| {how} | {count} |" for how, count in ends.most_common()]
    return [*rows, f"| results lost, half-written or other, strays left | {sum(line['faults'] for line in lines)} |"]


def put(text: str, page: str) -> str:
    """The page with other figures."""
    if BEGIN not in page or END not in page:
        raise ValueError(f"the page must have {BEGIN!r} and {END!r}")
    return re.sub(
        rf"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: f"{BEGIN}\n\n{text}\n\n{END}", page, flags=re.DOTALL
    )


def main() -> int:
    """Write the page, or with --print only show the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.figures", description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--print", action="store_true", dest="only_show")
    asked = parser.parse_args()
    text = figures(read(asked.logs))
    if asked.only_show:
        print(text)
    else:
        PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
