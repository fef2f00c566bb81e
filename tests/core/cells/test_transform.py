from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scanpy as sc
from anndata import AnnData
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from genesieve.core.cells import transform as module
from genesieve.core.cells.transform import LARGEST_COUNT, TABLE_SIZE, Transform, look_over, row_sums

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(RNG.gamma(0.5, 3.0, 40), (30, 40)).astype(np.float64)
COUNTS[[0, 7, 29]] = 0  # cells without a count, the first and the last among them
COUNTS[3, 5:9] = TABLE_SIZE - 1, TABLE_SIZE, TABLE_SIZE + 1, 40_000
GENES = RNG.permutation(40)[:17]
VALUES = {
    "counts": COUNTS,
    "fractions": COUNTS * RNG.random(COUNTS.shape),
    "halves": COUNTS / 2,
    "nothing": np.zeros((5, 40)),
    "no cells": np.zeros((0, 40)),
}
STORAGES = {"dense": np.asarray, "fortran": np.asfortranarray, "csr_array": sparse.csr_array}
STORAGES["csr_matrix"] = sparse.csr_matrix
TRANSFORMS = {
    "nothing": Transform(),
    "depth": Transform(1e4),
    "log": Transform(None, np.e),
    "log2": Transform(None, 2.0),
    "genes": Transform(genes=GENES),
    "one gene": Transform(genes=np.array([11])),
    "no gene": Transform(genes=np.array([], dtype=int)),
    "all": Transform(777.7, 10.0, GENES),
}


def definition(X, transform):
    """Scale rows to the depth, take logarithms, choose genes: each written down once, on dense values."""
    if transform.depth is not None:
        totals = X.sum(axis=1, keepdims=True, dtype=np.float64)
        X = X * (transform.depth / np.where(totals > 0, totals, transform.depth)).astype(X.dtype)
    if transform.log_base is not None:
        X = np.log1p(X) / X.dtype.type(np.log(transform.log_base))
    return X if transform.genes is None else X[:, transform.genes]


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def rounding(transform, dtype):
    """How far rounding may take a value from the exact one, relative to it; 0 where nothing is computed.

    In units of the last place, which are at most eps: half a unit each for the factor of a cell, for its product with a
    value and for the division by the logarithm of the base; half a unit for that logarithm, and 4 for log1p, which is
    what NumPy allows its vector loops (scalar ones are closer). log1p never magnifies the error of a value >= 0. Adding
    up the 40 values of a cell in double precision costs up to half a unit of double precision each.
    """
    units = 1.0 if transform.depth is not None else 0.0
    units += 5.0 if transform.log_base is not None else 0.0
    return units * np.finfo(dtype).eps + (20 * np.finfo(np.float64).eps if transform.depth is not None else 0.0)


# ------------------------------------------------------------------------------------------------ laws


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_is_its_definition_up_to_rounding(name, values, storage, dtype):
    X, transform = VALUES[values].astype(dtype), TRANSFORMS[name]
    found = transform(STORAGES[storage](X))
    assert found.dtype == dtype
    assert found.shape == transform.shape(X.shape)
    expected = definition(X.astype(np.float64), transform)
    allowed = rounding(transform, dtype) + rounding(transform, np.float64)  # of what is tested, and of its definition
    np.testing.assert_allclose(dense(found), expected, rtol=allowed)


@given(
    hnp.arrays(np.float64, (4, 6), elements=st.floats(0, 200, width=32) | st.integers(0, 200).map(float)),
    st.sampled_from([None, 1.0, 1e4]),
    st.sampled_from([None, 2.0, np.e]),
    st.permutations(range(6)),
)
def test_sparse_is_dense_for_any_values(X, depth, log_base, order):
    transform = Transform(depth, log_base, np.array(order[:4]))
    allowed = 2 * rounding(transform, np.float64)
    np.testing.assert_allclose(transform(sparse.csr_array(X)).toarray(), transform(X), rtol=allowed)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_cell_is_transformed_by_itself(name, storage):
    X, transform = STORAGES[storage](VALUES["fractions"].astype(np.float32)), TRANSFORMS[name]
    whole, allowed = dense(transform(X)), 2 * rounding(transform, np.float32)  # a value's place in a vector may tell
    for cells in (slice(0, 1), slice(4, 19), slice(29, 30), slice(5, 5)):
        np.testing.assert_allclose(dense(transform(X[cells])), whole[cells], rtol=allowed)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_is_transformed_stays_as_it_is_even_if_it_cannot_be_written(name, storage):
    X = STORAGES[storage](COUNTS.copy())
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    for part in parts:
        part.flags.writeable = False
    TRANSFORMS[name](X)
    np.testing.assert_array_equal(dense(X), COUNTS)


