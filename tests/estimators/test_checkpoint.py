from __future__ import annotations

import errno
import io
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import anndata as ad
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import genesieve as gs
from genesieve.core import starts
from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import Blocks

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*programs are empty:UserWarning"),
]
VARIANTS = {
    "rows": {},
    "columns": {"sparsity": "columns"},
    "entries": {"sparsity": "entries"},
    "no budget": {"n_genes": None, "init": "random"},
    "no penalty": {"orthogonality": 0.0},
    "a penalty": {"orthogonality": 0.3},
    "exact": {"orthogonality": "exact"},
    "exact entries": {"orthogonality": "exact", "sparsity": "entries"},
    "restarts": {"n_restarts": 3},
    "exact restarts": {"n_restarts": 3, "orthogonality": "exact"},
    "weights and required": {"gene_weights": np.linspace(1, 2, 40), "required_genes": np.array([3, 5])},
    "from zero": {"baseline": "zero"},
    "random": {"init": "random"},
    "palm": {"solver": "palm"},
    "palm exact": {"solver": "palm", "orthogonality": "exact"},
    "palm restarts": {"solver": "palm", "n_restarts": 3, "init": "random"},
    "mapalm": {"solver": "mapalm", "orthogonality": 0.1},
    "mapalm exact": {"solver": "mapalm", "orthogonality": "exact", "sparsity": "columns"},
    "mapalm restarts": {"solver": "mapalm", "n_restarts": 3, "init": "random", "line_search": True},
}


def simulated(n_cells):
    rng = np.random.default_rng(0)
    H = rng.gamma(0.4, 1.0, (n_cells, 3))
    return rng.poisson(H @ rng.gamma(0.3, 3.0, (3, 40))).astype(np.float64)


X = simulated(90)


def model(**options):
    return gs.SSNMF(3, **{"n_genes": 12, "random_state": 0, "max_iter": 7, "tol": 0.0, **options})


class Count:
    """A callback that counts iterations, and ends the fit by an interruption after so many."""

    def __init__(self, last=None):
        self.calls, self._last = 0, last

    def __call__(self, progress):
        self.calls += 1
        if self.calls == self._last:
            raise KeyboardInterrupt


def interrupt(data, path, after, **options):
    with pytest.raises(KeyboardInterrupt):
        model(checkpoint=path, callback=Count(after), **options).fit(data)


def assert_same(found, expected, same_labels=1.0):
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_array_equal(found.get_support(), expected.get_support())
    assert np.mean(found.labels_ == expected.labels_) >= same_labels
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-6, atol=1e-9)
    assert (found.n_iter_, found.n_passes_) == (expected.n_iter_, expected.n_passes_)
    assert found.converged_ == expected.converged_
    assert found.reconstruction_err_ == pytest.approx(expected.reconstruction_err_, rel=1e-9)
    assert found.penalty_ == expected.penalty_
    np.testing.assert_allclose(found.history_["objective"], expected.history_["objective"], rtol=1e-9)
    np.testing.assert_array_equal(found.history_["passes"], expected.history_["passes"])
    assert (np.diff(found.history_["seconds"]) >= 0).all()


def one_line(caught):
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture
def small_samples(monkeypatch):
    """Few cells count as many."""
    monkeypatch.setattr(sampling, "SAMPLE_CELLS", 50)
    monkeypatch.setattr(starts, "NMF_START_CELLS", 30)


