"""The work behind the command line, from Python: the folder, the record, the model, the tables."""

from __future__ import annotations

import errno
import json
import os
from contextlib import contextmanager
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from genesieve import datasets, pp, tl, workflow
from genesieve._files import forgiving_file
from genesieve.io import FileError, RequestError
from genesieve.workflow import Settings, Watcher, load_model, outputs, repeated, save_model, stages
from genesieve.workflow.folder import is_result, others_files, read_record, staged, write_record

N_CELLS, N_GENES, RANK, BUDGET = 60, 40, 3, 20


def make_data(seed: int = 0) -> ad.AnnData:
    """Counts of three types of cells, each with genes of its own."""
    rng = np.random.default_rng(seed)
    types = np.arange(N_CELLS) % 3
    means = np.where(np.arange(N_GENES)[None, :] % 3 == types[:, None], 8.0, 1.0)
    obs = pd.DataFrame({"type": pd.Categorical([f"type {t}" for t in types])}, index=[f"c{i}" for i in range(N_CELLS)])
    var = pd.DataFrame(index=[f"g{i}" for i in range(N_GENES)])
    return ad.AnnData(sparse.csr_matrix(rng.poisson(means).astype(np.float32)), obs=obs, var=var)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def make_result(folder: Path, text: str = "old") -> None:
    with staged(folder) as stage:
        (stage / "programs.csv").write_text(text)
        write_record(stage, {"genesieve": "0", "kind": "run"})


@pytest.fixture
def light(monkeypatch):
    """No figures and no page: they are tested with the command."""
    monkeypatch.setattr("genesieve.workflow.outputs.run_figures", lambda *_, **__: {})
    monkeypatch.setattr("genesieve._report.report", lambda adata, path, **_: Path(path).write_text("page"))


# ------------------------------------------------------------------------------------------------ the folder


def test_a_folder_appears_whole(tmp_path):
    out = tmp_path / "a" / "b" / "results"
    with staged(out) as stage:
        (stage / "x").write_text("1")
        assert not out.exists()
    assert tree(out) == {"x": b"1"}
    assert [path.name for path in out.parent.iterdir()] == ["results"]
    assert out.stat().st_mode & 0o777 == (tmp_path / "a").stat().st_mode & 0o777


def fail_inside(out: Path, problem: BaseException) -> None:
    with staged(out, force=True) as stage:
        (stage / "x").write_text("1")
        raise problem


@pytest.mark.parametrize(
    "problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()]
)
@pytest.mark.parametrize("before", ["nothing", "a result"])
def test_or_not_at_all(tmp_path, problem, before):
    out = tmp_path / "new" / "results"
    if before == "a result":
        make_result(out)
    there = tree(tmp_path)
    with pytest.raises(type(problem)):
        fail_inside(out, problem)
    assert tree(tmp_path) == there
    assert (tmp_path / "new").exists() == (before == "a result")
    assert [path.name for path in tmp_path.rglob(".*")] == []


