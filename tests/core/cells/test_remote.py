from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

import genesieve as gs
from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import FROM_ZERO, WITH_CELLS, Blocks, _sweep_block
from genesieve.core.cells.low_rank import leading_scores, products
from genesieve.core.cells.remote import Remote, current_client
from genesieve.core.cells.transform import Transform
from genesieve.core.objective import Overlap, gram_of

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install genesieve[dask]")
da = pytest.importorskip("dask.array", reason="Dask arrays are not installed: pip install genesieve[dask]")
distributed = pytest.importorskip("distributed", reason="distributed is not installed: pip install genesieve[dask]")
anndata = pytest.importorskip("anndata")

RANK, N_CELLS, N_GENES = 4, 2300, 120
RNG = np.random.default_rng(0)
X = sparse.csr_array(
    RNG.poisson(RNG.gamma(0.4, size=(N_CELLS, RANK)) @ RNG.gamma(0.4, size=(RANK, N_GENES))).astype(np.float64)
)
W = RNG.random((N_GENES, RANK))
STEP = Overlap().cell_step(gram_of(W))
# More than a start samples, so that fits have passes over all cells, and few of them.
assert N_CELLS > sampling.SAMPLE_CELLS

SETTINGS = {
    "default": {},
    "exact": {"orthogonality": "exact"},
    "random": {"init": "random", "tol": 1e-4},
    "nndsvd": {"init": "nndsvd", "tol": 1e-4},
}


def start_cluster(n_workers):
    return distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0")


@pytest.fixture(scope="module", autouse=True)
def patience():
    """On a busy machine.

    A local cluster gives up on a killed worker after some seconds, though its nanny has started it again; and a worker
    without work takes a block from one that is slow.
    """
    with dask.config.set(
        {"distributed.deploy.lost-worker-timeout": "1 hour", "distributed.scheduler.work-stealing": False}
    ):
        yield


