"""The goals of scale, and what was measured for each."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from benchmarks.harness.goals import NOT_MEASURED, Found, Goal, needed, verdict
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results
from benchmarks.harness.suite import ROOT
from benchmarks.scale.plan import FORMATS
from benchmarks.scale.results import Record, line_through, measured, median, resident_growth, total

# What each goal asks for.
CELLS, MINUTES, GIGABYTES = 1_300_000, 20.0, 3.0
SLOWER_FROM_FILE, OBJECTIVE_TOLERANCE = 2.5, 1e-6
FASTER_WITH_TWO = 1.6
# Messages that name tasks grow with the blocks, if little; what belongs to cells would grow as they do.
GROWTH_OF_BYTES = 1.25
PASSES = 20
# What an allocator may keep from pass to pass.
GROWTH_OF_MEMORY, GROWTH_OF_MEMORY_BYTES = 0.02, 30e6

COMMAND = "python -m benchmarks.scale --fresh --only"
FAULTS = re.compile(r"^def (test_\w*kill\w*)", re.MULTILINE)

Pair = tuple[list[Record], list[Record]]
"""Runs from file and runs from memory."""
Pairs = dict[str, Pair]
"""By format."""


def at_target(results: Results, kind: str, *, value: Callable[[Record], float], unit: str, bound: float) -> Found:
    """A value at the size of the goal, measured or else by the line through smaller sizes."""
    records = measured(results, "growth", format=kind)
    line = line_through(records, value, CELLS)
    there = [value(record) for record in records if record["cells"] == CELLS]
    if not there:
        line = needed(line)
        return f"{line(CELLS):.1f} {unit} by {line}", f"by the line: {verdict(line(CELLS), bound, False)}"
    told = "" if line is None else f"; {line} says {line(CELLS):.1f}"
    return f"{there[0]:.1f} {unit}{told}", verdict(there[0], bound, False)


def from_file(results: Results, kind: str) -> Found:
    """The worst of both formats, and of fits alone and with preparation."""
    pairs = both_formats(results)
    ratios = {name: (ratio(pair, "fit"), ratio(pair, "prepare", "fit")) for name, pair in pairs.items()}
    told = [f"{name}: fit {fit:.2f}, prepare and fit {both:.2f}" for name, (fit, both) in ratios.items()]
    return f"times slower, {'; '.join(told)}", verdict(max(map(max, ratios.values())), SLOWER_FROM_FILE, False)


def same_result(results: Results, kind: str) -> Found:
    """The largest difference of an objective from that of memory, and genes that are not the same."""
    pairs = both_formats(results)
    difference, others = 0.0, 0
    for files, memories in pairs.values():
        expected = memories[0]
        for record in [*files, *memories]:
            difference = max(difference, abs(record["objective"] / expected["objective"] - 1))
            others = max(others, len(set(record["genes"]) - set(expected["genes"])))
    met = difference <= OBJECTIVE_TOLERANCE and others == 0
    return f"objective {difference:.1e} apart, {others} other genes", "met" if met else "missed"


def disk_pairs(results: Results) -> Pairs:
    """By format, the runs from file and those from memory, where there are both."""
    pairs = {
        name: (
            measured(results, "disk", format=name, where="file"),
            measured(results, "disk", format=name, where="memory"),
        )
        for name in FORMATS
    }
    return {name: pair for name, pair in pairs.items() if all(pair)}


def both_formats(results: Results) -> Pairs:
    """The same, where both formats were measured."""
    pairs = disk_pairs(results)
    return needed(pairs if len(pairs) == len(FORMATS) else None)


def ratio(pair: Pair, *fields: str) -> float:
    """How many times longer the steps take from file."""
    files, memories = pair
    return median(files, *fields) / median(memories, *fields)


def two_workers(results: Results, kind: str) -> Found:
    """Seconds of a pass with one worker over those with two, at the largest size that has both."""
    one, two = (cluster_runs(results, kind, workers) for workers in (1, 2))
    sizes = one.keys() & two.keys()
    if not sizes:
        raise Missing(NOT_MEASURED)
    slow, fast = median(one[max(sizes)], "pass"), median(two[max(sizes)], "pass")
    told = f"{slow:.2f} s a pass with one, {fast:.2f} s with two, {max(sizes):,} cells: {slow / fast:.2f} times"
    return told, verdict(slow / fast, FASTER_WITH_TWO, at_least=True)


def bytes_moved(results: Results, kind: str) -> Found:
    """Bytes of a pass on many cells over those on few, with as many workers."""
    runs = cluster_runs(results, kind, 2)
    if len(runs) < 2:
        raise Missing(NOT_MEASURED)
    few, many = (median(runs[cells], "messages") for cells in (min(runs), max(runs)))
    record = runs[max(runs)][0]
    unit = record["kept_genes"] * record["rank"] * record["workers"]
    told = (
        f"{few / 1e6:.2f} MB a pass at {min(runs):,} cells, {many / 1e6:.2f} MB at {max(runs):,}:"
        f" {many / few:.2f} times for {max(runs) / min(runs):g} times the cells,"
        f" {many / unit:.1f} bytes for each of genes x rank x workers"
    )
    return told, verdict(many / few, GROWTH_OF_BYTES, at_least=False)


def cluster_runs(results: Results, kind: str, workers: int) -> dict[int, list[Record]]:
    """Runs with so many workers, by number of cells."""
    records = measured(results, "dask", format=kind, workers=workers)
    return {
        cells: [record for record in records if record["cells"] == cells] for cells in {r["cells"] for r in records}
    }


def faults(results: Results, kind: str) -> Found:
    """Proved by tests that kill processes, not by a measurement."""
    return f"{len(fault_tests())} tests, listed below", "while they pass"


def fault_tests() -> list[str]:
    """The tests that kill processes."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = {path.relative_to(ROOT).as_posix(): FAULTS.findall(path.read_text()) for path in files}
    return [f"{path}::{name}" for path, names in found.items() for name in names]