def test_force_replaces_a_result_and_nothing_else(tmp_path):
    out = tmp_path / "results"
    make_result(out)
    with pytest.raises(RequestError, match="force=True"), staged(out):
        pass
    with staged(out, force=True) as stage:
        (stage / "x").write_text("new")
    assert tree(out) == {"x": b"new"}

    mine = tmp_path / "thesis"
    mine.mkdir()
    (mine / "chapter.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(RequestError, match="other things"), staged(mine, force=force):
            pass
    (mine / "run.json").write_text('{"tool": "another"}')
    with pytest.raises(RequestError, match="other things"), staged(mine, force=True):
        pass
    assert (mine / "chapter.txt").read_text() == "years of work"


def test_files_of_others_are_refused_or_carried(tmp_path):
    out = tmp_path / "results"
    make_result(out)
    (out / "figures").mkdir()
    (out / "figures" / "mine.txt").write_text("note")
    for litter in (".DS_Store", "._mine.txt", "Thumbs.db", ".nfs0000000000a1b2c3"):
        (out / litter).write_text("")
    assert [str(file) for file in others_files(out)] == ["figures/mine.txt"]
    with pytest.raises(RequestError, match=r"figures/mine\.txt"), staged(out, force=True):
        pass
    with staged(out, force=True, carry=True) as stage:
        (stage / "x").write_text("new")
    assert tree(out) == {"x": b"new", "figures/mine.txt": b"note"}


def test_hidden_files_of_others_are_not_lost(tmp_path):
    out = tmp_path / "results"
    make_result(out)
    (out / ".notes").write_text("years of work")
    with pytest.raises(RequestError, match=r"got also \.notes: move them first"), staged(out, force=True):
        pass
    with staged(out, force=True, carry=True) as stage:
        (stage / "x").write_text("new")
    assert tree(out) == {"x": b"new", ".notes": b"years of work"}


def test_a_record_with_a_number_of_many_digits_is_no_result(tmp_path):
    (tmp_path / "run.json").write_text('{"genesieve": ' + "1" * 5000 + "}")
    assert not is_result(tmp_path)
    with pytest.raises(FileError, match=r"run\.json must be the run\.json of an earlier run, got no JSON"):
        read_record(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_that_looks_like_a_stray_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / ".results.0123abcd.partial")
    with staged(tmp_path / "results") as stage:
        (stage / "x").write_text("new")
    assert tree(tmp_path / "results") == {"x": b"new"}


@pytest.mark.parametrize("option", ["known", "batch"])
@pytest.mark.parametrize("column", ["ssnmf", "ssnmf_cluster", "ssnmf_outlier"])
def test_a_result_is_not_compared_with_itself(tmp_path, option, column):
    """Such a column is overwritten: the agreement with it was perfect, whatever it had held."""
    adata = make_data()
    adata.obs[column] = adata.obs["type"]
    with pytest.raises(RequestError, match=rf"{option} must not be a column that the result is written to, got"):
        workflow.run(adata, tmp_path / "out", Settings(rank=2, genes=10, **{option: column}))
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_is_taken_and_a_file_is_not(tmp_path):
    (tmp_path / "empty").mkdir()
    with staged(tmp_path / "empty") as stage:
        (stage / "x").write_text("1")
    assert tree(tmp_path / "empty") == {"x": b"1"}
    with pytest.raises(RequestError, match="got a file"), staged(tmp_path / "empty" / "x"):
        pass


# ------------------------------------------------------------------------------------------------ settings and record


def test_settings_survive_their_record():
    settings = Settings(rank=3, genes=20, orthogonality="exact", min_cells=0.1, known="type", seed=7)
    assert settings.as_dict()["labels"] == "type"  # as run.json has ever called it
    assert Settings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings
    with pytest.raises(RequestError, match="got 'other'"):
        Settings.from_dict({"rank": 3, "other": 1})


def test_settings_become_keywords_of_the_fit():
    assert Settings(rank=3, genes=20).fit_keywords() == {"n_components": 3, "n_genes": 20, "random_state": 0}
    paper = Settings(rank=3, genes=20, method="onmf_l20", solver="bcd").fit_keywords()
    assert (paper["sparsity"], paper["orthogonality"], paper["gauge"], paper["solver"]) == (
        "rows",
        "exact",
        None,
        "bcd",
    )
    assert Settings(rank=3, genes=20, orthogonality="0.05").fit_keywords()["orthogonality"] == 0.05
    with pytest.raises(RequestError, match="onmf_l20_rho"):
        Settings(rank=3, genes=20, method="kmeans").fit_keywords()
    with pytest.raises(RequestError, match="number, 'exact' or 'auto'"):
        Settings(rank=3, genes=20, orthogonality="much").fit_keywords()


def test_records_of_others_are_refused(tmp_path):
    for name, text in {"a": "no json", "b": "[1]", "c": '{"x": 1}'}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(FileError, match=r"must be the run\.json"):
            read_record(tmp_path / name)
    with pytest.raises(FileError, match="nothing there"):
        read_record(tmp_path / "absent")


# ------------------------------------------------------------------------------------------------ tables and model


def fitted(**options) -> ad.AnnData:
    adata = make_data()
    pp.prepare(adata, min_cells=0)
    tl.ssnmf(adata, RANK, BUDGET, **options)
    tl.top_genes(adata)
    tl.biclusters(adata)
    tl.outliers(adata)
    return adata


def test_tables_hold_the_fit():
    adata = fitted()
    found = outputs.tables(adata, known="type")
    programs, genes, cells = (found[name] for name in ("programs", "genes", "cells"))
    assert programs["n_cells"].sum() == N_CELLS == len(cells)
    assert programs["share"].sum() == pytest.approx(1)
    assert (programs["purity"] > 0.9).all()
    assert len(genes) == RANK * BUDGET
    for program, part in genes.groupby("program"):
        assert part["weight"].is_monotonic_decreasing
        assert list(part["rank"]) == list(range(1, BUDGET + 1))
        weights = pd.Series(adata.varm["ssnmf"][:, int(program)], index=adata.var_names)
        np.testing.assert_allclose(part["weight"], weights[part["gene"]])
    usages = cells[[f"usage_{number}" for number in range(RANK)]].to_numpy()
    np.testing.assert_allclose(usages, adata.obsm["X_ssnmf"])
    assert list(cells["known"]) == list(adata.obs["type"])


def test_unknown_types_do_not_count():
    adata = fitted()
    adata.obs.loc[adata.obs_names[:50], "type"] = np.nan
    assert stages.score(adata, "type")["cells"] == 10
    assert outputs.programs_table(adata, known="type")["purity"].notna().any()


@pytest.mark.parametrize(
    "options",
    [{}, {"orthogonality": "exact"}, {"gene_weights": np.linspace(1, 2, N_GENES)}, {"labels": "leiden"}],
)
def test_a_model_survives_its_folder(tmp_path, options):
    adata = fitted(**options)
    save_model(adata, tmp_path / "model")
    assert sorted(file.name for file in (tmp_path / "model").iterdir()) == ["arrays.npz", "model.json"]
    new = make_data(seed=1)
    pp.prepare(new, min_cells=0)
    direct, again = (tl.project(new, model, copy=True) for model in (adata, load_model(tmp_path)))
    np.testing.assert_array_equal(again.obsm["X_ssnmf"], direct.obsm["X_ssnmf"])
    pd.testing.assert_frame_equal(again.obs, direct.obs)


def test_a_model_in_disorder_is_refused(tmp_path):
    with pytest.raises(FileError, match="must hold a model"):
        load_model(tmp_path)
    save_model(fitted(), tmp_path / "model")
    (tmp_path / "model" / "arrays.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(FileError, match="in disorder"):
        load_model(tmp_path)
    np.savez(tmp_path / "model" / "arrays.npz", weights=np.array([{"code": "runs"}], dtype=object))
    with pytest.raises(FileError, match="in disorder"):
        load_model(tmp_path)


@pytest.mark.parametrize("preset", [None, "paper"])
def test_new_values_are_prepared_as_those_of_the_fit(preset):
    adata = make_data()
    pp.prepare(adata, preset=preset)
    new = make_data()
    pp.prepare_like(new, adata)
    np.testing.assert_allclose(new[:, adata.var_names].X.toarray(), adata.X.toarray(), rtol=1e-6)


# ------------------------------------------------------------------------------------------------ runs


def test_a_run_from_python(tmp_path, light):
    outcome = workflow.run(make_data(), tmp_path / "out", rank=RANK, genes=BUDGET, labels="type")
    assert outcome.record["scores"]["nmi"] > 0.9
    assert outcome.record["data"]["path"] is None
    assert read_record(tmp_path / "out")["fit"] == outcome.record["fit"]


def test_clusters_and_programs_are_told_apart(tmp_path, light):
    data = make_data()
    data.write_h5ad(tmp_path / "data.h5ad")
    choice = {"label_rule": "leiden", "clusters": 2, "gene_weights": "none", "labels": "type"}
    outcome = workflow.run(tmp_path / "data.h5ad", tmp_path / "out", rank=RANK, genes=BUDGET, **choice)
    assert "ssnmf_gene_weight" not in outcome.adata.var
    cells = pd.read_csv(tmp_path / "out" / "cells.csv")
    assert cells["cluster"].nunique() == 2
    assert cells["program"].nunique() == 3
    assert cells["confidence"].between(0, 1).all()
    for table in ("programs", "clusters"):
        assert pd.read_csv(tmp_path / "out" / f"{table}.csv")["n_cells"].sum() == N_CELLS
    workflow.project(tmp_path / "data.h5ad", tmp_path / "out", tmp_path / "scored")
    scored = pd.read_csv(tmp_path / "scored" / "cells.csv")
    pd.testing.assert_frame_equal(scored[["program", "cluster"]], cells[["program", "cluster"]])


def test_a_run_as_in_the_paper(tmp_path, light):
    record = workflow.run(
        make_data(), tmp_path / "out", rank=RANK, genes=BUDGET, preset="paper", method="onmf_l20"
    ).record
    assert (record["fit"]["method"], record["prepared"]["log"]) == ("onmf_l20", "log2(x + 1)")


class Impatient(Watcher):
    @contextmanager
    def fit(self, most_iterations):
        def callback(step):
            self.stopped = True
            return True

        yield callback


def test_a_watcher_can_end_the_fit(tmp_path, light):
    outcome = workflow.run(make_data(), tmp_path / "out", rank=RANK, genes=BUDGET, solver="palm", watch=Impatient())
    assert (outcome.record["status"], outcome.record["fit"]["iterations"]) == ("stopped early", 1)


@pytest.mark.parametrize("writer", ["pandas.DataFrame.to_csv", "anndata.io.write_elem", "numpy.savez_compressed"])
def test_a_full_disk_leaves_nothing(tmp_path, light, monkeypatch, writer):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writer, full)
    with pytest.raises(OSError, match="No space left"):
        workflow.run(make_data(), tmp_path / "out", rank=RANK, genes=BUDGET)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_behind_hdf5_is_told_in_plain_words(tmp_path):
    def write() -> None:
        with forgiving_file(tmp_path / "result.h5ad") as file:
            file.error = OSError(errno.ENOSPC, "x")
            raise RuntimeError("file write failed: time = Mon, errno = 28, error message = 'x', buf = 0x55")

    with pytest.raises(OSError, match="No space left on device") as caught:
        write()
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rank": 0}, "rank must be at least 1, got 0"),
        ({"rank": 41}, r"rank must be between 1 and 40 \(the smaller of 60 cells and 40 genes"),
        ({"genes": 41}, "genes must be between 1 and 40"),
        ({"layer": "counts"}, "'counts': there are no layers"),
        ({"labels": "kind"}, "'kind': columns are 'type'"),
        ({"use_raw": True}, r"needs \.raw"),
        ({"label_rule": "lieden"}, "label_rule must be 'argmax' or 'kmeans' or 'leiden', got 'lieden'"),
        ({"clusters": 4, "no_clusters": True}, "clusters must not be given with no_clusters, got 4"),
        ({"exclude_genes": "["}, r"exclude_genes must be a regular expression, got '\['"),
    ],
)
def test_requests_that_do_not_fit_the_data(tmp_path, options, says):
    with pytest.raises(RequestError, match=says):
        workflow.run(make_data(), tmp_path / "out", **{"rank": RANK, "genes": BUDGET, **options})
    assert list(tmp_path.iterdir()) == []


