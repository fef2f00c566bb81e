"""`SSNMF(consensus=True)`: one fit from what many agree on, wherever the cells are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import genesieve as gs

RANK = 5


@pytest.fixture(scope="module")
def adata():
    adata = gs.datasets.programs("easy", n_cells=250, n_genes=500, n_types=4, n_activities=1)
    gs.pp.prepare(adata)
    return adata


def fitted(X, **options):
    return gs.SSNMF(RANK, n_genes=80, random_state=0, n_restarts=6, consensus=True, **options).fit(X)


def test_a_fit_has_a_stability_for_every_program(adata):
    model = fitted(adata.X)
    assert model.stability_.shape == (RANK,)
    assert np.all((model.stability_ > 0) & (model.stability_ <= 1))
    assert np.allclose(model.stability_ * 6, np.round(model.stability_ * 6))
    assert model.get_support().sum() == 80


def test_planted_types_are_stable(adata):
    model = fitted(adata.X, labels="argmax")
    assert gs.metrics.nmi(adata.obs["cell_type"], model.labels_) > 0.7  # doublets and active cells may go elsewhere
    assert np.count_nonzero(model.stability_ == 1) >= 4


def test_two_seeds_have_the_same_programs_and_genes(adata):
    one, other = (
        gs.SSNMF(RANK, n_genes=80, random_state=seed, n_restarts=10, consensus=True).fit(adata.X) for seed in (1, 2)
    )
    shared = one.get_support() & other.get_support()
    assert shared.sum() >= 70
    vectors = [model.components_[:, shared] for model in (one, other)]
    first, second = (W / np.linalg.norm(W, axis=1, keepdims=True) for W in vectors)
    assert (first @ second.T).max(axis=1).min() > 0.99


def test_a_program_whose_genes_are_all_at_the_edge_of_the_budget_stays(adata):
    model = gs.SSNMF(RANK, n_genes=RANK + 1, random_state=0, n_restarts=3, consensus=True).fit(adata.X)
    assert model.components_.any(axis=1).all()


def test_without_consensus_there_is_no_stability(adata):
    assert gs.SSNMF(RANK, n_genes=80, random_state=0).fit(adata.X).stability_ is None


@pytest.mark.parametrize("orthogonality", [0.0, 0.1, "exact"])
@pytest.mark.parametrize("n_genes", [None, 80])
def test_every_penalty_and_budget_takes_it(adata, orthogonality, n_genes):
    model = gs.SSNMF(
        RANK, n_genes=n_genes, orthogonality=orthogonality, random_state=0, n_restarts=3, consensus=True
    ).fit(adata.X)
    assert model.stability_.shape == (RANK,)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9 * model.objective_) or orthogonality == "exact"


def test_dense_is_sparse(adata):
    one, other = fitted(adata.X), fitted(adata.X.toarray())
    assert np.allclose(one.components_, other.components_, atol=1e-5)
    assert np.array_equal(one.stability_, other.stability_)


def test_from_disk_as_from_memory(adata, tmp_path):
    import anndata

    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    one, other = fitted(adata.X), fitted(backed.X)
    assert np.allclose(one.components_, other.components_, atol=1e-5)
    assert np.array_equal(one.stability_, other.stability_)


def test_from_dask_as_from_memory(adata):
    dask = pytest.importorskip("dask.array")
    X = adata.X.toarray()
    one, other = fitted(X), fitted(dask.from_array(X, chunks=(100, -1)))
    assert np.allclose(one.components_, other.components_, atol=1e-5)
    assert np.array_equal(one.stability_, other.stability_)


def test_an_interrupted_fit_ends_where_it_would_have(adata, tmp_path):
    whole = fitted(adata.X, checkpoint=tmp_path / "whole.npz")
    fitted(adata.X, checkpoint=tmp_path / "cut.npz", callback=lambda progress: True)
    resumed = fitted(adata.X, checkpoint=tmp_path / "cut.npz")
    assert np.allclose(whole.components_, resumed.components_, atol=1e-9)
    assert np.array_equal(whole.stability_, resumed.stability_)


def test_a_checkpoint_without_consensus_is_of_another_fit(adata, tmp_path):
    fitted(adata.X, checkpoint=tmp_path / "fit.npz")
    with pytest.raises(ValueError, match=r"where consensus was True and not False"):
        gs.SSNMF(RANK, n_genes=80, random_state=0, n_restarts=6, checkpoint=tmp_path / "fit.npz").fit(adata.X)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_restarts": 1}, "n_restarts must be at least 2 where a consensus is asked for, got 1"),
        ({"solver": "palm"}, "solver must be 'bcd' where a consensus is asked for, got 'palm'"),
        ({"init": "random"}, "init must be 'nmf' where a consensus is asked for, got 'random'"),
        ({"consensus": "yes"}, "consensus must be True or False, got 'yes'"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options, says):
    options = {"n_restarts": 3, "consensus": True, **options}
    with pytest.raises((ValueError, TypeError), match=says):
        gs.SSNMF(2, **options).fit(sparse.eye_array(5, format="csr"))


def test_the_slot_and_the_table_have_it_and_survive_a_file(adata, tmp_path):
    import anndata

    from genesieve.tl._tables import programs_table

    adata = adata.copy()
    gs.tl.ssnmf(adata, RANK, 80, n_restarts=4, consensus=True)
    adata.write_h5ad(tmp_path / "fit.h5ad")
    read = anndata.read_h5ad(tmp_path / "fit.h5ad")
    assert np.array_equal(read.uns["ssnmf"]["stability"], adata.uns["ssnmf"]["stability"])
    gs.tl.top_genes(read)
    gs.tl.biclusters(read)
    assert np.array_equal(programs_table(read)["stability"], adata.uns["ssnmf"]["stability"])
