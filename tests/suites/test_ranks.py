"""The sweep over ranks: what it makes of records, and the page that it fills."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the suite is run from a checkout, it is not installed

from benchmarks.harness.report import filled  # noqa: E402
from benchmarks.harness.results import Results  # noqa: E402
from benchmarks.harness.suite import DOCS  # noqa: E402
from benchmarks.ranks import report  # noqa: E402
from benchmarks.ranks.__main__ import SUITE  # noqa: E402
from benchmarks.ranks.job import take  # noqa: E402
from benchmarks.ranks.results import reached, time_to  # noqa: E402


def record(seconds, objective, history=(), seed=0):
    end = {"time": seconds, "objective": objective, "peak": 2**20, "title": "peer", "threads": 2, "n_jobs": 2}
    return {**end, "history": list(history), "load": 0.0, "seed": seed}


FOUND = Results(
    {
        "atlas-5k/sklearn/16/0": record(10.0, 50.0),
        "atlas-5k/genesieve/16/0": record(4.0, 40.0, [(1.0, 60.0), (2.0, 50.0)]),
        "atlas-5k/sklearn/16/1": record(9.0, 50.0, seed=1),
        "atlas-5k/genesieve/16/1": record(3.0, 55.0, seed=1),
        "atlas-5k/sklearn/16/2": record(12.0, 46.0, seed=2),
        "atlas-5k/genesieve/16/2": record(4.0, 45.0, seed=2),
        "atlas-5k/genesieve/16/3": record(1.0, 45.0, seed=3),
    }
)


def test_the_first_objective_as_low_as_the_target_counts():
    run = FOUND.records["atlas-5k/genesieve/16/0"]
    assert time_to(run, 50.0) == 2.0
    assert time_to(run, 41.0) == 4.0
    assert time_to(run, 39.0) == float("inf")


def test_times_are_medians_over_seeds_of_which_some_never_arrive():
    found = reached(FOUND, "atlas-5k", "sklearn", 16)
    assert (found.theirs, found.seconds, found.close) == (10.0, 4.0, 4.0)
    assert found.faster == 3.0  # of 5 times, never and 3 times; the fit from seed 3 has no rival
    assert reached(FOUND, "atlas-5k", "rcppml", 16) is None


def test_the_page_has_a_place_for_every_text(tmp_path):
    page = (DOCS / SUITE.page).read_text(encoding="utf-8")
    assert "Not measured." in filled(page, dict.fromkeys(report.fill(Results({}), tmp_path), ""))
    text = filled(page, report.fill(FOUND, tmp_path))
    assert "| 16 | 10.00 s | 4.00 s | 3.0x |" in text
    assert "by the clock, on 2 threads" in text
    assert [path.name for path in tmp_path.iterdir()] == ["ranks.png"]


def test_every_job_has_a_name_of_its_own():
    jobs = SUITE.batches(SUITE.parser().parse_args([]))
    assert len({batch[0].name for batch in jobs}) == len(jobs)


@pytest.mark.parametrize(("n_jobs", "kind"), [(1, "cpu"), (2, "seconds")])
@pytest.mark.parametrize("peer", ["genesieve", "sklearn"])
def test_times_are_of_the_processor_on_one_thread_and_by_the_clock_on_more(peer, n_jobs, kind):
    found = take("atlas-5k", peer, 3, 0, n_jobs=n_jobs, quick=True)
    assert found["time"] == found[kind] > 0
    assert all(seconds <= found["time"] for seconds, _ in found["history"])
    assert all(objective >= found["objective"] * (1 - 1e-6) for _, objective in found["history"])
