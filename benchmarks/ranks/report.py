"""The places of docs/ranks.md."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.goals import NEVER
from benchmarks.harness.report import NONE, goal_table, machine, number, picture, table
from benchmarks.harness.results import Results
from benchmarks.ranks import goals, plots
from benchmarks.ranks.data import Matrix, matrices
from benchmarks.ranks.peers import PEERS, RIVALS
from benchmarks.ranks.results import median, reached, runs

MIB = 2**20


def fill(results: Results, images: Path) -> dict[str, str]:
    """The text of every place; the picture is drawn."""
    swept = {
        name: matrix for name, matrix in matrices(any(results.values("quick"))).items() if results.measured(f"{name}/")
    }
    if swept:
        plots.draw(results, swept, images)
    return {
        "machine": f"{machine(results)}\n\n{measure(results)}" if results.records else "",
        "goals": goal_table([goal.row(results) for goal in goals.GOALS]),
        "sweep": "\n".join(section(results, name, matrix) for name, matrix in swept.items()),
        "picture": picture(plots.NAME, "seconds by rank") if swept else "",
    }


def measure(results: Results) -> str:
    """What the times are, and of how many seeds."""
    threads, seeds = max(results.values("n_jobs")), 1 + max(results.values("seed"))
    kind = "processor seconds of one thread" if threads == 1 else f"by the clock, on {threads} threads for everyone"
    return f"Times are {kind}, in the median over the seeds that were run, {seeds} at most."


def section(results: Results, name: str, matrix: Matrix) -> str:
    """One matrix, a row a rank."""
    head = ["rank"]
    for rival in RIVALS:
        head += [PEERS[rival].title, "genesieve to it", "times", "to within 0.1%", "times", "whole fit ends below by"]
    head += ["whole fit", "peak memory (MiB)"]
    head += ["with a budget", "over plain"] if matrix.n_genes else []
    body = [row(results, name, rank, matrix) for rank in matrix.ranks]
    return f"### {matrix.title}\n\n{table(head, body)}"


def row(results: Results, name: str, rank: int, matrix: Matrix) -> list[str]:
    """Peers one by one, then our fits themselves."""
    cells, ours = [str(rank)], runs(results, name, "genesieve", rank)
    whole, objective, peak = (median(ours, field) for field in ("time", "objective", "peak"))
    for rival in RIVALS:
        cells += _against(results, name, rival, rank)
        end = median(runs(results, name, rival, rank), "objective")
        cells.append(f"{100 * (1 - objective / end):.2f}%" if objective is not None and end else NONE)
    cells += [_seconds(whole), NONE if peak is None else f"{peak / MIB:.0f}"]
    if matrix.n_genes:
        chosen = median(runs(results, name, "budget", rank), "time")
        cells += [_seconds(chosen), f"{chosen / whole:.1f}x" if chosen and whole else NONE]
    return cells


def _against(results: Results, name: str, rival: str, rank: int) -> list[str]:
    found = reached(results, name, rival, rank)
    if found is None:
        return [_seconds(median(runs(results, name, rival, rank), "time")), *[NONE] * 4]
    times = [(found.seconds, found.faster), (found.close, found.faster_to_close)]
    cells = [cell for seconds, lead in times for cell in (_seconds(seconds), f"{lead:.1f}x" if lead else NONE)]
    return [_seconds(found.theirs), *cells]


def _seconds(value: float | None) -> str:
    """Seconds, or that they never end."""
    if value is None:
        return NONE
    return "never" if value == NEVER else f"{number(value, 2)} s"
