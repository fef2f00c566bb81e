"""The suite of gene scores: what it measures of a truth, and the page that it fills."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest
from benchmarks.genes import goals, planted, report
from benchmarks.genes.__main__ import SUITE, job
from benchmarks.genes.planted import KINDS, LEVELS
from benchmarks.harness.report import filled
from benchmarks.harness.results import Results
from benchmarks.harness.suite import DOCS


def test_programs_are_matched_to_the_true_ones():
    true = np.random.default_rng(0).dirichlet(np.full(4, 0.2), 100)
    order = np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(planted.matched(true[:, order], true), np.argsort(order))


def test_a_perfect_score_is_judged_perfect_and_a_cut_by_what_it_lets_through():
    raised = np.arange(100) < 20
    best = planted.judged_program(raised, raised.astype(float), np.ones(100, dtype=bool))
    assert best == {"precision": 1.0, "precision_often": 1.0, "best_right": 20 / 50}
    p_values = np.where(np.arange(100) < 10, 1e-9, 1.0)
    p_values[[50, 51]] = 1e-9
    cut = planted.judged_cut(raised, p_values)
    assert cut["false_0.05"] == pytest.approx(2 / 12)
    assert cut["sensitivity_0.1"] == pytest.approx(0.5)


def test_kinds_of_programs_are_judged_apart():
    raised = np.arange(40)[:, None] % 2 == np.arange(2)
    adata = ad.AnnData(np.ones((5, 40)), varm={"true_raised": raised}, uns={"programs": {"kind": list(KINDS)}})
    found = planted.judged(adata, np.column_stack([raised[:, 0], raised[:, 0]]).astype(float), None)
    assert found["identity"]["precision"] == 1.0
    assert found["activity"]["precision"] < 0.7


def records() -> Results:
    """What jobs of every level and of one data set leave."""
    fields = dict.fromkeys(("precision", "precision_often", "best_right", *report.CUT), 0.04)
    scores = {name: {kind: dict(fields) for kind in KINDS} for name in report.SCORES}
    found = {f"planted/{level}/0": {"kind": "planted", "what": level, "scores": scores} for level in LEVELS}
    found |= {f"cnmf/{level}/0": {"kind": "cnmf", "what": level, "scores": scores} for level in LEVELS[:3]}
    leading = {"before": ["Ribosome"], "after": ["B cell receptor signaling pathway"]}
    program = {"cells": 3, "type": "B", "markers": ["CD79A"], **leading}
    return Results({**found, "real/pbmc3k/0": {"kind": "real", "what": "pbmc3k", "programs": [program]}})


def test_the_page_is_filled_from_records():
    page = filled((DOCS / "genes.md").read_text(), report.fill(records()))
    assert "| B (3) | CD79A | Ribosome | B cell receptor signaling pathway |" in page
    assert "0.040 / 0.040" in page
    assert "100% of the programs, 0% before" in page


def test_goals_say_what_was_not_measured():
    rows = [goal.row(Results({})) for goal in goals.GOALS]
    assert {row.measured for row in rows} == {"not measured"}


def test_every_level_and_data_set_has_a_job():
    given = SUITE.parser().parse_args(["--seeds", "2"])
    names = [batch[0].name for batch in SUITE.batches(given)]
    assert len(names) == 2 * len(LEVELS) + 3 + 3
    assert job("planted", "easy", 1, {}).name in names
