"""Many at a time: threads, processes, tasks of a cluster, long use. `make load` is the long form.

GENESIEVE_LOAD=full: 10,000 transforms, 20 runs side by side on a new numba cache, 1,000 uses in a row, joblib's own
processes, a damaged cache of compiled code.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
from joblib import Parallel, delayed

import genesieve as gs

FULL = os.environ.get("GENESIEVE_LOAD") == "full"
long = pytest.mark.skipif(not FULL, reason="GENESIEVE_LOAD is not 'full'")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
RNG = np.random.default_rng(0)
X = RNG.gamma(0.5, 1.0, (80, 3)) @ RNG.gamma(0.5, 1.0, (3, 30)) + 0.01 * RNG.random((80, 30))


def fit(seed: int = 0) -> np.ndarray:
    return gs.SSNMF(3, n_genes=12, random_state=seed, n_jobs=2).fit_transform(X)


def transform_many(count: int, threads: int) -> None:
    model = gs.SSNMF(3, n_genes=12, random_state=0).fit(X)
    pieces = [X[start : start + 20] for start in range(0, 80, 20)]
    expected = [model.transform(piece) for piece in pieces]
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(lambda number: (number, model.transform(pieces[number % 4])), range(count))
        for number, usages in found:
            np.testing.assert_array_equal(usages, expected[number % 4])


def test_transforms_from_many_threads_are_those_of_one():
    transform_many(10_000 if FULL else 200, threads=8)


def test_fits_in_two_threads_are_those_of_one():
    expected = [fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(2) as pool:
        for usages, alone in zip(pool.map(fit, range(4)), expected, strict=True):
            np.testing.assert_array_equal(usages, alone)


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_fit_after_numba_was_used_here():
    expected = fit()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for usages in pool.map(fit, [0] * 4):
            np.testing.assert_array_equal(usages, expected)


@long
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_workers_of_joblib_fit(backend):
    expected = fit()
    for usages in Parallel(n_jobs=2, backend=backend)(delayed(fit)(0) for _ in range(6)):
        np.testing.assert_array_equal(usages, expected)


# ------------------------------------------------------------------------------------------------ tasks of a cluster


def fit_in_memory() -> float:
    return gs.SSNMF(3, n_genes=12, random_state=0).fit(X).objective_


def fit_array() -> float:
    import dask.array as da

    return gs.SSNMF(3, n_genes=12, random_state=0).fit(da.from_array(X, chunks=(40, -1))).objective_


@pytest.mark.parametrize("task", [fit_in_memory, fit_array])
def test_a_fit_inside_a_task_ends_on_a_worker_with_one_thread(task: Callable[[], float]):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert client.submit(task).result(timeout=120) == pytest.approx(fit_in_memory(), rel=1e-6)


# ------------------------------------------------------------------------------------------------ long use


def used_memory() -> int:
    gc.collect()
    return psutil.Process().memory_info().rss


def test_repeated_use_keeps_no_memory(tmp_path):
    adata = gs.datasets.demo()[:80, :60].copy()
    adata.write_h5ad(tmp_path / "x.h5ad")

    def use() -> None:
        fit()
        gs.io.read(tmp_path / "x.h5ad")
        gs.SSNMF(2, n_genes=8, random_state=0).fit(gs.io.open_in_file(tmp_path / "x.h5ad").X)

    for _ in range(20):
        use()
    before, uses = used_memory(), 1000 if FULL else 30
    for _ in range(uses):
        use()
    # X has 19 kB, its file 60: what kept either would show in a thousand uses; the rest is the allocator's.
    assert used_memory() - before < 12e6 + 2e4 * uses
    assert len(psutil.Process().open_files()) < 50
    assert psutil.Process().num_threads() < 200


# ------------------------------------------------------------------------------------------------ where it is installed

FIT = (
    "import genesieve as gs, numpy as np; print(gs.SSNMF(2, n_genes=3, random_state=0).fit(np.eye(9) + 0.1).objective_)"
)


def installed(place: Path) -> dict[str, str]:
    """The environment of a Python that finds a copy of the package in a folder, and no home."""
    shutil.copytree(Path(gs.__file__).parent, place / "genesieve", ignore=shutil.ignore_patterns("__pycache__"))
    names = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    nowhere = str(place / "x.txt" / "home")
    (place / "x.txt").write_text("no folder")
    return {
        **kept,
        "PYTHONPATH": str(place),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
    }


@pytest.mark.slow
def test_an_installation_that_cannot_be_written_to_works_without_a_home(tmp_path):
    environment = installed(tmp_path)
    for folder in [tmp_path / "genesieve", *(tmp_path / "genesieve").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("")  # also root cannot make a folder here now
    program = f"{FIT}; assert gs.__file__.startswith({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("damaged", ["*.nbi", "*.nbc", "*.nb?"])
def test_a_damaged_cache_of_compiled_code_is_made_anew(tmp_path, damaged):
    environment = installed(tmp_path) | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        for file in (tmp_path / "cache").rglob(damaged):
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@long
def test_runs_side_by_side_give_what_one_gives(tmp_path):
    gs.datasets.demo()[:200].copy().write_h5ad(tmp_path / "x.h5ad")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "genesieve", "run", tmp_path / "x.h5ad", "-r", "3", "-k", "20", "-q", "-j", "1"]
    runs = [subprocess.Popen([*command, "-o", tmp_path / f"out{number}"], env=environment) for number in range(20)]
    assert [run.wait(timeout=1800) for run in runs] == [0] * 20
    tables = {(tmp_path / f"out{number}" / "cells.csv").read_bytes() for number in range(20)}
    assert len(tables) == 1
    assert not list(tmp_path.glob(".out*"))
