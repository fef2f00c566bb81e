"""What was asked of a run, seconds of writing and outliers, and how to read it from the results."""

from __future__ import annotations

from benchmarks.harness.goals import Found, Goal, verdict
from benchmarks.harness.results import Results

SIZES = {5_000: 8.0, 100_000: 12.0}
"""Cells of a run, and the seconds that writing may take on two cores."""

CLEAN = ("pollen", "yan", "deng", "goolam", "pbmc3k", "zeisel", "bladder", "xin", "camp1", "kang")
"""Labelled sets whose cells passed the quality control of their authors."""

MOST_FALSE, LEAST_TRUE = 0.01, 0.9
COMMAND = "python -m benchmarks.runs"


def writing(n_cells: int, most: float) -> Goal:
    """Seconds of writing by the clock."""

    def read(results: Results) -> Found:
        (record,) = results.get(f"cost/{n_cells}")
        seconds = record["timings"]["write"]
        return f"{seconds:.1f} s", verdict(seconds, most, at_least=False)

    return Goal(f"writing takes at most {most:g} s at {n_cells:,} cells", read, f"{COMMAND} --cells {n_cells}")


def false_alarms(results: Results) -> Found:
    """The largest share of cells flagged in a clean set."""
    records = results.get(*(f"outliers/{name}" for name in CLEAN))
    shares = {record["data"]: record["flagged"] / record["n_cells"] for record in records}
    worst = max(shares, key=lambda name: shares[name])
    most = f"at most {100 * shares[worst]:.2f}% ({worst})" if shares[worst] else "none"
    return f"{most} on {len(shares)} sets", verdict(shares[worst], MOST_FALSE, at_least=False)


def detection(results: Results) -> Found:
    """The lower of precision and recall on the paper's outlier data."""
    (record,) = results.get("outliers/paper")
    told = f"precision {record['precision']:.2f}, recall {record['recall']:.2f} over {record['n_seeds']} draws"
    return told, verdict(min(record["precision"], record["recall"]), LEAST_TRUE, at_least=True)


GOALS = [
    *(writing(n_cells, most) for n_cells, most in SIZES.items()),
    Goal("under 1% of the cells of a clean set flagged as outliers", false_alarms, f"{COMMAND} --outliers"),
    Goal("the paper's outliers: precision and recall above 0.9", detection, f"{COMMAND} --outliers paper"),
]
