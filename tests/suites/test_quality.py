from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the suite is run from a checkout, it is not installed

from benchmarks.harness.job import main, measured  # noqa: E402
from benchmarks.harness.peers import Missing  # noqa: E402
from benchmarks.harness.report import filled  # noqa: E402
from benchmarks.harness.results import path_of  # noqa: E402
from benchmarks.quality import cells, data, genes, goals, job, report  # noqa: E402
from benchmarks.quality.__main__ import SUITE, seeds_of  # noqa: E402
from benchmarks.quality.peers import PEERS, cnmf, leiden  # noqa: E402
from benchmarks.quality.results import Results  # noqa: E402
from benchmarks.quality.score import score, stability  # noqa: E402

CLASSES = np.repeat(["a", "b", "c"], [5, 10, 20])
SLOW_PEERS = {"cnmf", "leiden_pca", "leiden_default"}  # another interpreter; neighbours that are compiled first


@pytest.fixture(scope="module")
def labelled():
    return cells.synthetic()


def results_of(records) -> Results:
    return Results({f"{each['data']}/{each['method']}/{each['seed']}": each for each in records})


def record(data_name: str, method: str, seed: int, **fields):
    base = {"nmi": 0.5, "ari": 0.5, "purity": 0.5, "entropy": 0.5, "n_clusters": 3, "seconds": 1.0}
    base |= {"shape": [600, 100], "n_classes": 4, "labels": [0, 1, 2], "load": 0.0, "versions": {}}
    return {"data": data_name, "method": method, "seed": seed, **base, **fields}


# ------------------------------------------------------------------------------------------------ the scorer


def test_perfect_labels_score_one():
    perfect = score(CLASSES, np.unique(CLASSES, return_inverse=True)[1])
    assert (perfect.nmi, perfect.ari, perfect.purity) == pytest.approx((1.0, 1.0, 1.0))
    assert perfect.entropy == pytest.approx(0.0)
    assert perfect.n_clusters == 3


def test_score_does_not_depend_on_names_or_order():
    rng = np.random.default_rng(0)
    labels, order = rng.integers(4, size=len(CLASSES)), rng.permutation(len(CLASSES))
    renamed = np.array([7, 0, 3, 1])[labels]
    expected = score(CLASSES, labels)
    for other in (score(CLASSES, renamed), score(CLASSES[order], labels[order])):
        assert vars(other) == pytest.approx(vars(expected))


def test_one_cluster_tells_nothing():
    lumped = score(CLASSES, np.zeros(len(CLASSES), dtype=int))
    assert (lumped.nmi, lumped.ari, lumped.n_clusters) == (0.0, 0.0, 1)
    assert lumped.purity == pytest.approx(20 / 35)


def test_stability_is_one_for_the_same_partition_and_unknown_for_one_run():
    labels = np.array([0, 0, 1, 1, 2])
    assert stability([labels, 2 - labels, labels]) == pytest.approx(1.0)
    assert stability([labels]) is None


# ------------------------------------------------------------------------------------------------ methods


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW_PEERS else name for name in PEERS]
)
@pytest.mark.filterwarnings("ignore")
def test_every_method_finds_clear_classes(name, labelled):
    peer = PEERS[name]
    try:
        assert peer.versions()
    except Missing as reason:
        pytest.skip(str(reason))
    labels = peer.run(labelled.cells, labelled.n_classes, 0)
    assert labels.shape == labelled.classes.shape
    assert score(labelled.classes, labels).nmi > 0.95


def test_methods_are_never_shown_the_classes(labelled):
    assert set(vars(labelled.cells)) == {"X", "linear", "log_base"}
    assert labelled.cells.adata().obs.empty


def test_a_method_that_is_not_installed_is_skipped_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setenv(cnmf.PYTHON, str(tmp_path / "none"))
    monkeypatch.setattr(job, "load", lambda name: pytest.fail("loaded for nothing"))
    jobs = json.dumps([vars(each) for each in seeds_of("pollen", "cnmf", 1)])
    with pytest.raises(SystemExit, match="False"):
        main(["quality", jobs, "--records", str(tmp_path)])
    written = json.loads(path_of(tmp_path, "pollen/cnmf/0").read_text())
    assert written["skipped"].startswith("cnmf is not installed")
    assert "cnmf is not installed" in results_of([written]).why_not("cnmf")


def test_a_failure_is_recorded(labelled, monkeypatch, capsys):
    def fails(*arguments):
        raise ValueError("no clusters today")

    monkeypatch.setattr(job, "load", lambda name: labelled)
    monkeypatch.setitem(job.METHODS, "kmeans", replace(PEERS["kmeans"], run=fails))
    found = measured(seeds_of("yan", "kmeans", 1)[0], job.take)
    assert found["failed"] == "ValueError: no clusters today"
    assert "nmi" not in found


@pytest.mark.parametrize("target", [1, 3, 8])
def test_the_resolution_is_found_by_bisection(target):
    labels = leiden.at_number(lambda resolution: np.arange(100) % max(1, int(4 * resolution)), target)
    assert len(np.unique(labels)) == target


def test_a_number_out_of_reach_gives_the_nearest():
    labels = leiden.at_number(lambda resolution: np.arange(100) % (5 if resolution < 1 else 9), 4)
    assert len(np.unique(labels)) == 5


# ------------------------------------------------------------------------------------------------ data