@pytest.fixture(scope="module")
def cluster():
    with start_cluster(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def small_cluster():
    with start_cluster(1) as cluster:
        yield cluster


@pytest.fixture
def small_client(small_cluster):
    with distributed.Client(small_cluster) as client:
        yield client


@pytest.fixture
def doomed_client():
    """A client of a cluster whose workers a test may kill."""
    with start_cluster(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=300)
        yield client


def in_dask(X, chunk, *, dense=False):
    blocks = da.from_array(X.toarray(), chunks=(chunk, -1))
    return blocks if dense else blocks.map_blocks(sparse.csr_matrix, meta=sparse.csr_matrix((0, 0), dtype=X.dtype))


def fit(X, **options):
    return gs.SSNMF(RANK, **{"n_genes": 40, "random_state": 0, **options}).fit(X)


def assert_same_fit(model, expected, *, rel=1e-6):
    assert model.objective_ == pytest.approx(expected.objective_, rel=rel)
    np.testing.assert_array_equal(model.get_support(), expected.get_support())
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.components_.dtype == expected.components_.dtype


def tasks_left(client, *, seconds=120.0):
    """Tasks that the scheduler still knows, once it had some time to hear that nobody wants them."""
    deadline = time.monotonic() + seconds
    while True:
        tasks = client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
        if not tasks or time.monotonic() > deadline:
            return tasks
        time.sleep(0.05)


# ------------------------------------------------------------------------------------------------ the same result


def assert_same_blocks(data, X):
    ours, memory = Blocks(Remote(data)), Blocks(X)
    sweep, expected = ours.sweep(W, FROM_ZERO, STEP), memory.sweep(W, FROM_ZERO, STEP)
    assert sweep.H is WITH_CELLS
    np.testing.assert_allclose(sweep.cross, expected.cross, rtol=1e-12)
    np.testing.assert_allclose(sweep.gram, expected.gram, rtol=1e-12)
    np.testing.assert_allclose(ours.usages(W, STEP), expected.H, atol=1e-12)
    assert ours.squared_norm == pytest.approx(memory.squared_norm, rel=1e-12)
    np.testing.assert_allclose(ours.moments(), memory.moments(), rtol=1e-12)
    other = W[:, ::-1].copy()
    np.testing.assert_array_equal(ours.worst_cell(other, W, STEP), memory.worst_cell(other, W, STEP))
    cells = np.array([0, 1, 999, N_CELLS - 1])
    (part, genes), (expected_part, expected_genes) = (blocks.part(cells, 9) for blocks in (ours, memory))
    np.testing.assert_array_equal(genes, expected_genes)
    np.testing.assert_allclose(part.usages(W[genes], STEP), expected_part.usages(W[genes], STEP), atol=1e-12)


@pytest.mark.parametrize("dense", [False, True], ids=["csr", "dense"])
@pytest.mark.parametrize("chunk", [70, 1000, N_CELLS, (1000, 0, 1, N_CELLS - 1001)], ids=str)
def test_every_verb_is_that_of_memory_on_dasks_own_threads(chunk, dense):
    assert_same_blocks(in_dask(X, chunk, dense=dense), X)


def test_every_verb_is_that_of_memory_on_a_cluster(client):
    assert_same_blocks(in_dask(X, 70), X)
    assert_same_blocks(in_dask(X, (1000, 0, 1, N_CELLS - 1001)).persist(), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("settings", SETTINGS)
def test_a_fit_on_dasks_own_threads_is_that_of_memory_whatever_the_chunks(settings, dtype):
    data = X.astype(dtype)
    expected = fit(data, **SETTINGS[settings])
    for chunk in (300, 1700):
        assert_same_fit(fit(in_dask(data, chunk), **SETTINGS[settings]), expected)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_fit_on_a_cluster_is_that_of_memory(client, settings):
    data = X.astype(np.float32 if settings == "default" else np.float64)
    lazy = in_dask(data, 300)
    model, expected = fit(lazy, **SETTINGS[settings]), fit(data, **SETTINGS[settings])
    assert_same_fit(model, expected)
    np.testing.assert_allclose(model.transform(lazy), expected.transform(data), rtol=1e-3, atol=1e-3)
    assert tasks_left(client) == []


def test_transform_is_that_of_memory(client):
    model = fit(X)
    expected = model.transform(X)
    np.testing.assert_allclose(model.transform(in_dask(X, 300)), expected, atol=1e-10)
    np.testing.assert_allclose(model.transform(in_dask(X, 300, dense=True).persist()), expected, atol=1e-10)
    with dask.config.set(scheduler="threads"):
        np.testing.assert_allclose(model.transform(in_dask(X, 300)), expected, atol=1e-10)


def test_whole_numbers_are_worked_on_as_floats_that_hold_them():
    model = fit(in_dask(X.astype(np.int64), 500))
    assert model.components_.dtype == np.float64
    assert_same_fit(model, fit(X))


def test_values_are_transformed_as_they_are_read(client):
    transform = Transform(depth=1e3, log_base=2.0, genes=np.array([5, 3, 50]))
    ours = Blocks(Remote(in_dask(X, 500), transform)).sweep(W[:3], FROM_ZERO, STEP)
    expected = Blocks(transform(X)).sweep(W[:3], FROM_ZERO, STEP)
    np.testing.assert_allclose(ours.cross, expected.cross, rtol=1e-12)


# ------------------------------------------------------------------------------------------------ where work is done


def test_the_client_is_the_one_dask_would_compute_on_and_none_is_started(cluster):
    assert current_client() is None
    Blocks(Remote(in_dask(X, 500))).moments()
    assert current_client() is None
    with distributed.Client(cluster) as client:
        assert current_client() is client
        with dask.config.set(scheduler="threads"):
            assert current_client() is None
    with distributed.Client(cluster, set_as_default=False) as client:
        assert current_client() is None
        with client.as_current():
            assert current_client() is client


def test_n_jobs_bounds_dasks_own_threads():
    threads = set()

    def note(block):
        threads.add(threading.get_ident())
        time.sleep(0.002)
        return block

    data = in_dask(X, 70).map_blocks(note, meta=sparse.csr_matrix((0, 0)))
    Blocks(Remote(data, n_jobs=1)).moments()
    assert len(threads) == 1


def test_blas_has_one_thread_under_dasks_own():
    seen = set()

    def blas_threads():
        return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")

    def note(block):
        seen.add(blas_threads())
        return block

    data = in_dask(X, 500).map_blocks(note, meta=sparse.csr_matrix((0, 0)))
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() < 2:
            pytest.skip("this BLAS has one thread only")
        Blocks(Remote(data)).moments()
        assert seen == {1}
        assert blas_threads() == 2


def test_what_graph_labels_look_at_is_as_from_memory(client):
    """Which cells are nearest of many alike is up to the last digit, so the labels themselves may differ in a few."""
    data, genes = in_dask(X, 500).persist(), np.arange(N_GENES) % 2 == 0
    scores, expected = (
        leading_scores(Blocks(source), genes, 8, np.random.default_rng(0)) for source in (Remote(data), X)
    )
    np.testing.assert_allclose(np.abs(scores), np.abs(expected), atol=1e-8)
    model, reference = (fit(each, labels="leiden", tol=1e-4) for each in (data, X))
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-6)
    np.testing.assert_array_equal(model.get_support(), reference.get_support())
    assert len(np.unique(model.labels_)) == RANK


# ------------------------------------------------------------------------------------------------ what moves

WIDE, CHUNK, FEW_BLOCKS, PASSES = 1500, 100, 6, 2
WIDE_W = RNG.random((WIDE, 20)).astype(np.float32)
WIDE_STEP = Overlap().cell_step(gram_of(WIDE_W))


def wide_cells(n_blocks):
    return sparse.random(n_blocks * CHUNK, WIDE, density=0.1, format="csr", random_state=RNG, dtype=np.float32)


def lazily(X, path):
    """X as `anndata.experimental.read_lazy` gives it from a file, in blocks of a few cells."""
    adata = anndata.AnnData(X)
    adata.write_h5ad(path) if path.suffix == ".h5ad" else adata.write_zarr(path)
    group = pytest.importorskip("h5py").File(path) if path.suffix == ".h5ad" else pytest.importorskip("zarr").open(path)
    return anndata.experimental.read_elem_lazy(group["X"], chunks=(CHUNK, X.shape[1]))


def stored(X, kind, folder):
    if kind != "persisted":
        return lazily(X, folder / f"{X.shape[0]}.{kind}")
    data = lazily(X, folder / f"{X.shape[0]}.h5ad").persist()
    distributed.wait(data)
    return data


def count_messages():
    """Count the bytes of all messages that this process writes, from now on."""
    from distributed.comm.tcp import TCP

    write = TCP.write

    async def counted(self, *args, **kwargs):
        written = await write(self, *args, **kwargs)
        TCP.bytes_written += written
        return written

    TCP.bytes_written = 0
    if write.__name__ != "counted":
        TCP.write = counted


def messages():
    from distributed.comm.tcp import TCP

    return TCP.bytes_written


@pytest.fixture
def counted(monkeypatch):
    """Leaves messages of this process uncounted afterwards; the count stays, for those that are on their way."""
    from distributed.comm.tcp import TCP

    monkeypatch.setattr(TCP, "write", TCP.write)


def parcels(dask_worker):
    """What a worker has sent to others, by the names of the tasks that made it."""
    return [(str(key), size) for sent in dask_worker.transfer_outgoing_log for key, size in sent["keys"].items()]


def bytes_of_a_pass(client, data):
    """Bytes that client, scheduler and workers write in a pass, and the names of what workers sent."""
    blocks = Blocks(Remote(data))
    blocks.sweep(WIDE_W, FROM_ZERO, WIDE_STEP)  # the first one brings connections and imports
    client.run(lambda dask_worker: dask_worker.transfer_outgoing_log.clear())
    client.run(count_messages)
    count_messages()
    for _ in range(PASSES):
        blocks.sweep(WIDE_W, FROM_ZERO, WIDE_STEP)
    written = messages() + sum(client.run(messages).values())
    sent = [name for worker in client.run(parcels).values() for name, _ in worker]
    return written / PASSES, sent


def assert_only_factors_move(client, kind, folder):
    n_workers = len(client.run(os.getpid))
    few, _ = bytes_of_a_pass(client, stored(wide_cells(FEW_BLOCKS), kind, folder))
    many, sent = bytes_of_a_pass(client, stored(wide_cells(4 * FEW_BLOCKS), kind, folder))
    # W to the scheduler and to the workers, their sums to one of them, from there to the scheduler and to the client.
    factor = WIDE_W.size * 8  # in double precision, as sums are
    assert few < 1.25 * (1 + n_workers) * 2 * factor
    assert many < 1.25 * few
    assert {name.split("-")[0] for name in sent} <= {"_same", "_sum"}
    assert sum(name.startswith("_same") for name in sent) <= PASSES * (n_workers - 1)
    assert sum(name.startswith("_sum") for name in sent) == PASSES * n_workers


@pytest.mark.parametrize("kind", ["h5ad", "zarr", "persisted"])
def test_what_moves_in_a_pass_does_not_grow_with_the_cells_and_no_block_of_them_moves(client, counted, tmp_path, kind):
    assert_only_factors_move(client, kind, tmp_path)


def test_blocks_in_memory_stay_where_they_are_though_their_worker_is_busy(client):
    busy, _ = client.scheduler_info()["workers"]
    data = in_dask(X, 500).persist(workers=[busy])
    distributed.wait(data)
    client.run(lambda dask_worker: dask_worker.transfer_outgoing_log.clear())
    others = [client.submit(time.sleep, 0.2, workers=[busy], pure=False) for _ in range(5)]
    remote = Remote(data)
    Blocks(remote).sweep(W, FROM_ZERO, STEP)
    for _ in range(3):
        remote.rows(np.array([0, 1, N_CELLS - 1]))  # from two of the blocks
    sent = [name for name, _ in client.run(parcels)[busy]]
    assert sent
    assert not any(data.name in name for name in sent)
    distributed.wait(others)


def test_what_moves_in_a_pass_grows_with_the_workers(small_client, counted, tmp_path):
    assert_only_factors_move(small_client, "h5ad", tmp_path)


def test_a_block_is_read_by_the_task_that_works_on_it_and_no_task_holds_anything_large(client, tmp_path):
    def sizes(dask_scheduler):
        from distributed.protocol.pickle import dumps

        return {str(key): len(dumps(task.run_spec)) for key, task in dask_scheduler.tasks.items()}

    source = Remote(lazily(wide_cells(FEW_BLOCKS), tmp_path / "cells.h5ad"))
    futures = source._futures(client, source._job(partial(_sweep_block, WIDE_W, WIDE_STEP)))
    distributed.wait(futures)
    tasks = client.run_on_scheduler(sizes)
    shared = [name for name in tasks if name.startswith("_same")]
    assert len(tasks) == FEW_BLOCKS + len(shared)
    assert all(size < WIDE_W.nbytes / 10 for name, size in tasks.items() if name not in shared)
    del futures
    assert tasks_left(client) == []


def test_a_large_W_brings_no_warning(client):
    n_genes = 28_000
    data = da.from_array(np.ones((4, n_genes), dtype=np.float32), chunks=(2, -1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rank in (20, 120):  # the second is beyond what Dask warns of
            large = np.ones((n_genes, rank), dtype=np.float32)
            sweep = Blocks(Remote(data)).sweep(large, FROM_ZERO, products)
    np.testing.assert_allclose(sweep.gram, np.full((120, 120), 4.0 * n_genes**2))


def test_sums_are_added_while_blocks_are_worked_on(client):
    """Those of all blocks at once would take blocks x genes x rank in the memory of the workers."""
    n_blocks = 64

    class Peak(distributed.SchedulerPlugin):
        def __init__(self):
            self.held, self.most = set(), 0

        def transition(self, key, start, finish, *args, **kwargs):
            if "_do" in str(key):
                self.held = self.held | {key} if finish == "memory" else self.held - {key}
                self.most = max(self.most, len(self.held))

    def slowly(block):
        time.sleep(0.02)
        return block

    data = in_dask(X[: 10 * n_blocks], 10).map_blocks(slowly, meta=sparse.csr_matrix((0, 0)))
    client.cluster.scheduler.add_plugin(peak := Peak(), name="peak")
    Blocks(Remote(data)).sweep(W, FROM_ZERO, STEP)
    client.cluster.scheduler.remove_plugin("peak")
    assert 0 < peak.most < n_blocks / 2


# ------------------------------------------------------------------------------------------------ faults


def die_on_sight(block, folder, at, block_id=None):
    """A block whose reading kills the worker, once for every file in a folder."""
    if block_id[0] == at:
        for order in Path(folder, "orders").iterdir():
            try:
                order.unlink()
            except FileNotFoundError:
                continue
            Path(folder, "deaths", str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return block


class Killer:
    """A callback that has a worker killed in the middle of the pass after each of some iterations."""

    def __init__(self, folder, iterations):
        self.folder, self.iterations = folder, iterations
        for name in ("orders", "deaths"):
            (folder / name).mkdir()

    def __call__(self, progress):
        if progress.iteration in self.iterations:
            (self.folder / "orders" / str(progress.iteration)).touch()

    def data(self, cells):
        return cells.map_blocks(die_on_sight, str(self.folder), cells.numblocks[0] // 2, meta=cells._meta)

    @property
    def deaths(self):
        return len(list((self.folder / "deaths").iterdir()))


LONG = {"init": "random", "max_iter": 5, "tol": 0.0}  # some passes, all over all cells


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_workers_killed_in_the_middle_of_three_passes_change_nothing(doomed_client, tmp_path):
    killer = Killer(tmp_path, iterations=(1, 2, 3))
    model = fit(killer.data(in_dask(X, 200)), callback=killer, **LONG)
    assert killer.deaths == 3
    assert_same_fit(model, fit(X, **LONG), rel=1e-9)
    assert tasks_left(doomed_client) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_waits_for_its_only_worker_to_come_back_and_has_persisted_cells_read_again(small_client, tmp_path):
    killer = Killer(tmp_path, iterations=(2,))
    persisted = in_dask(X, 200).persist()
    distributed.wait(persisted)
    model = fit(killer.data(persisted), callback=killer, **LONG)
    assert killer.deaths == 1
    assert_same_fit(model, fit(X, **LONG), rel=1e-9)


FIT_AND_DIE = """
import os, signal, sys
import anndata, distributed
import genesieve as gs

address, cells, checkpoint = sys.argv[1:]

def die(progress):
    if progress.iteration == 3:
        os.kill(os.getpid(), signal.SIGKILL)

with distributed.Client(address):
    X = anndata.experimental.read_lazy(cells).X
    options = dict(n_genes=40, random_state=0, init="random", max_iter=6, tol=0.0)
    gs.SSNMF(4, callback=die, checkpoint=checkpoint, **options).fit(X)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_whose_client_was_killed_goes_on_from_its_checkpoint(client, tmp_path):
    cells, checkpoint = tmp_path / "cells.h5ad", tmp_path / "fit.npz"
    anndata.AnnData(X).write_h5ad(cells)
    options = {**LONG, "max_iter": 6}
    unbroken = fit(X, **options)
    died = subprocess.run([sys.executable, "-c", FIT_AND_DIE, client.scheduler.address, str(cells), str(checkpoint)])
    assert died.returncode == -signal.SIGKILL
    iterations = []
    data = anndata.experimental.read_lazy(cells).X
    model = fit(data, callback=lambda step: iterations.append(step.iteration), checkpoint=checkpoint, **options)
    assert iterations == [4, 5, 6]
    assert model.n_passes_ == unbroken.n_passes_
    assert_same_fit(model, unbroken, rel=1e-9)


# ------------------------------------------------------------------------------------------------ errors


def spoilt(value):
    """Cells of which one, in the middle, has a value that cannot be."""
    values = X.copy()
    values.data[values.indptr[N_CELLS // 2]] = value
    return in_dask(values, 100)


@pytest.mark.parametrize(
    ("value", "said"), [(-1.0, "values from -1 to"), (np.nan, "missing values"), (np.inf, "to inf")], ids=str
)
def test_values_that_cannot_be_are_refused_in_one_line_from_wherever_they_are(client, value, said):
    for scheduler in ("threads", "distributed"):
        with (
            dask.config.set(scheduler=scheduler),
            pytest.raises(ValueError, match=f"^X must be finite and not negative, got .*{said}[^\n]*$"),
        ):
            fit(spoilt(value))
    assert tasks_left(client) == []


def test_an_error_in_one_block_ends_the_pass_at_once(client, tmp_path):
    def fail_or_wait(block, block_id=None):
        with suppress(FileExistsError):
            Path(tmp_path, "failed").mkdir()  # the first to come fails
            raise ValueError("no such cells")
        Path(tmp_path, str(block_id[0])).touch()
        time.sleep(0.5)  # a busy machine needs a while to hear of the failure
        return block

    data = in_dask(X, 20).map_blocks(fail_or_wait, meta=sparse.csr_matrix((0, 0)), dtype=X.dtype)
    with pytest.raises(ValueError, match=r"^no such cells$") as caught:
        Blocks(Remote(data)).moments()
    assert tasks_left(client) == []
    assert len(list(tmp_path.iterdir())) < data.numblocks[0] / 2
    assert caught.tb is not None  # which holds on to what the pass held


def test_arrays_that_cannot_be_read_by_cells_are_refused_with_the_remedy():
    dense = da.from_array(X.toarray(), chunks=(500, 60))
    with pytest.raises(ValueError, match=r"^X must have all genes in one chunk, got 2: X\.rechunk\({1: -1}\)$"):
        fit(dense)
    unknown = in_dask(X, 500, dense=True)
    unknown = unknown[unknown.sum(axis=1) > 0]
    with pytest.raises(ValueError, match=r"^X must have chunks of known sizes, got unknown ones: X\.compute_chunk"):
        fit(unknown)
    with pytest.raises(ValueError, match=r"^X must have 2 dimensions \(cells x genes\), got 1$"):
        fit(dense[:, 0])


@pytest.mark.parametrize("solver", ["palm", "mapalm"])
def test_solvers_that_carry_usages_along_are_refused(solver):
    with pytest.raises(ValueError, match=f"^solver must be 'bcd' for a Dask array, got '{solver}'$"):
        fit(in_dask(X, 500), solver=solver)
