"""The suite of whole runs: its jobs, goals and page."""

from __future__ import annotations

from benchmarks.harness.results import Results
from benchmarks.runs.__main__ import SUITE
from benchmarks.runs.goals import CLEAN, GOALS
from benchmarks.runs.report import STAGES, fill


def measured(write: float, flagged: int) -> Results:
    """Records as the jobs leave them."""
    common = {"threads": 2, "load": 0.1}
    timings = dict.fromkeys(STAGES, 1.0) | {"write": write}
    cost = {f"cost/{n}": {"n_cells": n, "timings": timings, **common} for n in (5_000, 100_000)}
    clean = {
        f"outliers/{name}": {"kind": "clean", "data": name, "n_cells": 1000, "flagged": flagged, **common}
        for name in CLEAN
    }
    drawn = {"outliers/paper": {"kind": "drawn", "n_seeds": 2, "precision": 0.95, "recall": 0.97, **common}}
    return Results(cost | clean | drawn)


def test_goals_say_what_was_met_and_what_was_missed():
    good = [goal.row(measured(5.0, 2)).verdict for goal in GOALS]
    assert all(verdict.startswith("met") for verdict in good)
    bad = [goal.row(measured(50.0, 20)).verdict for goal in GOALS]
    assert [verdict.split()[0] for verdict in bad] == ["missed", "missed", "missed", "met"]
    assert {goal.row(Results({})).verdict for goal in GOALS} == {"-"}


def test_the_page_has_a_place_for_every_text_and_no_table_without_rows():
    texts = fill(measured(5.0, 2))
    assert "| 5,000 | 1.0 | 1.0 | 1.0 | 1.0 | 5.0 | 9.0 |" in texts["seconds"]
    assert "0.20%" in texts["outliers"]
    empty = fill(Results({}))
    assert empty["seconds"] == empty["outliers"] == ""


def test_every_job_has_a_name_of_its_own():
    given = SUITE.parser().parse_args(["--quick", "--output", "x"])
    names = [job.name for batch in SUITE.batches(given) for job in batch]
    assert len(names) == len(set(names)) == 2 + len(CLEAN)
