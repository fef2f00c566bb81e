from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace

import anndata as ad
import numpy as np
import pandas as pd
import pytest

import genesieve as gs
from genesieve.cli.reproduce import WHAT
from genesieve.core.solvers import Factors
from genesieve.io import RequestError
from genesieve.paper import contest, fig3, fig4, fig5, main, printed, published, study, table2, table3
from genesieve.paper.harness import Data, Task, run_tasks
from genesieve.paper.main import EXPERIMENTS, NEED_DATA, reproduce
from genesieve.paper.study import draw, read_labelled, read_reference
from material import REFERENCE_NAMES, SYNTHETIC, SYNTHETIC_NMI, shared_file

FACTORISATIONS = [name for name in published.METHODS if not name.startswith("kmeans")]
calls: Counter[int] = Counter()


def square(data: Data, task: Task) -> dict[str, object]:
    calls[task.start] += 1
    return {"square": task.start**2, "array": np.arange(2), "number": np.float64(0.1)}


def tasks(n: int, **options: object) -> list[Task]:
    return [Task(square, "draw0", "square", start, options) for start in range(n)]


@pytest.fixture
def labelled_file(tmp_path):
    X, labels = gs.datasets.synthetic(random_state=0)
    adata = ad.AnnData(X, obs=pd.DataFrame({"class": [f"c{label}" for label in labels]}, index=map(str, range(60))))
    adata.var_names = [f"g{i}" for i in range(500)]
    adata.write_h5ad(tmp_path / "small.h5ad")
    return tmp_path / "small.h5ad"


@pytest.fixture
def quick(monkeypatch):
    """Published runs cut short: what they find does not matter here."""
    short = {"max_iter": 5, "stages": 2}
    monkeypatch.setattr(published, "NMF_ITERATIONS", 25)
    monkeypatch.setattr(study, "SYNTHETIC", replace(published.SYNTHETIC, **short))
    monkeypatch.setattr(study, "REAL", replace(published.REAL, **short))
    monkeypatch.setattr(fig5, "RECIPE", replace(fig5.RECIPE, **short))
    monkeypatch.setattr(fig4, "OMEGAS", (0.0, 0.1))


@pytest.fixture
def gmt(tmp_path):
    path = tmp_path / "sets.gmt"
    lines = [f"SET_{a}\t\t" + "\t".join(f"g{i}" for i in range(40 * a, 40 * a + 60)) for a in range(3)]
    path.write_text("\n".join(lines))
    return path


# ------------------------------------------------------------------------------------------------ harness


def test_a_rerun_computes_nothing_and_gives_the_same(tmp_path):
    calls.clear()
    first = run_tasks([*tasks(3), *tasks(3)], {"draw0": draw(0)}, tmp_path, n_jobs=1)[3:]
    again = run_tasks(tasks(3), {"draw0": draw(0)}, tmp_path, n_jobs=1)
    assert first == again
    assert calls == {0: 1, 1: 1, 2: 1}
    assert first[2].result == {"square": 4, "array": [0, 1], "number": 0.1}


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    calls.clear()

    def interrupt(done: int, total: int, task: Task) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks(tasks(5), {"draw0": draw(0)}, tmp_path, n_jobs=1, progress=interrupt)
    assert len(calls) < 5
    done = run_tasks(tasks(5), {"draw0": draw(0)}, tmp_path, n_jobs=1)
    assert [each.result["square"] for each in done] == [0, 1, 4, 9, 16]
    assert set(calls.values()) == {1}


def test_half_a_file_is_computed_again(tmp_path):
    run_tasks(tasks(1), {"draw0": draw(0)}, tmp_path, n_jobs=1)
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:20])
    calls.clear()
    run_tasks(tasks(1), {"draw0": draw(0)}, tmp_path, n_jobs=1)
    assert calls == {0: 1}
    assert json.loads(file.read_text())["result"]["square"] == 0


@pytest.mark.parametrize("change", ["options", "data", "recipe"])
def test_other_parameters_are_another_task(tmp_path, change):
    data = draw(0)
    run_tasks(tasks(1), {"draw0": data}, tmp_path, n_jobs=1)
    calls.clear()
    other = Data("draw0", data.X * 2, data.labels, data.recipe) if change == "data" else data
    other = Data("draw0", data.X, data.labels, published.REAL) if change == "recipe" else other
    run_tasks(tasks(1, **({"k": 2} if change == "options" else {})), {"draw0": other}, tmp_path, n_jobs=1)
    assert calls == {0: 1}


def test_processes_change_nothing(tmp_path):
    work = [
        task for way in (contest.PUBLISHED, contest.OURS) for task in contest.tasks(draw(0), way, [0, 1], ["nmf_l20"])
    ]
    one = run_tasks(work, {"draw0": draw(0)}, tmp_path / "one", n_jobs=1)
    two = run_tasks(work, {"draw0": draw(0)}, tmp_path / "two", n_jobs=2)
    assert [each.result for each in one] == [each.result for each in two]


