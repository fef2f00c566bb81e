"""The suite of gene scores: what it measures of a truth, and the page that it fills."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest
from benchmarks.genes import goals, oracle, planted, plots, report, selected, terms
from benchmarks.genes.__main__ import SUITE, job
from benchmarks.genes.planted import KINDS, LEVELS
from benchmarks.genes.selected import COUNTS, LABELLED_COUNTS
from benchmarks.genes.selectors import SELECTORS
from benchmarks.harness.report import filled
from benchmarks.harness.results import Results
from benchmarks.harness.suite import DOCS
from scipy.stats import nbinom

import genesieve as gs
from genesieve.interpret.scores import score_genes


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


def test_the_likelihood_is_that_of_gamma_poisson_counts():
    rng = np.random.default_rng(0)
    Y, mean, other = rng.integers(0, 9, (20, 3)), rng.random((20, 3)) + 0.1, rng.random((20, 3)) + 0.1
    shape = np.full((20, 3), 2.5)
    logs = [nbinom.logpmf(Y, shape, shape / (shape + each)).sum(axis=0) for each in (mean, other)]
    np.testing.assert_allclose(oracle.log_ratio(Y, mean, other, shape), logs[1] - logs[0])


def test_the_level_of_a_gene_is_what_programs_have_of_it_that_do_not_raise_it():
    rng = np.random.default_rng(0)
    raised, level = rng.random((200, 4)) < 0.1, rng.random((200, 1))
    spectra = level * np.where(raised, 5.0, 1.0)
    totals = spectra.sum(axis=0)
    some = ~raised.all(axis=1)
    np.testing.assert_allclose(oracle.unraised(spectra / totals, raised)[some], (level / totals)[some])


def test_nothing_ranks_raised_genes_better_than_their_likelihood():
    adata = planted.draw("easy", 0, {"n_cells": 300, "n_genes": 800})
    gs.pp.prepare(adata)
    known = oracle.likelihood_ratios(adata, "easy", 0, {"n_cells": 300, "n_genes": 800})
    scores = score_genes(adata.X, adata.obsm["true_usages"]).score
    best, ours = (planted.judged(adata, found, None) for found in (known, scores))
    assert all(best[kind]["precision"] > ours[kind]["precision"] for kind in KINDS)


def records() -> Results:
    """What jobs of every level and of one data set leave."""
    fields = dict.fromkeys(("precision", "precision_often", "best_right", *report.CUT), 0.04)
    scores = {name: {kind: dict(fields) for kind in KINDS} for name in report.SCORES}
    found = {f"planted/{level}/0": {"kind": "planted", "what": level, "scores": scores} for level in LEVELS}
    found |= {f"cnmf/{level}/0": {"kind": "cnmf", "what": level, "scores": scores} for level in LEVELS[:3]}
    leading = {"before": ["Ribosome"], "after": ["B Cell Receptor Signaling"]}
    program = {"cells": 3, "type": "B", "markers": ["CD79A"], **leading}
    found["real/pbmc3k/0"] = {"kind": "real", "what": "pbmc3k", "programs": [program]}
    return Results({**found, **selections()})


def selections() -> dict[str, dict[str, object]]:
    """What every selector leaves: ours is right, the others in half of the genes."""
    found = {}
    for name in SELECTORS:
        right = 1.0 if name == goals.OURS else 0.5
        counts = [{"k": k, "precision": right, "recall": 0.1, "nmi": right, "balanced_accuracy": right} for k in COUNTS]
        about = {"selector": name, "n_raised": 900, "counts": counts}
        found |= {f"selected/{name}/{level}/0": {"kind": "selected", "what": level, **about} for level in LEVELS}
        found[f"labelled/{name}/pollen/0"] = {"kind": "labelled", "what": "pollen", **about}
    return found


def test_the_page_is_filled_from_records():
    page = filled((DOCS / "genes.md").read_text(), report.fill(records(), ["genes-selected.png"]))
    assert "| B (3) | CD79A | Ribosome | B Cell Receptor Signaling |" in page
    assert "0.040 / 0.040" in page
    assert "1 of 1 programs, 0 before" in page
    assert "| genesieve |" + " 1.00 (0.10) |" * len(COUNTS) in page
    assert "| genesieve |" + " 1.000 |" * len(LABELLED_COUNTS) in page
    assert "the least lead is +0.500" in page


@pytest.mark.parametrize(
    ("term", "cell_type", "about"),
    [
        ("T Cell Activation", "CD4 T cells", True),
        ("T Cell Activation", "B", False),
        ("Defense Response To Bacterium", "CD14+ Monocytes", True),
        ("Defense Response To Virus", "beta", True),
        ("Cytoplasmic Translation", "CD8 T", False),
    ],
)
def test_a_set_is_about_a_type_or_an_activity_by_its_words(term, cell_type, about):
    assert terms.is_about(term, cell_type) == about


def test_genes_are_judged_by_what_is_raised_among_them():
    raised = np.arange(10) < 4
    assert selected.right(raised, np.array([0, 1, 8, 9])) == {"precision": 0.5, "recall": 0.5}


@pytest.mark.parametrize("selector", ["genesieve", "cell_ranger"])
def test_a_selection_is_judged_at_every_count_that_leaves_a_choice(selector):
    size = {"n_cells": 150, "n_genes": 300, "n_types": 3, "n_activities": 1}
    record = selected.on_planted("easy", selector, 0, size)
    assert [count["k"] for count in record["counts"]] == [k for k in COUNTS if k < record["shape"][1]]
    first = record["counts"][0]
    assert first["precision"] * first["k"] == pytest.approx(first["recall"] * record["n_raised"])


def test_pictures_are_drawn_where_there_is_something_to_draw(tmp_path):
    assert plots.draw(Results({}), tmp_path) == []
    assert all((tmp_path / name).exists() for name in plots.draw(records(), tmp_path))


def test_goals_say_what_was_not_measured():
    rows = [goal.row(Results({})) for goal in goals.GOALS]
    assert {row.measured for row in rows} == {"not measured"}


def test_every_level_and_data_set_has_a_job():
    given = SUITE.parser().parse_args(["--seeds", "2"])
    names = [batch[0].name for batch in SUITE.batches(given)]
    assert len(names) == 2 * len(LEVELS) + 3 + 3
    assert job("planted", "easy", 1, {}).name in names


def test_every_selector_meets_every_draw_and_labelled_set():
    given = SUITE.parser().parse_args(["--selected", "--seeds", "2", "--labelled", "pollen", "deng"])
    names = [job.name for batch in SUITE.batches(given) for job in batch]
    assert len(names) == len(set(names)) == len(SELECTORS) * (2 * len(LEVELS) + 2)