# ------------------------------------------------------------------------------------------------ laws


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("large", [False, True], ids=["all cells", "a sample first"])
def test_a_fit_that_was_interrupted_ends_where_the_unbroken_one_does(tmp_path, request, large, variant):
    if large:
        request.getfixturevalue("small_samples")
    options, count = VARIANTS[variant], Count()
    unbroken = model(callback=count, **options).fit(X)
    total = count.calls
    assert total > 3
    for after in (1, total - 1) if large else (total // 2, total):
        path, rest = tmp_path / f"{after}.npz", Count()
        interrupt(X, path, after, **options)
        again = model(checkpoint=path, callback=rest, **options).fit(X)
        assert_same(again, unbroken)
        assert rest.calls == total - after  # no iteration is done twice
        assert [file.name for file in tmp_path.glob(".*")] == []


@pytest.mark.parametrize("variant", ["rows", "exact restarts", "mapalm restarts"])
def test_a_fit_that_is_interrupted_after_every_iteration_gets_there_too(tmp_path, variant):
    options, interruptions = {**VARIANTS[variant], "max_iter": 3}, 0
    while True:
        try:
            found = model(checkpoint=tmp_path / "fit.npz", callback=Count(1), **options).fit(X)
            break
        except KeyboardInterrupt:
            interruptions += 1
    assert interruptions >= found.n_iter_
    assert_same(found, model(**options).fit(X))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_checkpoint_changes_nothing_and_a_finished_one_is_the_fit_at_once(tmp_path, monkeypatch, variant):
    options = VARIANTS[variant]
    kept = model(checkpoint=tmp_path / "fit.npz", **options)
    H = kept.fit_transform(X)
    assert_same(kept, model(**options).fit(X))
    written, count = (tmp_path / "fit.npz").read_bytes(), Count()
    again = model(checkpoint=str(tmp_path / "fit.npz"), callback=count, **options)
    np.testing.assert_allclose(again.fit_transform(X), H, rtol=1e-6, atol=1e-9)
    assert_same(again, kept)
    assert count.calls == 0
    assert (tmp_path / "fit.npz").read_bytes() == written


@pytest.mark.parametrize("solver", ["bcd", "palm", "mapalm"])
def test_a_finished_fit_is_had_again_without_a_pass(tmp_path, monkeypatch, solver):
    options = {"solver": solver, "init": "random", "n_restarts": 2, "checkpoint": tmp_path / "fit.npz"}
    kept = model(**options).fit(X)
    monkeypatch.delattr(Blocks, "sweep")
    assert_same(model(**options).fit(X), kept)


def test_a_fit_of_many_cells_goes_on_from_its_checkpoint(tmp_path):
    many = sparse.csr_matrix(simulated(2200))
    count = Count()
    unbroken = model(callback=count).fit(many)
    interrupt(many, tmp_path / "fit.npz", 2)
    rest = Count()
    assert_same(model(checkpoint=tmp_path / "fit.npz", callback=rest).fit(many), unbroken)
    assert rest.calls == count.calls - 2


@pytest.mark.parametrize("variant", ["rows", "a penalty", "palm"])
def test_what_was_begun_in_memory_goes_on_from_a_file_and_the_other_way_round(tmp_path, variant):
    options = VARIANTS[variant]
    rows = sparse.csr_matrix(X)
    ad.AnnData(rows).write_h5ad(tmp_path / "data.h5ad")
    stored = ad.read_h5ad(tmp_path / "data.h5ad", backed="r").X
    unbroken = model(**options).fit(rows)
    for name, (first, second) in {"memory": (rows, stored), "file": (stored, rows), "dense": (rows, X)}.items():
        interrupt(first, tmp_path / name, 3, n_jobs=1, **options)
        found = model(checkpoint=tmp_path / name, n_jobs=2, memory="4GB", **options).fit(second)
        assert found.objective_ == pytest.approx(unbroken.objective_, rel=1e-9)
        np.testing.assert_array_equal(found.get_support(), unbroken.get_support())
        np.testing.assert_array_equal(found.labels_, unbroken.labels_)
        assert found.n_iter_ == unbroken.n_iter_


def test_a_fit_that_its_callback_stopped_can_go_on(tmp_path):
    path = tmp_path / "fit.npz"
    stopped = model(checkpoint=path, callback=lambda progress: progress.iteration == 3).fit(X)
    assert stopped.n_iter_ == 3
    assert_same(model(checkpoint=path).fit(X), model().fit(X))


def test_what_a_fit_is_labelled_and_scaled_by_may_change_on_the_way(tmp_path):
    interrupt(X, tmp_path / "fit.npz", 3, orthogonality=0.05)
    found = model(checkpoint=tmp_path / "fit.npz", orthogonality=0.05, labels="kmeans", gauge=None).fit(X)
    expected = model(orthogonality=0.05, labels="kmeans", gauge=None).fit(X)
    assert_same(found, expected, same_labels=0.9)  # of a cell between two clusters the last digit decides


# ------------------------------------------------------------------------------------------------ kill -9

KILLED = """
import os, signal, sys
import anndata as ad
import genesieve as gs
def kill(progress):
    kill.calls += 1
    if kill.calls == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
kill.calls = 0
options = dict(n_genes=12, random_state=0, max_iter=7, tol=0.0, n_restarts=2, checkpoint=sys.argv[2], callback=kill)
gs.SSNMF(3, **options).fit(ad.read_h5ad(sys.argv[1], backed="r").X)
"""


def test_a_killed_process_leaves_a_checkpoint_that_another_goes_on_from(tmp_path):
    data, path = tmp_path / "data.h5ad", tmp_path / "fit.npz"
    ad.AnnData(sparse.csr_matrix(X)).write_h5ad(data)
    for calls in (3, 6):  # in the first restart, and after that, in the second
        killed = subprocess.run([sys.executable, "-c", KILLED, data, path, str(calls)], check=False, timeout=600)
        assert killed.returncode == -signal.SIGKILL
    count, rest = Count(), Count()
    stored = ad.read_h5ad(data, backed="r").X
    unbroken = model(n_restarts=2, callback=count).fit(stored)
    assert_same(model(n_restarts=2, checkpoint=path, callback=rest).fit(stored), unbroken)
    assert rest.calls == count.calls - 9


# ------------------------------------------------------------------------------------------------ writing it whole


def half(file, **arrays):
    """What a full disk leaves of a file."""
    whole = io.BytesIO()
    real_savez(whole, **arrays)
    file.write(whole.getvalue()[: whole.tell() // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


def no_sync(handle):
    raise OSError(errno.EIO, "Input/output error")


real_savez = np.savez


@pytest.mark.parametrize(("place", "name", "fails"), [(np, "savez", half), (os, "fsync", no_sync)])
def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one_whole(tmp_path, monkeypatch, place, name, fails):
    path = tmp_path / "fit.npz"
    interrupt(X, path, 3)
    written = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(place, name, fails)
        with pytest.raises(OSError, match=r"error|space"):
            model(checkpoint=path).fit(X)
    assert path.read_bytes() == written
    assert [file.name for file in tmp_path.iterdir()] == ["fit.npz"]
    assert_same(model(checkpoint=path).fit(X), model().fit(X))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_ends_the_fit_and_leaves_nothing(tmp_path, monkeypatch):
    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, mode: opened(Path("/dev/full") if self.name.endswith(".part") else self, mode)
    )
    with pytest.raises(OSError, match="No space left on device"):
        model(checkpoint=tmp_path / "fit.npz").fit(X)
    assert list(tmp_path.iterdir()) == []


def test_the_last_checkpoint_stays_in_place_until_the_next_is_whole(tmp_path, monkeypatch):
    path, replace, seen = tmp_path / "fit.npz", os.replace, []

    def watched(new, old):
        for file in (new, old):
            if os.path.exists(file):
                with np.load(file, allow_pickle=False) as arrays:
                    seen.append(len(arrays["about"].item()))
        replace(new, old)

    monkeypatch.setattr(os, "replace", watched)
    model(checkpoint=path).fit(X)
    assert len(seen) == 2 * 7 - 1


# ------------------------------------------------------------------------------------------------ refusals


def saved(save):
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


FOREIGN = {
    "text": b"cells and genes\n",
    "nothing": b"",
    "npy": saved(lambda file: np.save(file, X)),
    "pickle": pickle.dumps({"about": 1}),
    "npz": saved(lambda file: np.savez(file, W=X)),
    "npz about something else": saved(lambda file: np.savez(file, about=np.array("[1]"))),
    "npz of another format": saved(lambda file: np.savez(file, about=np.array('{"format": 99}'))),
    "npz without a fit": saved(lambda file: np.savez(file, about=np.array('{"format": 1}'))),
    "compressed": saved(lambda file: np.savez_compressed(file, W=X))[:-30],
    "objects": saved(lambda file: np.savez(file, about=np.array([None, {}], dtype=object))),
}


@pytest.mark.parametrize("kind", [*FOREIGN, "half", "without its end", "with other bytes"])
def test_a_file_that_is_no_checkpoint_is_refused_and_left_as_it_is(tmp_path, kind):
    path = tmp_path / "fit.npz"
    if kind in FOREIGN:
        path.write_bytes(FOREIGN[kind])
    else:
        interrupt(X, path, 2)
        whole = path.read_bytes()
        middle = len(whole) // 2
        spoilt = {"half": whole[:middle], "without its end": whole[:-1]}
        path.write_bytes(spoilt.get(kind, whole[:middle] + bytes(40) + whole[middle + 40 :]))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"checkpoint must be a file of genesieve, got {path}: .") as caught:
        model(checkpoint=path).fit(X)
    one_line(caught)
    assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path):
    for folder in (tmp_path, ""):
        with pytest.raises(ValueError, match="checkpoint must be a file of genesieve") as caught:
            model(checkpoint=folder).fit(X)
        one_line(caught)
    with pytest.raises(ValueError, match="checkpoint must be a file in a folder that is there") as caught:
        model(checkpoint=tmp_path / "missing" / "fit.npz").fit(X)
    one_line(caught)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", 4),
        ("n_genes", 13),
        ("sparsity", "columns"),
        ("orthogonality", 0.0),
        ("solver", "palm"),
        ("init", "random"),
        ("max_iter", 9),
        ("tol", 1e-3),
        ("n_restarts", 2),
        ("gene_weights", np.ones(40)),
        ("baseline", "zero"),
        ("required_genes", [1]),
        ("line_search", True),
        ("random_state", 1),
    ],
)
def test_a_checkpoint_of_other_parameters_is_refused_and_left_as_it_is(tmp_path, name, value):
    path = tmp_path / "fit.npz"
    interrupt(X, path, 2)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"checkpoint must be of the same fit, got .*, where {name} was ") as caught:
        model(checkpoint=path).set_params(**{name: value}).fit(X)
    assert one_line(caught).endswith("remove it, or name another file")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (X[:-1], "shape"),
        (X[:, :-1], "shape"),
        (X * 1.000001, "squared_norm"),
        (X + (X > 5), "squ"),
        (X[:, ::-1], "numbered"),
    ],
)
def test_a_checkpoint_of_other_data_is_refused_and_left_as_it_is(tmp_path, other, what):
    path = tmp_path / "fit.npz"
    interrupt(X, path, 2)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"checkpoint must be of the same fit, got .*, where {what}") as caught:
        model(checkpoint=path).fit(other)
    one_line(caught)
    assert path.read_bytes() == before