# ------------------------------------------------------------------------------------------------ printed values


def test_every_method_has_its_printed_values():
    assert set(printed.NAMES) == set(gs.METHODS) == set(published.METHODS) == set(printed.FIG3)
    for rows in printed.TABLE2.values():
        assert set(rows) == set(gs.METHODS) - {"nmf"}  # not in the paper's table
    for rows in printed.TABLE3.values():
        assert {len(values) for values in rows.values()} == {len(printed.TABLE3_BUDGETS)}
        assert tuple(rows) == printed.TABLE3_METHODS


def test_table_2_shows_what_other_assumptions_would_give(quick, monkeypatch, labelled_file, tmp_path):
    """Where there are printed values to hold them against: the file has their name, and enough of their genes."""
    pollen = labelled_file.rename(tmp_path / "pollen.h5ad")
    monkeypatch.setitem(study.GENES_KEPT, "pollen", 500)
    monkeypatch.setattr(table2, "ASSUMED", {"onmf_lc0": [{"norm": 20.0}], "nmf_l20": [{"nmf_iterations": 3}]})
    out = tmp_path / "out"
    reproduce("table2", out, data=[pollen], labels=["class"], n_starts=2, n_jobs=1)
    text = (out / "table2.md").read_text()
    assert "| ONMF_lc0 | norm = 20 | 81.62 ± 0.32 |" in text
    assert "| NMF_l20 | nmf_iterations = 3 | 85.87 ± 1.29 |" in text
    assert len(pd.read_csv(out / "table2.csv")) == 2 * (12 + 12 + 1) + 2 * 2


def test_the_assumed_norm_and_length_of_a_published_run_are_those_of_its_recipe():
    X, start = np.random.default_rng(0).random((30, 40)), published.random_start((30, 40), 3, 0)
    recipe = replace(published.SYNTHETIC, n_genes=10, stages=1)
    for norm, expected in ((None, 3.0), (20.0, 20.0)):
        fit = published.METHODS["onmf_lc0"](X, start, replace(recipe, norm=norm), 0)
        assert np.linalg.norm(fit.stages[-1].factors.W) == pytest.approx(expected)
    begun = published.METHODS["nmf"](X, start, replace(recipe, nmf_iterations=3), 0).stages[-1].factors
    np.testing.assert_array_equal(begun.W, published.nmf(X, start, max_iter=3).W)


def test_tables_2_and_3_agree_where_they_overlap():
    at = printed.TABLE3_BUDGETS.index(2000)
    for name, rows in printed.TABLE3.items():
        for method, values in rows.items():
            assert values[at] == printed.TABLE2[name][method].nmi.mean


def test_printed_tables_are_those_of_the_paper():
    text = shared_file("paper", "ssnmf.tex").read_text()
    text = re.sub(r"\\textbf\{([^{}]*)\}", r"\1", text.replace("\\_", "_").replace("$", "")).replace("\\ell", "l")
    text = re.sub(r"[{}\s]|\\textbf", "", text).replace("\\rho", "rho").replace("_l_", "_l")
    for name, rows in printed.TABLE2.items():
        part = text.split(f"{name.capitalize()}data&\\#gene")[1]
        for method, row in rows.items():
            numbers = "&".join(f"{score.mean:.2f}\\pm{score.sd:.2f}" for score in row[1:])
            assert f"{printed.NAMES[method]}&{row.genes}&{numbers}" in part.split("\\hline")[1], (name, method)
    for name, rows in printed.TABLE3.items():
        part = text.split(f"{name.capitalize()}data(k=)")[1].split("\\hline")[1]
        for method, values in rows.items():
            assert f"{printed.NAMES[method]}&" + "&".join(f"{value:.2f}" for value in values) in part, (name, method)


# ------------------------------------------------------------------------------------------------ published runs


@pytest.mark.parametrize("method", FACTORISATIONS)
def test_tasks_score_the_published_runs(reference, method):
    data = read_reference(SYNTHETIC)
    score = contest.as_published(data, Task(contest.as_published, data.name, method, 3))["nmi"]
    assert score == pytest.approx(reference.nmi[REFERENCE_NAMES[method]][3], abs=1e-6)  # printed to six digits


@pytest.mark.parametrize("method", sorted(set(published.METHODS) - set(FACTORISATIONS)))
def test_published_clusterings_are_within_one_sd_of_the_published_mean(method):
    data = read_reference(SYNTHETIC)
    each = [
        contest.as_published(data, Task(contest.as_published, data.name, method, start))["nmi"] for start in range(10)
    ]
    assert np.mean(each) == pytest.approx(printed.FIG3[method].mean, abs=printed.FIG3[method].sd)


def test_published_means_are_those_of_the_reference():
    scores = json.loads(SYNTHETIC_NMI.read_text())
    for method, score in printed.FIG3.items():
        name = REFERENCE_NAMES[method]
        assert (score.mean, score.sd) == (scores["mean"][name], scores["sd"][name])