def test_prepared_cells_hold_the_values_before_the_logarithm(labelled):
    linear = labelled.cells.linear.toarray()
    np.testing.assert_array_equal(linear, np.round(linear))
    assert labelled.cells.X.shape == linear.shape


def test_logged_values_are_unlogged():
    anndata = pytest.importorskip("anndata")
    X = sparse.csr_matrix(np.log1p(np.random.default_rng(0).random((40, 10)).astype(np.float32) * 9))
    prepared = cells.prepared(anndata.AnnData(X), np.arange(40) % 2).cells
    np.testing.assert_allclose(prepared.linear.toarray(), np.expm1(prepared.dense()), rtol=1e-5)


def test_no_set_confirms_before_it_is_declared_what_was_chosen_on(monkeypatch):
    monkeypatch.setattr(data, "CHOSEN_ON", None)
    assert "not declared" in report.choice()
    monkeypatch.setattr(data, "CHOSEN_ON", frozenset({"yan"}))
    assert (data.role("yan"), data.role("xin")) == ("chosen on", "confirms")


# ------------------------------------------------------------------------------------------------ genes


def test_marker_genes_keep_more_than_idle_ones(labelled):
    markers = np.flatnonzero(np.arange(60) % 6 < 3)
    idle = np.setdiff1d(np.arange(60), markers)
    kept, lost = (genes.judge(labelled, chosen, 0) for chosen in (markers, idle))
    assert kept["balanced_accuracy"] > 0.95 > lost["balanced_accuracy"]
    assert kept["nmi"] > lost["nmi"]


@pytest.mark.parametrize("name", [name for name in genes.SELECTORS if name != "genes_all"])
@pytest.mark.filterwarnings("ignore")
def test_selectors_pick_as_many_genes_as_asked(name, labelled):
    picked = genes.SELECTORS[name].run(labelled.cells, labelled.n_classes, 0)(20)
    assert len(np.unique(picked)) == 20


def test_counts_that_leave_no_choice_are_left_out(labelled, monkeypatch):
    monkeypatch.setattr(genes, "COUNTS", (10, 60, 100))
    assert [row["k"] for row in genes.judged(labelled, genes.SELECTORS["genes_all"], 0)] == [10]


# ------------------------------------------------------------------------------------------------ runs and page


def test_runs_resume(tmp_path, monkeypatch):
    started = []

    def job_of(command, **options):
        seeds = [each["parameters"]["seed"] for each in json.loads(command[4])]
        started.append(seeds)
        for seed in seeds[:1]:  # the others end without a record
            path_of(tmp_path, f"yan/kmeans/{seed}").write_text(json.dumps(record("yan", "kmeans", seed)))

    monkeypatch.setattr("subprocess.run", job_of)
    batch = seeds_of("yan", "kmeans", 2)
    assert "ended without a record" in SUITE.run(batch, tmp_path, fresh=False)
    assert SUITE.run(batch, tmp_path, fresh=False).startswith("1 runs")
    assert SUITE.run(batch, tmp_path, fresh=False) == "measured before"
    SUITE.run(batch, tmp_path, fresh=True)
    assert started == [[0, 1], [1], [0, 1]]


def test_a_mean_needs_every_set():
    results = results_of([record(name, "kmeans", 0) for name in data.GOAL_SETS[1:]])
    assert results.over_sets(data.GOAL_SETS, "kmeans") is None
    assert results.over_sets(data.GOAL_SETS[1:], "kmeans") == 0.5


def test_goals_are_judged_from_the_records():
    def everywhere(method, nmi):
        return [record(name, method, seed, nmi=nmi + 0.01 * seed) for name in data.GOAL_SETS for seed in (0, 1)]

    results = results_of(
        everywhere("genesieve", 0.82)
        + everywhere("genesieve_graph", 0.80)
        + everywhere("leiden_pca", 0.81)
        + everywhere("genesieve_single", 0.8)
    )
    verdicts = {row.goal: row.verdict for row in (goal.row(results) for goal in goals.GOALS)}
    assert verdicts["mean NMI, argmax labels, at least 0.80"] == "met"
    assert verdicts["mean NMI, graph labels, at least 0.84"] == "missed by 0.035"
    assert verdicts["argmax labels above every peer in the mean"] == "met"
    assert verdicts["graph labels above every peer in the mean"] == "missed by 0.010"
    assert verdicts["a default fit costs at most 3 times a single start"] == "met"
    assert verdicts["250 genes against as many variable genes: NMI of k-means"] == "-"


def test_the_page_is_written_from_the_records(tmp_path):
    runs = [record(name, "kmeans", seed) for name in data.GOAL_SETS for seed in (0, 1)]
    counts = [{"k": 100, "n_genes": 100, "nmi": 0.4, "balanced_accuracy": 0.6}]
    judged = [{"data": "yan", "method": "genes_variable", "seed": 0, "load": 0.0, "counts": counts}]
    skipped = [{"data": "yan", "method": "cnmf", "seed": 0, "load": 0.0, "skipped": "cnmf is not installed"}]
    texts = report.fill(results_of(runs + judged + skipped), tmp_path / "img")
    page = filled((ROOT / "docs" / "quality.md").read_text(), texts)
    assert "| k-means | 0.500 |" in page
    assert "3.0 of 4" in page
    assert "* cNMF: yan: cnmf is not installed" in page
    assert {path.name for path in (tmp_path / "img").iterdir()} == {"quality-dots.png", "quality-genes.png"}