@pytest.mark.parametrize("state", [None, np.random.default_rng(0), np.random.RandomState(0)])
def test_a_fit_that_cannot_be_repeated_has_no_checkpoint(tmp_path, state):
    with pytest.raises(ValueError, match="random_state must be an integer with a checkpoint") as caught:
        model(checkpoint=tmp_path / "fit.npz", random_state=state).fit(X)
    one_line(caught)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("checkpoint", [3, True, b"fit.npz", ["fit.npz"]])
def test_a_checkpoint_is_a_path(checkpoint):
    with pytest.raises(TypeError, match="checkpoint must be the path of a file or None"):
        model(checkpoint=checkpoint).fit(X)


def test_a_model_with_a_checkpoint_can_be_cloned_and_pickled(tmp_path):
    made = model(checkpoint=tmp_path / "fit.npz", memory="2GB")
    for copy in (clone(made), pickle.loads(pickle.dumps(made)), pickle.loads(pickle.dumps(made.fit(X)))):
        assert copy.get_params()["checkpoint"] == tmp_path / "fit.npz"
        assert copy.get_params()["memory"] == "2GB"
    assert_same(clone(made).fit(X), made)


@pytest.mark.parametrize("solver", ["bcd", "mapalm"])
@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("now/W", lambda array: array[:3]),
        ("now/W", lambda array: array - 10),
        ("now/gram", lambda array: np.full(array.shape, "x")),
        ("now/cross", lambda array: np.full(array.shape, np.nan)),
        ("now/done", lambda array: None),
        ("now/W", lambda array: np.ones(array.shape)),
    ],
)
def test_a_checkpoint_made_by_hand_is_refused_in_one_line(tmp_path, solver, part, change):
    path, options = tmp_path / "fit.npz", {"n_genes": 12, "random_state": 0, "solver": solver, "max_iter": 5}
    gs.SSNMF(3, **options, checkpoint=path, callback=lambda progress: progress.iteration == 2).fit(X)
    arrays = dict(np.load(path))
    arrays[part] = change(arrays[part])
    with path.open("wb") as file:
        np.savez(file, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(ValueError, match="checkpoint must") as caught:
        gs.SSNMF(3, **options, checkpoint=path).fit(X)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.update(fit="auto"),
        lambda about: about["best"].update(squared_residual=-0.5),
        lambda about: about["best"].update(objective=float("inf")),
        lambda about: about["history"][0].update(objective=float("-inf")),
        lambda about: about["history"][0].update(seconds=10**400),
    ],
)
def test_a_course_made_by_hand_is_refused_in_one_line(tmp_path, change):
    path, options = tmp_path / "fit.npz", {"n_genes": 12, "random_state": 0, "max_iter": 2, "tol": 0.0, "n_restarts": 2}
    calls = iter(range(100))
    gs.SSNMF(3, **options, checkpoint=path, callback=lambda progress: next(calls) == 2).fit(X)
    arrays = dict(np.load(path))
    about = json.loads(str(arrays["about"]))
    change(about)
    with path.open("wb") as file:
        np.savez(file, **{**arrays, "about": np.array(json.dumps(about))})
    with pytest.raises(ValueError, match="checkpoint must be a file of genesieve") as caught:
        gs.SSNMF(3, **options, checkpoint=path).fit(X)
    assert len(str(caught.value).splitlines()) == 1
