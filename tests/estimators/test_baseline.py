"""What a gene outside the budget is predicted by, from the estimator's side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import genesieve as gs


@pytest.fixture(scope="module")
def planted():
    """Prepared counts with six known programs."""
    adata = gs.datasets.programs("hard", n_cells=600, n_genes=1500, n_types=5, n_activities=1)
    gs.pp.prepare(adata)
    return adata


def fit(X, **options):
    return gs.SSNMF(6, **{"n_genes": 100, "random_state": 0, **options}).fit(X)


@pytest.mark.parametrize(
    ("options", "baseline"),
    [
        ({}, "mean"),
        ({"baseline": "zero"}, "zero"),
        ({"labels": "kmeans", "orthogonality": "exact"}, "mean"),
        ({"n_genes": None}, "zero"),
        ({"sparsity": "columns"}, "zero"),
        ({"sparsity": "entries"}, "zero"),
        ({"solver": "mapalm"}, "zero"),
    ],
)
def test_where_the_mean_applies(options, baseline):
    assert fit(gs.datasets.synthetic(random_state=0).X, max_iter=200, **options).baseline_ == baseline


def test_methods_of_the_paper_count_from_zero():
    assert gs.METHODS["onmf_l20"](3, n_genes=100).baseline == "zero"


def test_genes_beyond_their_mean_are_those_that_programs_raise(planted):
    raised = planted.varm["true_raised"].any(axis=1)  # 90 genes or so
    zero, mean = (fit(planted.X, n_genes=40, baseline=baseline).get_support() for baseline in ("zero", "mean"))
    assert raised[mean].mean() >= 0.9
    assert raised[mean].mean() >= raised[zero].mean() + 0.2


@pytest.mark.parametrize("n_genes", [1, 100, "all"])
def test_the_budget_is_spent_whatever_genes_are_worth(planted, n_genes):
    n_genes = planted.n_vars if n_genes == "all" else n_genes
    model = fit(planted.X, n_genes=n_genes)
    assert model.get_support().sum() == n_genes


def test_a_start_that_leaves_some_of_the_budget_is_no_end(planted):
    H = np.random.default_rng(0).random((planted.n_obs, 6))
    W = np.zeros((planted.n_vars, 6))
    W[:10] = 1.0
    assert fit(planted.X, init=(H, W)).get_support().sum() == 100


def test_the_order_of_cells_does_not_matter(planted):
    X, rng = planted.X.astype(np.float64), np.random.default_rng(0)
    start, order = (rng.random((X.shape[0], 6)), rng.random((X.shape[1], 6))), rng.permutation(X.shape[0])
    plain, shuffled = fit(X, init=start), fit(X[order], init=(start[0][order], start[1]))
    np.testing.assert_array_equal(plain.get_support(), shuffled.get_support())
    assert shuffled.objective_ == pytest.approx(plain.objective_, rel=1e-9)


def test_dense_and_sparse_agree_and_the_objective_is_what_is_said(planted):
    held, dense = fit(planted.X), fit(planted.X.toarray())
    np.testing.assert_array_equal(held.get_support(), dense.get_support())
    X, selected, weights = planted.X.toarray().astype(np.float64), held.get_support(), held.gene_weights_
    H = held.transform(sparse.csr_matrix(planted.X))
    prediction, size = H @ held.components_, X.sum(axis=1)
    for gene in np.flatnonzero(~selected):
        prediction[:, gene] = np.polyval(np.polyfit(size, X[:, gene], 1), size)
    residual = 0.5 * (((X - prediction) * weights) ** 2).sum()
    W = (held.components_ * weights).T * held.gauge_scale_
    penalty = held.penalty_.value((H / held.gauge_scale_).T @ (H / held.gauge_scale_), W.T @ W)
    assert held.objective_ == pytest.approx(residual + penalty, rel=1e-5)
    assert held.explained_ == pytest.approx(1 - ((X - H @ held.components_) ** 2).sum() / (X**2).sum(), rel=1e-4)
