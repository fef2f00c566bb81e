from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from genesieve.core.cells import sampling
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.low_rank import project

X = np.random.default_rng(0).random((40, 30))


def low_rank(X):
    return project(Blocks(X), np.linalg.svd(X, full_matrices=False)[2][:5].T)


@pytest.mark.parametrize("cells_of", [Blocks, low_rank, lambda X: Blocks(sparse.csr_array(X))])
def test_a_sample_has_the_cells_and_genes_asked_for_and_is_repeatable(cells_of):
    first, second = (
        sampling.sample(cells_of(X), np.random.default_rng(1), n_cells=10, n_genes=7, required=np.arange(30) == 3)
        for _ in range(2)
    )
    assert first.cells.shape == (10, 7)
    assert 3 in first.genes
    np.testing.assert_array_equal(first.genes, second.genes)
    assert first.cells.squared_norm == second.cells.squared_norm


@pytest.mark.parametrize("cells_of", [Blocks, low_rank])
def test_a_sample_of_all_there_is_is_no_copy(cells_of):
    cells = cells_of(X)
    assert sampling.sample(cells, np.random.default_rng(0)).cells is cells


def test_embedding_leaves_other_genes_at_zero():
    part = sampling.sample(Blocks(X), np.random.default_rng(0), n_genes=7)
    full = part.embed(np.ones((7, 2)))
    assert full.shape == (30, 2)
    np.testing.assert_array_equal(np.flatnonzero(full.any(axis=1)), part.genes)


def test_only_very_many_cells_are_sampled_to_settle_on(monkeypatch):
    cells = Blocks(X)
    assert sampling.many_cells(cells, np.random.default_rng(0)) is cells
    for name, most in {"WHOLE_CELLS": 30, "SETTLE_CELLS": 20, "SAMPLE_CELLS": 10}.items():
        monkeypatch.setattr(sampling, name, most)
    assert sampling.many_cells(cells, np.random.default_rng(0)).shape == (20, 30)
    assert sampling.is_large(cells)


def test_for_many_steps_all_cells_are_held_unless_they_are_too_many_values():
    assert sampling.held_cells(1000, False) == sampling.SETTLE_CELLS
    assert sampling.held_cells(1000, True) == sampling.WHOLE_CELLS
    assert sampling.held_cells(40_000, True) == sampling.WHOLE_CELLS // 2
    assert sampling.held_cells(10**9, True) == sampling.SAMPLE_CELLS
