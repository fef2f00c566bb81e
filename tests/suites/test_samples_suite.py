"""The suite of several samples: what it takes for right, and the page that it fills."""

from __future__ import annotations

import anndata as ad
import numpy as np
from benchmarks.harness.report import filled
from benchmarks.harness.results import Results
from benchmarks.harness.suite import DOCS
from benchmarks.samples import between, goals, report, shared
from benchmarks.samples.__main__ import SUITE
from benchmarks.samples.peers import PEERS
from benchmarks.samples.simulate import Design, draw
from scipy.stats import mannwhitneyu


def truth() -> ad.AnnData:
    """Three programs on ten genes each, of which two are shared."""
    raised = np.arange(30)[:, None] // 10 == np.arange(3)
    spectra = np.where(raised, 0.05, 0.01)
    return ad.AnnData(
        np.ones((5, 30)),
        varm={"true_raised": raised, "true_spectra": spectra},
        uns={"programs": {"names": ["a", "b", "c"], "shared": np.array([0, 1])}},
    )


def test_the_planted_programs_are_right_and_blends_are_merged():
    adata = truth()
    profiles = shared.true_profiles(adata)
    best = shared.judged(adata, shared.Programs(profiles, np.array([3, 3, 1])))
    assert (best["f1"], best["false"], best["merged"]) == (1.0, 0, 0)
    blend = shared.judged(adata, shared.Programs((profiles[0] + profiles[1])[None], np.array([3])))
    assert (blend["right"], blend["false"], blend["merged"]) == (0, 1, 1)
    private = shared.judged(adata, shared.Programs(profiles, np.array([3, 3, 2])))
    assert private["private_shared"] == private["false"] == 1


def test_the_rank_sum_test_over_cells_is_scipys():
    rng = np.random.default_rng(0)
    values, treated = rng.random((40, 3)), np.arange(40) < 15
    ranks = np.argsort(np.argsort(values, axis=0), axis=0) + 1.0
    expected = mannwhitneyu(values[treated], values[~treated], method="asymptotic", use_continuity=False).pvalue
    np.testing.assert_allclose(between.wilcoxon(ranks, treated), expected)


def test_samples_are_as_they_were_asked_for():
    design = Design(n_samples=3, n_cells=30, n_genes=100, n_shared=2, n_private=1, n_activities=1)
    adata = draw(design, 0)
    assert adata.obs["sample"].nunique() == 3
    np.testing.assert_allclose(adata.obsm["true_usages"].sum(axis=1), 1.0)
    private = adata.obs["cell_type"] == "type 3"
    assert set(adata.obs.loc[private, "sample"]) <= {"s0"}


def test_the_page_is_filled_from_records():
    found = {"f1": 1.0, "right": 8, "false": 0, "merged": 0, "n_shared": 8, "seconds": 1.0}
    names = ("share", "usage", between.AS_BATCHES, "true usages", between.OVER_CELLS)
    called = {name: {"found": True, "others": 1} for name in names}
    rates = dict.fromkeys((*between.TESTS, between.AS_BATCHES, between.OVER_CELLS), 0.04)
    records = {
        "shared/metaprograms, mild/0": {"kind": "shared", "what": "metaprograms, mild", "seed": 0, **found},
        "nothing/8/0": {"kind": "nothing", "what": "8", "n_samples": 8, "n_permutations": 100, "rates": rates},
        "something/8/0": {"kind": "something", "what": "8", "n_samples": 8, "called": called},
    }
    page = filled((DOCS / "samples.md").read_text(), report.fill(Results(records)))
    assert "100% of 1 draws, 1.0 others" in page
    assert "8.0 of 8" in page
    assert {goal.row(Results({})).measured for goal in goals.GOALS} == {"not measured"}


def test_every_draw_has_a_job():
    given = SUITE.parser().parse_args(["--seeds", "2", "--draws", "1", "--samples", "8", "--designs", "mild"])
    assert len(SUITE.batches(given)) == 2 * len(PEERS) + 2
