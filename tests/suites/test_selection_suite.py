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
    assert "| easy | 5 + 0 | 2 | 5 (1x), 7 (1x) | - | - | 100 | 140 to 160 | 1.0 |" in report.planted_table(found)


def test_peers_are_compared_on_the_draws_they_were_given():
    peer = {**job("cnmf", "easy", 1, (5, 0), {}).parameters, "true_rank": 5, "rank": 8}
    found = Results({"planted/a": record(5, 140), "planted/b": record(6, 160, seed=1), "cnmf/b": peer})
    assert "| cNMF | 1 | 0% | 0% | 3 | 1 |" in report.peers_table(found)
    assert "RcppML" not in report.peers_table(found)


def test_finer_classes_have_rows_of_their_own_and_do_not_count_in_the_mean():
    about = {"rank": 8, "genes": 2000, "nmi": 0.7, "nmi_usual": 0.8}
    fine = {"fine_classes": 11, "fine_nmi": 0.9, "fine_nmi_usual": 0.95}
    one = {**job("real", "pollen", 0, (0, 0), {}).parameters, **about, **fine}
    two = {**job("real", "xin", 0, (0, 0), {}).parameters, **about, "nmi": 0.9}
    shown = report.real_table(Results({"a": one, "b": two}))
    assert "| mean | - | - | 0.800 | 0.800 |" in shown
    assert "| Pollen, its 11 finer classes | 8 | 2000 | 0.900 | 0.950 |" in shown


def test_the_page_has_a_place_for_every_text():
    page = (DOCS / SUITE.page).read_text(encoding="utf-8")
    assert "Not measured." in filled(page, dict.fromkeys(report.fill(Results({})), ""))


def test_every_job_has_a_name_of_its_own():
    jobs = SUITE.batches(SUITE.parser().parse_args(["--seeds", "2"]))
    names = [job.name for batch in jobs for job in batch]
    assert len(set(names)) == len(names) > len(jobs)


def test_shapes_and_peers_can_be_chosen():
    arguments = ["--levels", "easy", "--shapes", "5+0", "--peers", "rcppml", "--data", "--seeds", "1"]
    jobs = SUITE.batches(SUITE.parser().parse_args(arguments))
    assert [batch[0].name for batch in jobs] == ["planted/easy/5/0/100", "rcppml/easy/5/0/100"]