def test_gene_sets_are_looked_at_before_the_fit(tmp_path, monkeypatch):
    (tmp_path / "sets.gmt").write_text("no tabs, " * 1000)
    monkeypatch.setattr("genesieve.tl.ssnmf", lambda *_, **__: pytest.fail("the fit has begun"))
    with pytest.raises(FileError, match="line 1 must be name, description and genes") as caught:
        workflow.run(make_data(), tmp_path / "out", rank=RANK, genes=BUDGET, gene_sets=tmp_path / "sets.gmt")
    assert len(str(caught.value)) < 500


def test_repeated_names_are_numbered_with_a_warning(tmp_path, light):
    adata = make_data()
    adata.var_names = ["g0", "g0", *adata.var_names[2:]]
    with pytest.warns(UserWarning, match="1 gene name repeats, the first of them 'g0'"):
        outcome = workflow.run(adata, tmp_path / "out", rank=RANK, genes=BUDGET)
    assert "repeat" in outcome.record["notes"][0]


def test_a_layer_called_raw_stays(tmp_path, light):
    adata = make_data()
    adata.layers["raw"] = adata.X.copy()
    workflow.run(adata, tmp_path / "out", rank=RANK, genes=BUDGET)
    assert {"raw", "raw_1"} <= set(adata.layers)


