"""Fits with few genes: programs on more genes choose them, and the last steps keep to these."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

import genesieve as gs
from genesieve.core import budget

RANK, N_GENES = 5, 40


@pytest.fixture(scope="module")
def planted():
    """Prepared counts with five known programs."""
    adata = gs.datasets.programs("medium", n_cells=300, n_genes=1500, n_types=4, n_activities=1)
    gs.pp.prepare(adata)
    assert budget.wider(N_GENES, adata.n_vars) > N_GENES
    return adata


def fit(X, *, batches=None, **options):
    return gs.SSNMF(RANK, **{"n_genes": N_GENES, "random_state": 0, **options}).fit(X, batches=batches)


def assert_same(one, other):
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [{}, {"orthogonality": 0.0}, {"orthogonality": "exact"}, {"n_restarts": 2}, {"n_restarts": 4, "consensus": True}],
    ids=str,
)
def test_the_budget_is_exact_and_the_objective_never_rises(planted, options):
    model = fit(planted.X, **options)
    assert model.get_support().sum() == N_GENES
    assert model.components_.any(axis=1).all()
    if options.get("orthogonality") != "exact":  # under a growing penalty it does
        assert (np.diff(model.history_["objective"]) <= 1e-9 * model.objective_).all()


@pytest.mark.parametrize("n_genes", [1, RANK, 100])
def test_any_small_budget_is_exact(planted, n_genes):
    assert fit(planted.X, n_genes=n_genes).get_support().sum() == n_genes


def test_the_genes_of_a_smaller_budget_are_among_those_of_a_larger_one(planted):
    few, more, most = (fit(planted.X, n_genes=n_genes).get_support() for n_genes in (20, 40, 80))
    assert (more[few]).all()
    assert (most[more]).all()


def test_required_genes_are_among_them(planted):
    free = fit(planted.X).get_support()
    required = np.flatnonzero(~free)[:7]
    chosen = fit(planted.X, required_genes=required).get_support()
    assert chosen[required].all()
    assert chosen.sum() == N_GENES


def test_batches_leave_the_budget_exact(planted):
    batches = np.arange(planted.n_obs) % 2
    assert fit(planted.X, batches=batches).get_support().sum() == N_GENES


def test_in_memory_on_disk_and_on_dask_are_one(planted, tmp_path):
    dask = pytest.importorskip("dask.array")
    planted.write_h5ad(tmp_path / "cells.h5ad")
    held, dense = fit(planted.X), planted.X.toarray()
    assert_same(held, fit(dense))
    assert_same(held, fit(ad.read_h5ad(tmp_path / "cells.h5ad", backed="r").X))
    assert_same(held, fit(dask.from_array(dense, chunks=(100, -1))))


@pytest.mark.parametrize("options", [{}, {"orthogonality": "exact"}, {"n_restarts": 2}], ids=str)
def test_a_fit_that_was_stopped_goes_on_with_its_genes_from_memory_or_from_disk(planted, tmp_path, options):
    planted.write_h5ad(tmp_path / "cells.h5ad")
    whole = fit(planted.X, **options)
    for place, X in {"memory": planted.X, "disk": ad.read_h5ad(tmp_path / "cells.h5ad", backed="r").X}.items():
        path = tmp_path / f"{place}.npz"
        fit(planted.X, checkpoint=path, callback=lambda progress: True, **options)
        assert_same(fit(X, checkpoint=path, **options), whole)


@pytest.mark.parametrize(
    "options",
    [{"n_genes": budget.SMALL_BUDGET}, {"baseline": "zero"}, {"sparsity": "columns"}, {"init": "random"}],
    ids=str,
)
def test_all_other_fits_are_as_they_were(planted, monkeypatch, options):
    now = fit(planted.X, **options)
    monkeypatch.setattr(budget, "SMALL_BUDGET", 0)
    np.testing.assert_array_equal(now.components_, fit(planted.X, **options).components_)
