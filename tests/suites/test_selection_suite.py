"""The suite of suggested numbers: what it makes of records, and the page that it fills."""

from __future__ import annotations

from benchmarks.harness.report import filled
from benchmarks.harness.results import Results
from benchmarks.harness.suite import DOCS
from benchmarks.selection import report
from benchmarks.selection.__main__ import SUITE, job


def record(rank, genes, seed=0):
    about = job("planted", "easy", seed, (5, 0), {}).parameters
    return {**about, "true_rank": 5, "rank": rank, "true_genes": 100, "genes": genes, "cpu_seconds": 1.0}


def test_shares_are_of_the_draws():
    found = Results({"planted/a": record(5, 140), "planted/b": record(7, 160, seed=1)})
    assert "| all | 2 | 50% | 2 | 50% |" in report.summary(found)
    assert "| easy | 5 + 0 | 5, 7 | - | 100, 100 | 140, 160 | 1.0 |" in report.planted_table(found)


def test_the_page_has_a_place_for_every_text():
    page = (DOCS / SUITE.page).read_text(encoding="utf-8")
    assert "Not measured." in filled(page, dict.fromkeys(report.fill(Results({})), ""))


def test_every_job_has_a_name_of_its_own():
    jobs = SUITE.batches(SUITE.parser().parse_args(["--seeds", "2"]))
    assert len({batch[0].name for batch in jobs}) == len(jobs)
