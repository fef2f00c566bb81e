from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from genesieve.core.cells import blocks as blocks_module
from genesieve.core.cells import sources, threads
from genesieve.core.cells.blocks import Blocks
from genesieve.core.objective import Overlap, gram_of

RNG = np.random.default_rng(0)
X = sparse.random(50, 30, density=0.3, format="csr", random_state=RNG)
W = RNG.random((30, 4))
STEP = Overlap().cell_step(gram_of(W))
H0 = np.zeros((50, 4))

STORAGES = {
    "dense": lambda X: X.toarray(),
    "fortran": lambda X: np.asfortranarray(X.toarray()),
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
}


@pytest.fixture(params=[1, 7, 10_000], ids=lambda values: f"{values} values a block")
def block_values(request, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_VALUES", request.param)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("weights", [None, RNG.random(30) + 0.5], ids=["plain", "weighted"])
def test_a_sweep_is_its_definition_for_every_storage_and_block_size(block_values, storage, weights):
    dense = X.toarray() * (1 if weights is None else weights)
    blocks = Blocks(STORAGES[storage](X), gene_weights=weights, n_jobs=2)
    sweep = blocks.sweep(W, H0, STEP)
    H = STEP(H0, dense @ W)
    np.testing.assert_allclose(sweep.H, H, atol=1e-12)
    np.testing.assert_allclose(sweep.cross, dense.T @ H, atol=1e-12)
    np.testing.assert_allclose(sweep.gram, H.T @ H, atol=1e-12)
    np.testing.assert_allclose(blocks.usages(W, STEP), H, atol=1e-12)
    assert blocks.squared_norm == pytest.approx(np.vdot(dense, dense))


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
def test_sums_do_not_depend_on_the_number_of_threads(monkeypatch, storage):
    monkeypatch.setattr(sources, "BLOCK_VALUES", 40)
    one, two = (Blocks(STORAGES[storage](X), n_jobs=jobs).sweep(W, H0, STEP) for jobs in (1, 2))
    np.testing.assert_array_equal(one.cross, two.cross)
    np.testing.assert_array_equal(one.gram, two.gram)


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
@pytest.mark.parametrize(("double_cells", "dtype"), [(len(H0), np.float64), (len(H0) - 1, np.float32)])
def test_few_cells_are_worked_on_in_double_precision_many_in_their_own_and_sums_are_double(
    monkeypatch, storage, double_cells, dtype
):
    monkeypatch.setattr(blocks_module, "DOUBLE_CELLS", double_cells)
    blocks = Blocks(STORAGES[storage](X).astype(np.float32))
    sweep = blocks.sweep(W, H0.astype(np.float32), STEP)
    assert (blocks.value_dtype, blocks.dtype, sweep.H.dtype) == (np.float32, dtype, dtype)
    assert sweep.cross.dtype == sweep.gram.dtype == np.float64


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
def test_blocks_share_memory_with_the_data(storage):
    data = STORAGES[storage](X)
    block = sources.cell_slice(data, slice(10, 20))
    assert np.shares_memory(
        block.data if sparse.issparse(block) else block, data.data if sparse.issparse(data) else data
    )
    np.testing.assert_array_equal(block.toarray() if sparse.issparse(block) else block, X.toarray()[10:20])


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
@pytest.mark.parametrize("weights", [None, RNG.random(30) + 0.5], ids=["plain", "weighted"])
def test_worst_cell(block_values, storage, weights):
    dense = X.toarray() * (1 if weights is None else weights)
    other = RNG.random((30, 4))
    H = STEP(H0, dense @ W)
    worst = np.argmax(np.linalg.norm(dense - H @ other.T, axis=1))
    found = Blocks(STORAGES[storage](X), gene_weights=weights).worst_cell(other, W, STEP)
    np.testing.assert_allclose(found, dense[worst])


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
@pytest.mark.parametrize("weights", [None, RNG.random(30) + 0.5], ids=["plain", "weighted"])
def test_a_part_has_the_chosen_cells_and_the_largest_genes(storage, weights):
    cells = np.array([3, 8, 40])
    part, genes = Blocks(STORAGES[storage](X), gene_weights=weights).part(cells, 5)
    dense = X.toarray()[cells] * (1 if weights is None else weights)
    assert set(genes) == set(np.argsort(-(dense**2).sum(axis=0), kind="stable")[:5])
    assert part.squared_norm == pytest.approx((dense[:, genes] ** 2).sum())
    np.testing.assert_allclose(part.usages(W[genes], STEP), STEP(np.zeros((3, 4)), dense[:, genes] @ W[genes]))


def test_threads():
    assert threads.available_threads(3) == 3
    assert threads.available_threads(None) == threads.available_threads(-1) >= 1


def test_never_dense():
    """A matrix that could not be held in memory as dense is swept all the same."""
    n_cells, n_genes = 200_000, 500_000
    entries = sparse.coo_array(
        (np.ones(1000), (RNG.integers(n_cells, size=1000), RNG.integers(n_genes, size=1000))), shape=(n_cells, n_genes)
    )
    wide = RNG.random((n_genes, 2))
    sweep = Blocks(entries.tocsr()).sweep(wide, np.zeros((n_cells, 2)), Overlap().cell_step(gram_of(wide)))
    assert sweep.cross.shape == (n_genes, 2)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_moments_are_those_of_numpy_whatever_the_weights(store):
    X = np.random.default_rng(0).poisson(1.0, (70, 9)).astype(np.float32)
    moments = Blocks(store(X), gene_weights=np.arange(1.0, 10.0)).moments()
    np.testing.assert_allclose(moments.mean, X.mean(axis=0, dtype=np.float64), rtol=1e-12)
    np.testing.assert_allclose(moments.variance, X.var(axis=0, dtype=np.float64), rtol=1e-9)
