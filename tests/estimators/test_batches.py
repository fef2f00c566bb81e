"""A fit that knows its batches: what it leaves alone, what it takes off, and what it refuses."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import genesieve as gs
from genesieve.core.batches import FARTHEST_SCALE, BatchSums, estimate_scales, gene_levels
from genesieve.core.cells.scaled import Rows, Scaled, batch_sums
from genesieve.core.cells.sources import InMemory

N_BATCHES, RANK, BUDGET = 3, 4, 60


@cache
def planted(effect=0.5):
    """Four types in three batches; read only."""
    sizes = {"n_cells": 400, "n_genes": 400, "n_types": RANK, "n_activities": 0, "n_batches": N_BATCHES}
    adata = gs.datasets.programs("easy", **sizes, batch_effect=effect, random_state=1)
    gs.pp.prepare(adata)
    return adata


@cache
def several_types():
    """Eight types that differ less, and two activities, without effects; read only."""
    adata = gs.datasets.programs("medium", n_cells=800, n_genes=1000, n_types=8, n_activities=2, random_state=1)
    gs.pp.prepare(adata, min_cells=0.3)
    return adata


def batches_of(adata):
    return adata.obs["batch"].to_numpy(dtype=str)


def model(**options):
    return gs.SSNMF(RANK, n_genes=BUDGET, random_state=0, **options)


def between(adata, H):
    """The share of the variation of usages within types that is between batches."""
    table = pd.DataFrame(H / H.sum(axis=1, keepdims=True))
    types, cells = adata.obs["cell_type"].to_numpy(str), adata.obs["batch"].to_numpy(str)
    within = table - table.groupby(types).transform("mean")
    return float((within.groupby([types, cells]).transform("mean") ** 2).sum().sum() / (within**2).sum().sum())


# ------------------------------------------------------------------------------------------------ laws


def test_one_batch_is_no_batches():
    X = planted().X
    alone, none = model().fit(X, batches=["all"] * X.shape[0]), model().fit(X)
    np.testing.assert_array_equal(alone.components_, none.components_)
    np.testing.assert_array_equal(alone.batch_scales_, 1.0)
    assert none.batches_ is None


def test_names_of_batches_do_not_matter():
    adata = planted()
    names = {"batch 1": "z", "batch 2": 7, "batch 3": 2.5}
    first = model().fit(adata.X, batches=batches_of(adata))
    second = model().fit(adata.X, batches=[names[name] for name in batches_of(adata)])
    assert list(second.batches_) == ["2.5", "7", "z"]
    np.testing.assert_allclose(second.components_, first.components_, atol=1e-6)
    np.testing.assert_allclose(second.batch_scales_[::-1], first.batch_scales_, rtol=1e-6)


def test_dense_is_sparse():
    adata = planted()
    one = model().fit(adata.X, batches=batches_of(adata))
    other = model().fit(adata.X.toarray(), batches=batches_of(adata))
    np.testing.assert_allclose(other.components_, one.components_, atol=1e-5)


def test_the_objective_never_rises():
    adata = planted()
    history = model(tol=1e-8, init="random").fit(adata.X, batches=batches_of(adata)).history_["objective"]
    assert (np.diff(history) <= 1e-9 * history[0]).all()


def test_scales_are_one_on_average_and_within_bounds():
    adata = planted(1.5)
    scales = model().fit(adata.X, batches=batches_of(adata)).batch_scales_
    assert scales.min() >= 1 / FARTHEST_SCALE
    assert scales.max() <= FARTHEST_SCALE
    assert abs(np.log(scales).mean()) < 0.2


def test_scaled_values_are_divided_by_the_scale_of_their_batch_and_gene():
    rng = np.random.default_rng(0)
    X, batch, scales = rng.poisson(1.0, (30, 7)).astype(float), rng.integers(3, size=30), rng.uniform(0.5, 2, (3, 7))
    for source in (InMemory(X), InMemory(sparse.csr_array(X))):
        given = Scaled(source, batch, scales)
        found = np.vstack(
            [np.asarray(block.todense() if sparse.issparse(block) else block) for block in given.each(_X)]
        )
        np.testing.assert_allclose(found, X / scales[batch])
        some = given.rows(np.array([3, 8]))
        np.testing.assert_allclose(some.toarray() if sparse.issparse(some) else some, (X / scales[batch])[[3, 8]])
        sums, squares = source.total(lambda X, rows: batch_sums(3, X, rows), Rows(None, batch))
        np.testing.assert_allclose(sums, [X[batch == number].sum(axis=0) for number in range(3)])
        np.testing.assert_allclose(squares, (X**2).sum(axis=0))


def _X(X, H):
    return X


def test_the_inverse_scales_of_a_gene_are_one_on_average():
    rng = np.random.default_rng(0)
    sums = BatchSums(rng.gamma(2.0, 50.0, (3, 9)), rng.gamma(2.0, 100.0, 9), np.array([40.0, 50.0, 60.0]))
    predicted = rng.gamma(2.0, 50.0, (3, 9))
    np.testing.assert_allclose((predicted / sums.scales(predicted)).sum(axis=0), predicted.sum(axis=0))


def test_a_gene_of_one_batch_comes_down_there_and_hardly_up_elsewhere():
    adata = planted(0.0)
    X, first = adata.X.toarray(), batches_of(adata) == "batch 1"
    X[~first, :3] *= np.random.default_rng(0).random(((~first).sum(), 3)) < 0.03  # hardly seen outside the first
    scales = model().fit(X, batches=np.where(first, "on", "off")).batch_scales_[:, :3]
    assert (scales[1] > 3).all()
    assert (scales[0] > 0.3).all()


def test_what_is_predicted_by_rounding_alone_is_nothing():
    seen, predicted = np.array([4.0, 4.0, 4.0, 0.0]), np.array([2.0, 4e-297, 0.0, 3.0])
    for size in (1e-30, 1.0, 1e30):
        np.testing.assert_allclose(gene_levels(seen * size, predicted * size), [2.0, 1.0, 1.0, 1.0])


def test_rounds_settle(monkeypatch):
    adata = planted()
    batch = adata.obs["batch"].cat.codes.to_numpy()
    usual = estimate_scales(InMemory(adata.X), batch, RANK, np.random.default_rng(0))
    monkeypatch.setattr("genesieve.core.batches.ROUNDS", 60)
    longer = estimate_scales(InMemory(adata.X), batch, RANK, np.random.default_rng(0))
    assert np.abs(np.log(usual / longer)).mean() < 0.02


# ------------------------------------------------------------------------------------------------ what it is for


def test_batches_are_hard_to_tell_from_usages():
    adata = planted()
    ignored = model().fit_transform(adata.X)
    known = model().fit_transform(adata.X, batches=batches_of(adata))
    assert between(adata, known) < 0.5 * between(adata, ignored)


def test_scales_follow_the_planted_factors_not_the_composition():
    adata = planted(0.0)
    rng = np.random.default_rng(0)
    of_type = adata.obs["cell_type"].cat.codes.to_numpy()
    batch = (rng.random(adata.n_obs) < np.array([0.1, 0.9, 0.3, 0.7])[of_type]).astype(int)  # types, not effects
    scales = estimate_scales(InMemory(adata.X), batch, RANK, rng)
    means = np.array([np.asarray(adata.X[batch == number].mean(axis=0)).ravel() for number in (0, 1)])
    raised = adata.varm["true_raised"].any(axis=1)
    spread, naive = (np.abs(np.log(pair[1] / pair[0]))[raised].mean() for pair in (scales, means))
    assert spread < 0.6 * naive


def test_usages_leave_to_scales_what_batches_do_to_the_genes_of_a_type(monkeypatch):
    adata, rng = several_types(), np.random.default_rng(0)
    batch, true = rng.integers(N_BATCHES, size=adata.n_obs), rng.normal(0.0, 0.5, (N_BATCHES, adata.n_vars))
    source = InMemory((adata.X.toarray() * np.exp(true)[batch]).astype(np.float32))
    raised = adata.varm["true_raised"].astype(float)
    raised -= raised.mean(axis=0)

    def missed():
        off = np.log(estimate_scales(source, batch, raised.shape[1], np.random.default_rng(0))) - true
        return np.linalg.lstsq(raised, (off - off.mean(axis=0)).T)[0].std()  # by program and batch

    penalised = missed()
    monkeypatch.setattr("genesieve.core.batches.ORTHOGONALITY", 0.0)
    assert penalised < 0.8 * missed()


# ------------------------------------------------------------------------------------------------ new cells


def test_transforming_the_cells_of_the_fit_gives_their_usages():
    adata = planted()
    fitted = model()
    H = fitted.fit_transform(adata.X, batches=batches_of(adata))
    some = slice(50, 90)
    np.testing.assert_allclose(fitted.transform(adata.X[some], batches=batches_of(adata)[some]), H[some], atol=1e-4)


def test_cells_of_a_known_batch_under_a_new_name_have_much_the_same_usages():
    adata = planted()
    known = batches_of(adata) == "batch 1"
    fitted = model()
    H = fitted.fit_transform(adata.X, batches=batches_of(adata))[known]
    new = fitted.transform(adata.X[known], batches=["new"] * known.sum())
    assert np.corrcoef(H.ravel(), new.ravel())[0, 1] > 0.9


# ------------------------------------------------------------------------------------------------ odd and bad input


def test_a_batch_of_one_cell_and_a_batch_without_some_genes():
    adata = planted()
    X, labels = adata.X.copy().toarray(), batches_of(adata).astype(object)
    labels[0] = "lonely"
    X[np.ix_(labels == "batch 2", np.arange(5))] = 0.0
    fitted = model()
    H = fitted.fit_transform(X, batches=labels)
    assert np.isfinite(H).all()
    assert np.isfinite(fitted.batch_scales_).all()
    assert list(fitted.batches_) == ["batch 1", "batch 2", "batch 3", "lonely"]
    alone = np.abs(np.log(fitted.batch_scales_[3])).mean()
    assert alone < np.abs(np.log(fitted.batch_scales_[:3])).mean()  # one cell says little


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 399, r"batches must be 400 labels \(one a cell\), got an array of shape \(399,\)"),
        ([None, *["a"] * 399], "batches must name the batch of every cell, got 1 missing values, the first at cell 0"),
        ([pd.NA, np.nan, *["a"] * 398], "got 2 missing values"),
        ([1, "1", *["a"] * 398], "batches must have labels that differ as text, got 1 and '1'"),
        (range(400), "batches must have several cells each, got 400 batches of 400 cells, like '0'"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        model().fit(planted().X, batches=labels)


def test_labels_for_a_fit_without_batches_are_refused():
    adata = planted()
    fitted = model().fit(adata.X)
    with pytest.raises(ValueError, match="batches must be None for a fit without batches"):
        fitted.transform(adata.X, batches=batches_of(adata))


# ---------------------------------------------------------------------------------------- wherever the cells are


def assert_same_fit(model, expected):
    np.testing.assert_allclose(model.batch_scales_, expected.batch_scales_, rtol=1e-5)
    np.testing.assert_array_equal(model.get_support(), expected.get_support())
    # Values that differ by 1e-5 change a sum of squares by twice that, and the residual is a part of it.
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-4)


def test_a_fit_from_a_file_is_that_of_memory(tmp_path):
    h5py = pytest.importorskip("h5py")
    adata = planted()
    expected = model().fit(adata.X, batches=batches_of(adata))
    with h5py.File(tmp_path / "cells.h5", "w") as file:
        stored = file.create_dataset("X", data=adata.X.toarray(), chunks=(50, adata.n_vars))
        assert_same_fit(model().fit(stored, batches=batches_of(adata)), expected)


def test_a_fit_on_dask_is_that_of_memory():
    da = pytest.importorskip("dask.array", reason="Dask arrays are not installed: pip install genesieve[dask]")
    adata = planted()
    expected = model().fit(adata.X, batches=batches_of(adata))
    X = da.from_array(adata.X.toarray(), chunks=(130, adata.n_vars))
    found = model().fit(X, batches=batches_of(adata))
    assert_same_fit(found, expected)
    usages = [fitted.transform(data, batches=batches_of(adata)) for fitted, data in ((found, X), (expected, adata.X))]
    np.testing.assert_allclose(*usages, atol=1e-3)


def test_a_fit_goes_on_from_its_checkpoint_and_not_from_that_of_other_batches(tmp_path):
    adata, file = planted(), tmp_path / "fit.npz"
    labels = batches_of(adata)
    expected = model(init="random").fit(adata.X, batches=labels)
    model(init="random", checkpoint=file, callback=lambda progress: progress.iteration == 2).fit(
        adata.X, batches=labels
    )
    resumed = model(init="random", checkpoint=file).fit(adata.X, batches=labels)
    assert_same_fit(resumed, expected)
    assert resumed.n_iter_ == expected.n_iter_
    for others in (None, np.roll(labels, 7)):
        with pytest.raises(ValueError, match="checkpoint must be of the same fit"):
            model(init="random", checkpoint=file).fit(adata.X, batches=others)


def test_scales_of_more_cells_than_the_sample_are_of_all_cells(monkeypatch):
    adata = planted()
    monkeypatch.setattr("genesieve.core.batches.SAMPLE_CELLS", 200)
    labels = batches_of(adata).astype(object)
    labels[:2] = "rare"  # may be absent from the sample
    fitted = model().fit(adata.X, batches=labels)
    whole = model().fit(adata.X, batches=batches_of(adata))
    log = np.log(fitted.batch_scales_[:3]), np.log(whole.batch_scales_)
    assert np.corrcoef(log[0].ravel(), log[1].ravel())[0, 1] > 0.9
