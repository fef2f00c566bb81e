"""The suite of programs: what its scorer says of a truth, and the page that it fills."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness.report import filled
from benchmarks.harness.results import Results
from benchmarks.harness.suite import DOCS
from benchmarks.programs import report
from benchmarks.programs.__main__ import LEVELS, SUITE
from benchmarks.programs.peers import PEERS
from benchmarks.programs.score import KINDS, judged, matched

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


def records():
    kind = {"usage_r": 0.9, "spectrum_r": 0.8, "spectrum_found": 1.0, "sensitivity": 0.6, "false": 0.01}
    about = {"identity": kind, "activity": kind, "worst": 0.4, "lost": 1, "usage_r": [0.9, 0.4], "peak": None}
    return Results(
        {
            f"planted/{peer}/{level}/0": {"peer": peer, "level": level, "seconds": 2.0, **about}
            for peer in PEERS
            for level in LEVELS
        }
    )


def test_the_page_has_a_place_for_everything():
    page = filled((DOCS / "programs.md").read_text(), report.fill(records(), ["programs_usages.png"]))
    assert "0.900 / 0.900" in page
    assert "1 of 2 (1 draws; worst 0.40)" in page
    assert "img/programs_usages.png" in page


def test_every_peer_meets_every_draw():
    given = SUITE.parser().parse_args(["--levels", "hard", "faint", "--seeds", "2"])
    jobs = [batch[0] for batch in SUITE.batches(given)]
    assert len(jobs) == len({job.name for job in jobs}) == 2 * 2 * len(PEERS)