@pytest.mark.parametrize(
    "change",
    [{"settings": None}, {"data": "x"}, {"data": {"path": 3, "fingerprint": "a"}}, {"gene_sets": {}}, {"notes": 1}],
)
def test_a_record_that_lacks_a_part_is_told_in_one_line(tmp_path, change):
    record = {"genesieve": "0", "kind": "run", "settings": {}, "data": {"path": None, "fingerprint": "a"}, **change}
    write_record(tmp_path, record)
    with pytest.raises(FileError, match=r"run.json of an earlier run, got one without (\w| )+ as a run writes it"):
        repeated(tmp_path)


def test_settings_that_are_none_are_named_in_one_line():
    with pytest.raises(RequestError, match="settings must be among") as caught:
        Settings.from_dict({"gene\u2028weights": None})
    assert len(str(caught.value).splitlines()) == 1


def test_a_record_that_is_nested_too_deep_is_told_in_one_line(tmp_path):
    (tmp_path / "run.json").write_text("[" * 100_000)
    with pytest.raises(FileError, match="got no JSON") as caught:
        workflow.repeated(tmp_path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_list_of_files_that_is_none_claims_no_files(tmp_path):
    (tmp_path / "run.json").write_text('{"genesieve": "0", "files": 5}')
    (tmp_path / "mine.txt").write_text("x")
    assert [str(file) for file in others_files(tmp_path)] == ["mine.txt", "run.json"]


@pytest.mark.parametrize("change", ["genes", "penalty", "key", "values"])
def test_a_model_that_was_changed_or_cannot_score_cells_is_refused(tmp_path, change):
    adata = fitted_for_model()
    save_model(adata, tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    about = json.loads(file.read_text())
    if change == "genes":
        about["genes"][0] = "another"
    elif change == "penalty":
        about["fit"]["params"]["penalty"] = {"kind": "os.system"}
    elif change == "key":
        about["key"] = 5
    else:
        about["prepare"] = {"values": "odd"}
    file.write_text(json.dumps(about))
    with pytest.raises(FileError, match="changed or damaged since"):
        load_model(tmp_path)
    del about["sha256"]  # as of an older version
    file.write_text(json.dumps(about))
    if change != "genes":
        with pytest.raises(FileError, match="must hold a model that can score cells"):
            load_model(tmp_path)


def fitted_for_model():
    adata = datasets.demo()[:80].copy()
    tl.ssnmf(adata, 2, 10)
    return adata
