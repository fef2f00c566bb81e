"""Least squares of genes on designs: that of a textbook, wherever the cells are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from genesieve.core.cells.regression import regress
from genesieve.core.cells.sources import InMemory
from genesieve.core.cells.streamed import as_source

N_CELLS, N_GENES, RANK = 120, 30, 3


def draw(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values with many zeros, two designs, and the design of every gene."""
    rng = np.random.default_rng(seed)
    designs = rng.dirichlet(np.ones(RANK), (N_CELLS, 2))
    X = rng.poisson(designs[:, 0] @ rng.gamma(1.0, 2.0, (RANK, N_GENES))).astype(np.float64)
    return X, designs, rng.integers(2, size=N_GENES)


def textbook(x: np.ndarray, D: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weighted least squares of one gene, its HC3 errors and influences, from matrices as large as the data."""
    root = np.sqrt(weights)
    A, y = D * root[:, None], x * root
    inverse = np.linalg.inv(A.T @ A)
    coefficients = inverse @ A.T @ y
    residuals = y - A @ coefficients
    raised = residuals / (1 - np.diag(A @ inverse @ A.T))
    errors = np.sqrt(np.diag(inverse @ A.T @ np.diag(raised**2) @ A @ inverse))
    influence = inverse @ A.T * root
    return coefficients, errors, (influence**2).sum(axis=1)


def test_coefficients_and_errors_are_those_of_a_textbook():
    X, designs, which = draw()
    weights = np.count_nonzero(X, axis=1).astype(float)
    found = regress(InMemory(X), designs, which)
    for gene in range(N_GENES):
        coefficients, errors, influence = textbook(X[:, gene], designs[:, which[gene]], weights)
        np.testing.assert_allclose(found.coefficients[gene], coefficients, rtol=1e-9)
        np.testing.assert_allclose(found.errors[gene], errors, rtol=1e-9)
        scatter = np.average(errors**2 / influence, weights=1 / influence)  # of one cell, by the cells of every column
        np.testing.assert_allclose(found.pooled_errors[gene], np.sqrt(scatter * influence), rtol=1e-9)
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.spread, np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights)))


def test_pooled_errors_are_the_errors_where_all_columns_scatter_alike():
    rng = np.random.default_rng(0)
    designs = np.eye(RANK)[rng.integers(RANK, size=3000)][:, None]
    X = 1.0 + rng.random((3000, N_GENES))  # each cell shows every gene, and counts alike
    found = regress(InMemory(X), designs, np.zeros(N_GENES, dtype=int))
    np.testing.assert_allclose(found.pooled_errors, found.errors, rtol=0.1)


def test_columns_overlap_as_far_as_cells_share_them():
    X, _, _ = draw()
    apart, shared = np.eye(RANK)[np.arange(N_CELLS) % RANK], np.zeros((N_CELLS, RANK))
    shared[:, :2] = [0.25, 0.75]
    for design, expected in ((apart, np.zeros((RANK, RANK))), (shared, [[0, 1, 0], [1 / 3, 0, 0], [0, 0, 0]])):
        found = regress(InMemory(X), design[:, None], np.zeros(N_GENES, dtype=int)).overlap
        np.testing.assert_allclose(found, expected, atol=1e-12)


def on_dask(X: sparse.csr_array):
    return pytest.importorskip("dask.array").from_array(X, chunks=(50, N_GENES), asarray=False)


def in_a_file(X: sparse.csr_array, folder):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(folder / "X.h5", "w")
    return file.create_dataset("X", data=X.toarray())


@pytest.mark.parametrize("place", ["sparse", "dask", "file"])
def test_it_does_not_matter_where_the_cells_are(place, tmp_path):
    X, designs, which = draw()
    stored = {"sparse": lambda Y: Y, "dask": on_dask, "file": lambda Y: in_a_file(Y, tmp_path)}[place]
    expected = regress(InMemory(X), designs, which)
    found = regress(as_source(stored(sparse.csr_array(X))), designs, which)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_the_order_of_cells_does_not_matter():
    X, designs, which = draw()
    order = np.random.default_rng(1).permutation(N_CELLS)
    expected, found = regress(InMemory(X), designs, which), regress(InMemory(X[order]), designs[order], which)
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-9)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-9)


def test_a_column_that_no_cell_has_gets_nothing():
    X, designs, which = draw()
    designs[:, :, 1] = 0
    found = regress(InMemory(X), designs, which)
    assert not found.coefficients[:, 1].any()
    assert not found.errors[:, 1].any()
    assert (found.freedom >= 1).all()


def test_a_cell_that_stands_alone_does_not_make_an_error_vanish_or_explode():
    X, designs, which = draw()
    designs[:] = [1.0, 0.0, 0.0]
    designs[0] = [0.0, 1.0, 0.0]
    assert np.isfinite(regress(InMemory(X), designs, which).errors).all()
