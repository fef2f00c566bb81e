"""The suite of programs: what its scorer says of a truth, and the page that it fills."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness.data import DataSet
from benchmarks.harness.peers import Peer
from benchmarks.harness.report import filled
from benchmarks.harness.results import Results
from benchmarks.harness.suite import DOCS
from benchmarks.programs import goals, plots, report, stability
from benchmarks.programs.__main__ import SUITE
from benchmarks.programs.peers import PEERS
from benchmarks.programs.score import KINDS, LEVELS, classified, judged, matched, sensitivity

import genesieve as gs


@pytest.fixture(scope="module")
def adata():
    adata = gs.datasets.programs("easy", n_cells=150, n_genes=300, n_types=3, n_activities=1)
    gs.pp.prepare(adata)
    return adata


def test_programs_are_matched_whatever_their_order_and_the_size_of_cells():
    rng = np.random.default_rng(0)
    true, order = rng.dirichlet(np.full(4, 0.2), 100), np.array([2, 0, 3, 1])
    found, alike = matched(true[:, order] * rng.uniform(1, 9, (100, 1)), true)
    np.testing.assert_array_equal(found, np.argsort(order))
    np.testing.assert_allclose(alike, 1.0)


def test_the_truth_is_judged_perfect_and_noise_is_lost(adata):
    right = judged(adata, adata.obsm["true_usages"])
    assert right["lost"] == 0
    assert right["worst"] == pytest.approx(1.0)
    assert all(right[kind]["usage_r"] == pytest.approx(1.0) for kind in KINDS)
    wrong = judged(adata, np.random.default_rng(0).random(adata.obsm["true_usages"].shape))
    assert wrong["lost"] == len(wrong["usage_r"]) == 4
    assert wrong["identity"]["spectrum_r"] < right["identity"]["spectrum_r"]


def test_cells_are_told_apart_by_the_order_of_their_shares():
    true = np.array([[0.0, 1.0], [0.0, 0.5], [0.3, 0.0], [0.7, 0.0]])
    np.testing.assert_allclose(classified(true**2, true), 1.0)
    np.testing.assert_allclose(classified(-true, true), 0.0)
    np.testing.assert_allclose(classified(np.ones_like(true), true), 0.5)


def test_raised_genes_count_up_to_the_cut_with_so_many_false_ones():
    order = np.arange(6.0)[:, None]  # the p-values: genes in their order
    raised = np.array([[True, True, False, True, True, False]]).T
    np.testing.assert_allclose(sensitivity(order, raised, rate=0.0), 0.5)  # until the first false one
    np.testing.assert_allclose(sensitivity(order, raised, rate=0.2), 1.0)  # one of five is false
    np.testing.assert_allclose(sensitivity(-order, raised, rate=0.1), 0.0)  # the first is false
    np.testing.assert_allclose(sensitivity(order, np.zeros((6, 1), dtype=bool)), 0.0)


def records():
    kind = {
        "usage_r": 0.9,
        "classified": 0.9,
        "spectrum_r": 0.8,
        "spectrum_found": 1.0,
        "sensitivity": 0.6,
        "passed": 0.5,
        "false": 0.02,
    }
    about = {"identity": kind, "activity": kind, "worst": 0.4, "lost": 1, "usage_r": [0.9, 0.4], "peak": None}
    found = {
        f"{setting}/{peer}/{level}/0": {"peer": peer, "level": level, "seed": 0, "seconds": 2.0, **about}
        for setting in ("planted", "cnmf")
        for peer in PEERS
        for level in LEVELS
    }
    return Results({**found, "real/genesieve/xin": {"alike": 0.99, "worst": 0.9, "genes": 0.75}})


def test_the_page_has_a_place_for_everything():
    page = filled((DOCS / "programs.md").read_text(), report.fill(records(), ["programs-each.png"]))
    assert "0.900 / 0.900" in page
    assert "1 of 2 (1 draws; worst 0.40)" in page
    assert "img/programs-each.png" in page
    assert "0.9900 (0.900); genes 0.750" in page
    assert "| no program is lost | 4 lost in 4 draws, worst correlation 0.40 | missed by 4.000 |" in page


def test_goals_say_what_was_not_measured():
    assert {goal.row(Results({})).measured for goal in goals.GOALS} == {"not measured"}


def test_pictures_are_drawn_where_there_is_something_to_draw(tmp_path):
    assert plots.draw(Results({}), tmp_path) == []
    assert all((tmp_path / name).exists() for name in plots.draw(records(), tmp_path))


def test_seeds_that_give_the_same_are_alike_and_noise_is_not(adata, monkeypatch):
    source = DataSet("the draw", "none")
    monkeypatch.setattr(DataSet, "read", lambda _: adata.copy())
    monkeypatch.setattr(gs.pp, "prepare", lambda *given, **options: None)
    monkeypatch.setitem(stability.DATA, "draw", source)
    monkeypatch.setitem(stability.RANKS, "draw", 4)
    true = adata.obsm["true_usages"]
    for spread, alike in ((0.0, True), (1.0, False)):

        def run(adata, rank, n_genes, seed, spread=spread):
            return true * (1 - spread) + spread * np.random.default_rng(seed).random(true.shape)

        monkeypatch.setitem(PEERS, "noise", Peer("noise", "peer", run, dict))
        found = stability.measure("noise", "draw", 3)
        assert (found["worst"] > 0.99) == alike
        assert found["genes"] is None


def test_every_peer_meets_every_draw():
    given = SUITE.parser().parse_args(["--levels", "hard", "faint", "--seeds", "2"])
    jobs = [job for batch in SUITE.batches(given) for job in batch]
    assert len(jobs) == len({job.name for job in jobs}) == 2 * 2 * len(PEERS)


def test_every_peer_meets_every_real_set():
    given = SUITE.parser().parse_args(["--stability"])
    assert len(SUITE.batches(given)) == len(stability.RANKS) * len(PEERS)
