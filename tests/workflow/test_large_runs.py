"""Runs whose data stay in their file or go to a Dask cluster: the folder is that of a run in memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from genesieve import pl, workflow
from genesieve.io import RequestError
from genesieve.workflow import Resources, stages
from genesieve.workflow.cluster import connected

N_CELLS, N_GENES, RANK, BUDGET = 400, 60, 3, 24
TABLES = ("programs.csv", "genes.csv", "cells.csv", "biclusters.csv")

pytestmark = pytest.mark.filterwarnings("ignore:Writing zarr v2")


def make_data(seed: int = 0) -> ad.AnnData:
    """Counts of three types of cells, each with genes of its own."""
    rng = np.random.default_rng(seed)
    types = np.arange(N_CELLS) % 3
    means = np.where(np.arange(N_GENES)[None, :] % 3 == types[:, None], 8.0, 1.0)
    obs = pd.DataFrame({"type": pd.Categorical([f"type {t}" for t in types])}, index=[f"c{i}" for i in range(N_CELLS)])
    var = pd.DataFrame(index=[f"g{i}" for i in range(N_GENES)])
    return ad.AnnData(sparse.csr_matrix(rng.poisson(means).astype(np.float32)), obs=obs, var=var)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    make_data().write_h5ad(folder / "data.h5ad")
    layered = make_data()
    layered.layers["counts"] = layered.X.copy()
    layered.write_zarr(folder / "data.zarr")
    make_data(seed=1).write_h5ad(folder / "new.h5ad")
    return folder


@pytest.fixture
def light(monkeypatch):
    """No figures and no page: they are tested with the command."""
    monkeypatch.setattr("genesieve.workflow.outputs.run_figures", lambda *_, **__: {})
    monkeypatch.setattr("genesieve._report.report", lambda adata, path, **_: Path(path).write_text("page"))


def genesieve(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=600, check=False)


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "genesieve", *map(str, arguments)]


def assert_same_tables(one: Path, other: Path) -> None:
    for name in TABLES:
        pd.testing.assert_frame_equal(pd.read_csv(one / name), pd.read_csv(other / name), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("data", ["data.h5ad", "data.zarr"])
def test_a_run_from_a_file_is_that_of_memory(place, tmp_path, light, data):
    options = {"rank": RANK, "genes": BUDGET, "labels": "type"}
    workflow.run(place / data, tmp_path / "memory", **options)
    found = workflow.run(place / data, tmp_path / "file", resources=Resources(memory="2GB"), **options)
    assert_same_tables(tmp_path / "memory", tmp_path / "file")
    assert found.record["prepared"]["on_the_fly"]
    assert found.record["data"]["fingerprint"].startswith("sampled:")


def test_data_that_would_not_fit_stay_in_their_file(place, tmp_path, light, monkeypatch):
    monkeypatch.setattr(stages, "available_memory", lambda: 1000.0)
    found = workflow.run(place / "data.h5ad", tmp_path / "out", rank=RANK, genes=BUDGET)
    assert found.record["prepared"]["on_the_fly"]


def test_the_result_has_everything_but_the_values(place, tmp_path, light):
    workflow.run(place / "data.h5ad", tmp_path / "out", rank=RANK, genes=BUDGET, resources=Resources(memory="2GB"))
    result = ad.read_h5ad(tmp_path / "out" / "result.h5ad")
    assert result.X is None
    assert result.obsm["X_ssnmf"].shape == (N_CELLS, RANK)
    assert result.var["ssnmf_selected"].sum() == BUDGET


@pytest.mark.parametrize("preset", ["paper", None])
def test_projection_from_a_file_is_that_of_memory(place, tmp_path, light, preset):
    workflow.run(place / "data.h5ad", tmp_path / "model", rank=RANK, genes=BUDGET, preset=preset)
    for name, resources in (("memory", Resources()), ("file", Resources(memory="2GB"))):
        workflow.project(place / "new.h5ad", tmp_path / "model", tmp_path / name, resources=resources)
    tables = [pd.read_csv(tmp_path / name / "cells.csv") for name in ("memory", "file")]
    pd.testing.assert_frame_equal(*tables, rtol=1e-4, atol=1e-4)


def test_repeating_a_run_of_another_kind_is_said(place, tmp_path, light):
    first = workflow.run(place / "data.h5ad", tmp_path / "one", rank=RANK, genes=BUDGET)
    record, settings = workflow.repeated(first.folder / "run.json")
    with pytest.warns(UserWarning, match="was not compared"):
        workflow.run(place / "data.h5ad", tmp_path / "two", settings, repeats=record, resources=Resources(memory="2GB"))
    assert_same_tables(tmp_path / "one", tmp_path / "two")


@pytest.mark.parametrize(
    ("resources", "says"),
    [
        (Resources(memory="much"), "memory must be a size like '2GB'"),
        (Resources(memory="1MB"), "memory must be at least 0"),
        (Resources(memory="2GB", dask="tcp://127.0.0.1:1"), "memory must not be given with dask"),
        (Resources(checkpoint="nowhere/fit.npz"), "checkpoint must be a file in a folder that is there"),
    ],
)
def test_bad_requests_are_told_before_anything_is_written(place, tmp_path, resources, says):
    with pytest.raises(ValueError, match=says):
        workflow.run(place / "data.h5ad", tmp_path / "out", rank=RANK, genes=BUDGET, resources=resources)
    assert not (tmp_path / "out").exists()


def test_no_scheduler_at_the_address_is_told(place, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("genesieve.workflow.cluster.CONNECT_SECONDS", 1)
    with pytest.raises(RequestError, match="dask must be the address of a running scheduler"):
        workflow.run(
            place / "data.h5ad",
            tmp_path / "out",
            rank=RANK,
            genes=BUDGET,
            resources=Resources(dask="tcp://127.0.0.1:9"),
        )


def test_a_cluster_without_workers_is_told_and_given_up(place, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    for name in ("PATIENCE_SECONDS", "WORKER_SECONDS"):
        monkeypatch.setattr(f"genesieve.workflow.cluster.{name}", 0.3)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
        resources = Resources(dask=cluster.scheduler_address)
        with (
            pytest.warns(UserWarning, match="has no workers: waiting for one, 0.3 s at most"),
            pytest.raises(RequestError, match="dask must be a scheduler with workers, got none"),
        ):
            workflow.run(place / "data.zarr", tmp_path / "out", rank=RANK, genes=BUDGET, resources=resources)
    assert list(tmp_path.iterdir()) == []


CLUSTER = """
import sys
from distributed import LocalCluster
cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None)
print(cluster.scheduler_address, flush=True)
sys.stdin.read()
"""


def lose(scheduler: subprocess.Popen[str]) -> None:
    """Wait for a task whose scheduler is killed."""
    from distributed import get_client

    with connected(scheduler.stdout.readline().strip()):
        waiting = get_client().submit(time.sleep, 600)
        scheduler.kill()
        waiting.result(timeout=120)


def test_a_scheduler_that_dies_is_told_in_one_line(capfd):
    pytest.importorskip("distributed")
    dying = subprocess.Popen([sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with pytest.raises(ConnectionError, match=r"the Dask scheduler at tcp://.* is gone"):
        lose(dying)
    dying.communicate()
    assert "Traceback" not in capfd.readouterr().err


def test_the_command_on_a_cluster(place, tmp_path, light):
    distributed = pytest.importorskip("distributed")
    workflow.run(place / "data.zarr", tmp_path / "memory", rank=RANK, genes=BUDGET)
    workflow.project(place / "new.h5ad", tmp_path / "memory", tmp_path / "expected")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        dask = ("--dask", cluster.scheduler_address, "-q")
        request = ("run", place / "data.zarr", "--rank", RANK, "--genes", BUDGET, "-o", tmp_path / "cluster")
        ran = genesieve(*request, "--layer", "counts", *dask)
        assert ran.returncode == 0, ran.stderr
        scored = genesieve(
            "project", place / "new.h5ad", "--model", tmp_path / "memory", "-o", tmp_path / "scored", *dask
        )
        assert scored.returncode == 0, scored.stderr
    assert_same_tables(tmp_path / "memory", tmp_path / "cluster")
    assert {"report.html", "result.h5ad", "run.json"} <= {path.name for path in (tmp_path / "cluster").iterdir()}
    assert (tmp_path / "cluster" / "figures" / "biclusters.png").exists()
    tables = [pd.read_csv(tmp_path / name / "cells.csv") for name in ("expected", "scored")]
    pd.testing.assert_frame_equal(*tables, rtol=1e-4, atol=1e-4)


def test_enrichment_of_a_run_from_a_file_keeps_the_figures_of_its_values(place, tmp_path, light, monkeypatch):
    def figures(adata: ad.AnnData, **_: object) -> dict:
        return {"biclusters": lambda: pl.biclusters(adata)}

    monkeypatch.setattr("genesieve.workflow.outputs.run_figures", figures)
    sets = tmp_path / "sets.gmt"
    sets.write_text("a\t\t" + "\t".join(f"g{i}" for i in range(0, N_GENES, 3)) + "\n")
    out = workflow.run(
        place / "data.h5ad", tmp_path / "out", rank=RANK, genes=BUDGET, resources=Resources(memory="2GB")
    )
    drawn = (out.folder / "figures" / "biclusters.png").read_bytes()
    with pytest.warns(UserWarning, match="no figure of biclusters: adata.X must hold values"):
        workflow.enrich(out.folder, sets)
    assert (out.folder / "figures" / "biclusters.png").read_bytes() == drawn
    assert (out.folder / "enrichment.csv").exists()


def test_a_killed_run_goes_on_from_its_checkpoint(place, tmp_path, light):
    kept, out, options = tmp_path / "fit.npz", tmp_path / "out", {"rank": RANK, "genes": BUDGET, "solver": "palm"}
    whole = workflow.run(place / "data.h5ad", tmp_path / "whole", max_iter=2000, **options)
    request = ("run", place / "data.h5ad", "--rank", RANK, "--genes", BUDGET, "--solver", "palm", "--max-iter", 2000)
    running = subprocess.Popen(command(*request, "-o", out, "--checkpoint", kept), stderr=subprocess.DEVNULL)
    while not kept.exists() and running.poll() is None:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert kept.exists()
    assert not out.exists()
    resumed = workflow.run(
        place / "data.h5ad", out, max_iter=2000, resources=Resources(checkpoint=str(kept)), **options
    )
    assert resumed.record["fit"]["objective"] == pytest.approx(whole.record["fit"]["objective"], rel=1e-9)
    assert not list(tmp_path.glob(".out.*.partial"))  # that the killed run left
    assert resumed.record["fit"]["iterations"] == whole.record["fit"]["iterations"]
