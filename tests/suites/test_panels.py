"""The suite of panels: its page from records, and methods that need no other package."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pandas as pd
from benchmarks.harness.report import filled
from benchmarks.harness.results import Results
from benchmarks.harness.suite import DOCS
from benchmarks.panels import goals, peers, report
from benchmarks.panels.__main__ import SUITE, job
from benchmarks.panels.cells import DRAWN_SETS, SETS, TYPES
from benchmarks.panels.quick import agreement, overlap
from benchmarks.panels.space import Space


def record(data: str, method: str, n_genes: int, score: float, draw: int = 0) -> dict:
    parts = dict.fromkeys(report.PARTS, score)
    cost = {"seconds": 1.0, "cpu_seconds": 200.0 if method == "spapros" else 1.0, "peak": 10**6}
    made = job(data, method, n_genes, 100, draw)
    return {"job": made.name, **made.parameters, **parts, **cost, "score": score, "threads": 2, "load": 0.0}


def results(**scores: float) -> Results:
    found = [
        record(data, method, n, score + 0.01 * draw, draw)
        for draw in (0, 1, 2)
        for data in (DRAWN_SETS if draw else SETS)
        for method, score in scores.items()
        for n in goals.SIZES
    ]
    return Results({each["job"]: each for each in found})


def test_the_page_has_a_place_for_all_that_is_measured(tmp_path):
    texts = report.fill(results(panel=0.7, pca=0.6, spapros=0.7), tmp_path)
    page = filled((DOCS / SUITE.page).read_text(), texts)
    assert "| `gs.tl.panel` | without labels | 0.700" in page
    assert (tmp_path / report.DOTS).exists()


def test_goals_are_read_from_the_records():
    rows = {
        goal.goal: goal.row(results(panel=0.7, pca=0.71, hvg=0.1, random=0.1, spapros=0.705)) for goal in goals.GOALS
    }
    verdicts = [row.verdict for row in rows.values()]
    assert verdicts == ["met", "met", "missed by 0.010", "missed by 0.010", "-", "-", "met", "-", "-"]


def test_a_goal_about_all_sets_is_open_until_all_are_measured():
    some = Results({each["job"]: each for each in (record("kang", name, 50, 0.7, draw=1) for name in ("panel", "pca"))})
    assert goals.best_free(50)(some)[1] == goals.OPEN


def test_every_method_of_ours_chooses_as_many_genes_as_asked_for():
    rng = np.random.default_rng(0)
    types = np.arange(120) % 3
    X = rng.poisson(1 + 4 * (types[:, None] == np.arange(60) % 3))
    obs = pd.DataFrame({TYPES: pd.Categorical(types.astype(str))}, index=[f"c{i}" for i in range(120)])
    for name in ("panel", "panel_labels", "random", "ssnmf"):
        adata = ad.AnnData(np.log1p(X).astype(np.float32), obs=obs.copy())
        assert len(set(peers.PEERS[name].run(adata, 15))) == 15


def test_all_genes_keep_all_of_the_variation():
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(0.5, 4.0, size=(6, 40))[np.arange(300) % 6]).astype(float)
    every, few = Space.of(X), Space.of(X[:, :5])
    assert overlap(every.near, every.near) == 1.0
    np.testing.assert_allclose(agreement(every, every), 1.0)
    assert overlap(few.near, every.near) < 1.0
    assert max(agreement(few, every)) < 1.0


def test_a_standard_error_is_that_of_the_mean():
    middle, error = goals.with_error([0.1, 0.2, 0.3, 0.4])
    assert middle == 0.25
    assert error == np.std([0.1, 0.2, 0.3, 0.4], ddof=1) / 2
    assert np.isnan(goals.with_error([0.1])[1])