@pytest.mark.parametrize("storage", ["dense", "csr_array"])
@pytest.mark.parametrize("choice", [np.array([3, 0, 9]), np.arange(17) % 3 == 0], ids=["indices", "mask"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_selecting_genes_of_a_transform_is_choosing_columns_of_its_values(name, choice, storage):
    transform = TRANSFORMS[name]
    if transform.shape(COUNTS.shape)[1] < 17:
        transform = Transform(genes=GENES)
    mask = choice.dtype == bool
    choice = np.pad(choice, (0, transform.shape(COUNTS.shape)[1] - 17)) if mask else choice
    X = STORAGES[storage](COUNTS)
    np.testing.assert_array_equal(dense(transform.select(choice)(X)), dense(transform(X))[:, choice])
    twice = transform.select(choice).select(np.array([1]))
    np.testing.assert_array_equal(dense(twice(X)), dense(transform(X))[:, choice][:, [1]])


@pytest.mark.parametrize("storage", ["dense", "csr_matrix"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_depth_and_logarithm_are_those_of_scanpy(storage, dtype):
    cells = COUNTS[COUNTS.any(axis=1)].astype(dtype)
    adata = AnnData(STORAGES[storage](cells.copy()))
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    transform = Transform(1e4, np.e)
    found = transform(STORAGES[storage](cells))
    # scanpy takes the same steps, each with a rounding of its own
    np.testing.assert_allclose(dense(found), dense(adata.X), rtol=2 * rounding(transform, dtype))


# ------------------------------------------------------------------------------------------------ corners


def test_the_depth_of_single_precision_is_summed_in_double():
    """A cell of many fractions, where adding up in single precision would be off in the fifth digit."""
    X = np.full((1, 300_000), 0.1, dtype=np.float32)
    for store in (np.asarray, sparse.csr_array):
        found = dense(Transform(1.0)(store(X)))
        np.testing.assert_allclose(found, 1 / 300_000, rtol=1e-6)


def test_stored_zeros_stay_zero_and_unsorted_rows_keep_their_genes():
    X = sparse.csr_array((np.array([0.0, 3.0, 1.0, 0.0]), np.array([2, 5, 0, 1]), np.array([0, 3, 4])), shape=(2, 6))
    transform = Transform(100.0, 2.0, np.array([5, 2, 0]))
    allowed = 2 * rounding(transform, np.float64)
    np.testing.assert_allclose(transform(X).toarray(), definition(X.toarray(), transform), rtol=allowed)


def test_long_indices_are_as_good_as_short_ones():
    X = sparse.csr_array(COUNTS)
    long = sparse.csr_array(X)
    long.indices, long.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    for transform in TRANSFORMS.values():
        np.testing.assert_array_equal(transform(long).toarray(), transform(X).toarray())


def test_what_cannot_be_a_count_is_logged_without_the_table():
    """Only values that are checked get here, but a value that is not must not reach outside the table of logarithms."""
    values = np.array([-0.5, np.nan, np.inf, 1e30, -3e9, 63.999])
    X = sparse.csr_array((values, np.arange(6), np.array([0, 6])), shape=(1, 6))
    with np.errstate(invalid="ignore"):
        transform = Transform(None, np.e)
        allowed = 2 * rounding(transform, np.float64)
        np.testing.assert_allclose(transform(X).data, np.log1p(values), rtol=allowed)


def test_transforms_can_be_compared_whatever_genes_they_keep():
    kept = Transform(genes=np.arange(3))
    assert kept == kept
    assert kept != Transform(genes=np.arange(4))
    assert kept != Transform()
    assert len({kept, Transform()}) == 2


def test_never_dense():
    n_cells, n_genes = 100_000, 200_000
    X = sparse.csr_array((np.ones(n_cells), np.arange(n_cells), np.arange(n_cells + 1)), shape=(n_cells, n_genes))
    transform = Transform(2.0, 3.0, np.arange(n_genes)[::-2])
    found = transform(X)
    assert found.shape == (n_cells, n_genes // 2)
    np.testing.assert_allclose(found.data, 1.0, rtol=2 * rounding(transform, np.float64))


# ------------------------------------------------------------------------------------------------ one look at values


values_of_rows = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    (5, 7),
    elements=st.floats(0, 1e6, width=32) | st.integers(0, 2 * LARGEST_COUNT).map(float),
)


@given(values_of_rows)
def test_totals_are_sums_in_order_to_the_last_digit(dense_values):
    X = sparse.csr_array(dense_values)
    expected = [sum(map(float, row.data), 0.0) for row in (X[[i]] for i in range(5))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW_VALUES", 0)
        for found in (row_sums(X.data, X.indptr), look_over(X.data, X.indices, X.indptr, 1e15).totals):
            np.testing.assert_array_equal(found, expected)


@given(
    hnp.arrays(
        np.float32, 6, elements=st.floats(width=32, allow_nan=True) | st.sampled_from([0.0, -0.0, 1e15, 2e15, 3.0])
    ),
    hnp.arrays(np.int32, 6, elements=st.integers(0, 9)),
    st.lists(st.integers(0, 6), max_size=4),
)
def test_a_look_finds_what_is_out_of_range_or_out_of_order(values, genes, ends):
    ends = np.array([0, *sorted(ends), 6], dtype=np.int32)
    look = look_over(values, genes, ends, 1e15)
    assert look.in_range == bool(((values >= 0) & (values <= np.float32(1e15))).all())
    rows = [genes[first:last] for first, last in pairwise(ends)]
    assert look.in_order == all((np.diff(row) > 0).all() for row in rows)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_blocks_are_transformed_as_matrices_are_and_share_only_the_places(name):
    transform, X = TRANSFORMS[name], sparse.csr_array(COUNTS)
    found, apart = transform.of_block(X, row_sums(X.data, X.indptr)), transform(X)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(apart, part))
        if name != "nothing":
            assert not np.shares_memory(getattr(apart, part), getattr(X, part))
    if name != "nothing":
        assert not np.shares_memory(found.data, X.data)
    np.testing.assert_array_equal(X.toarray(), COUNTS)