def test_published_sparsity_is_the_papers():
    data = draw(0)
    data = replace(data, recipe=replace(data.recipe, max_iter=10, stages=2))
    counts = {}
    for method in FACTORISATIONS:
        W = published.METHODS[method](data.X, data.start(0), data.recipe, 0).stages[-1].factors.W
        assert (W >= 0).all()
        counts[method] = (np.count_nonzero(W), np.count_nonzero(W.any(axis=1)), np.count_nonzero(W, axis=0).max())
    for method in FACTORISATIONS:
        entries, rows, column = counts[method]
        assert not method.endswith("_l0") or entries <= 360
        assert "_l20" not in method or rows <= 120
        assert not method.endswith("_lc0") or column <= 120


def test_starts_are_the_published_ones_where_known():
    data = draw(0)
    start = Factors(np.ones((60, 3)), np.ones((500, 3)))
    known = Data("x", data.X, data.labels, data.recipe, (start,))
    assert known.start(0) is start
    np.testing.assert_array_equal(known.start(1).H, data.start(1).H)
    assert not np.array_equal(data.start(0).W, data.start(1).W)


# ------------------------------------------------------------------------------------------------ end to end


def test_every_experiment_runs_and_rerunning_gives_the_same_files(tmp_path, labelled_file, gmt, quick):
    heard = []
    out = tmp_path / "out"
    options = {"data": [labelled_file], "labels": ["class"], "gene_sets": gmt, "n_starts": 2, "n_jobs": 1}
    written = reproduce("all", out, **options, say=heard.append)
    assert [path.stem for path in written] == list(EXPERIMENTS)
    assert len(heard) == len(EXPERIMENTS)
    texts = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    for name in ("fig1", "fig2", "fig3", "fig4", "fig5", "fig6-small-W", "fig6-small-overlap", "fig6-small-enrichment"):
        assert texts[f"{name}.png"].startswith(b"\x89PNG")
    n_tasks = len(list((out / "tasks").iterdir()))
    for what in ("fig3", "fig6", "table2"):
        reproduce(what, out, **options, say=heard.append)
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == texts
    assert len(list((out / "tasks").iterdir())) == n_tasks
    check_tables(out)


def check_tables(out):
    text = (out / "table2.md").read_text()
    for name in printed.NAMES.values():
        assert len(re.findall(rf"^\| {name} \| [^|]*±", text, re.M)) == 1  # as the paper writes it
        assert len(re.findall(rf"^\| {name} \| \d+ \|", text, re.M)) == 1  # as published
    assert len(pd.read_csv(out / "table2.csv")) == 2 * (12 + 12 + 1)
    rows = [line for line in (out / "table3.md").read_text().splitlines() if "run as published" in line]
    assert len(rows) == 4
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 1 + len(table3.BUDGETS)
        assert [bool(cell) for cell in cells[1:]] == [k <= 500 for k in table3.BUDGETS]  # blank above the genes at hand
    assert {*fig3.WAYS} == {*table2.WAYS} == {contest.PUBLISHED, contest.WRITTEN, contest.OURS}


def test_without_data_all_says_what_it_leaves_out(tmp_path, monkeypatch):
    monkeypatch.setattr(main, "EXPERIMENTS", {name: EXPERIMENTS[name] for name in NEED_DATA})
    heard = []
    assert reproduce("all", tmp_path, say=heard.append) == []
    assert [line.split()[0] for line in heard] == list(NEED_DATA)
    assert all("--data" in line for line in heard)


@pytest.mark.parametrize("what", NEED_DATA)
def test_a_table_without_data_is_a_request_error(tmp_path, what):
    with pytest.raises(RequestError, match="--data FILE --labels COLUMN"):
        reproduce(what, tmp_path)


def test_requests_are_checked(tmp_path, labelled_file):
    with pytest.raises(RequestError, match="what must be one of"):
        reproduce("fig7", tmp_path)
    with pytest.raises(RequestError, match="labels must be given once"):
        reproduce("table2", tmp_path, data=[labelled_file])
    with pytest.raises(RequestError, match=r"labels must be a column of obs, got 'nothing'; small\.h5ad has 'class'"):
        reproduce("table2", tmp_path, data=[labelled_file], labels=["nothing"])
    assert WHAT.split("|") == ["all", *EXPERIMENTS]


def test_budgets_follow_the_genes_at_hand(labelled_file):
    data = read_labelled(labelled_file, "class").data
    assert data.X.shape == (60, 500)
    assert data.recipe.n_genes == round(500 * 2000 / 8747)
    assert "published share" in data.note


def test_pollen_is_read_as_the_paper_did():
    labelled = read_labelled(shared_file("data", "pollen.h5ad"), "group")
    assert (labelled.data.name, labelled.data.X.shape, labelled.data.rank) == ("pollen", (301, 9990), 4)
    assert labelled.data.recipe == published.REAL
    assert "(the paper: 8,747)" in labelled.data.note