def fault_command() -> str:
    """What runs them."""
    return f"pytest {' '.join(dict.fromkeys(test.partition('::')[0] for test in fault_tests()))}"


def flat_memory(results: Results, kind: str) -> Found:
    """Resident memory after the last pass above that after the second."""
    records = measured(results, "passes", format=kind)
    if not records:
        raise Missing(NOT_MEASURED)
    record = records[-1]
    first, last, before, after = resident_growth(record)
    allowed = max(GROWTH_OF_MEMORY * before, GROWTH_OF_MEMORY_BYTES)
    told = (
        f"{before / 1e6:.0f} MB after pass {first}, {after / 1e6:.0f} MB after pass {last}:"
        f" {(after - before) / 1e6:+.0f} MB ({record['cells']:,} cells)"
    )
    if last < PASSES:
        return told, f"only {last} passes"
    return told, verdict(max(after - before, 0) / 1e6, round(allowed / 1e6), at_least=False)


GOALS = (
    Goal(
        f"1. {CELLS:,} cells x 28,000 genes from disk, rank 20, 2,000 genes, within {MINUTES:g} minutes",
        partial(at_target, value=lambda record: total(record) / 60, unit="minutes", bound=MINUTES),
        f"{COMMAND} growth",
    ),
    Goal(
        f"1. and within {GIGABYTES:g} GB of peak resident memory",
        partial(at_target, value=lambda record: record["peak"] / 1e9, unit="GB", bound=GIGABYTES),
        f"{COMMAND} growth",
    ),
    Goal(f"2. from disk at most {SLOWER_FROM_FILE:g} times slower than from memory", from_file, f"{COMMAND} disk"),
    Goal(
        f"2. and the same result: objective to {OBJECTIVE_TOLERANCE:g}, the same genes", same_result, f"{COMMAND} disk"
    ),
    Goal(f"3. two Dask workers at least {FASTER_WITH_TWO:g} times as fast as one", two_workers, f"{COMMAND} dask"),
    Goal(
        f"3. bytes moved a pass do not grow with cells (at most {GROWTH_OF_BYTES:g} times)",
        bytes_moved,
        f"{COMMAND} dask",
    ),
    Goal("4. the same objective when workers or the client are killed", faults, fault_command()),
    Goal(
        f"5. memory flat from pass 2 to pass {PASSES}, within"
        f" {100 * GROWTH_OF_MEMORY:g}% or {GROWTH_OF_MEMORY_BYTES / 1e6:g} MB",
        flat_memory,
        f"{COMMAND} passes",
    ),
)
