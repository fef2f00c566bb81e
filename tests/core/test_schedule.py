from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import genesieve as gs
from genesieve.core import placing, schedule, starts
from genesieve.core.cells import sources

RNG = np.random.default_rng(0)
CELLS, GENES, RANK = 150, 120, 4
PROGRAMS = RNG.random((RANK, GENES)) ** 4
X = sparse.csr_array(RNG.poisson(3 * RNG.random((CELLS, RANK)) ** 4 @ PROGRAMS).astype(float))


@pytest.mark.parametrize("options", [{}, {"n_genes": 40}, {"orthogonality": "exact"}, {"init": "random"}], ids=str)
def test_a_fit_ends_on_x_itself_and_no_higher_than_one_without_approximation(monkeypatch, options):
    def fit():
        return gs.SSNMF(RANK, **{"orthogonality": 0.0, "gene_weights": None, "random_state": 0, **options}).fit(X)

    fitted = fit()
    H, components = fitted.transform(X), fitted.components_
    assert fitted.reconstruction_err_ == pytest.approx(np.linalg.norm(X.toarray() - H @ components), rel=1e-6)
    for module in (placing, schedule, starts):
        monkeypatch.setattr(module, "low_rank_approximation", lambda cells, rank, rng, **_: cells)
    assert fitted.reconstruction_err_ <= 1.005 * fit().reconstruction_err_


@pytest.mark.parametrize("rank", [20, 60])
def test_many_quick_steps_on_sparse_cells_lead_where_those_on_dense_ones_do(monkeypatch, rank):
    monkeypatch.setattr(sources, "MANY_VALUES", 1)
    fits = [
        gs.SSNMF(rank, orthogonality=0.0, gene_weights=None, random_state=0, tol=1e-4).fit(store)
        for store in (X.astype(np.float32), X.toarray().astype(np.float32))
    ]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-6)


def test_seeds_of_a_consensus_look_at_the_same_cells_and_genes(monkeypatch):
    cells, genes, rank = 2100, 600, 3  # more cells than a sample has, more genes than starts are tried on
    rng = np.random.default_rng(0)
    groups, levels = np.arange(cells) % rank, 0.05 + 2 * rng.random((rank, genes)) ** 4
    counts = sparse.csr_array(rng.poisson(levels[groups]).astype(float))
    on_what, plain_fits = [], starts.plain_fits

    def watched(cells, *others, **options):
        on_what.append((cells.shape, cells.squared_norm))
        return plain_fits(cells, *others, **options)

    monkeypatch.setattr(starts, "plain_fits", watched)
    for seed in (1, 2):
        gs.SSNMF(rank, n_genes=500, n_restarts=2, consensus=True, random_state=seed).fit(counts)
    (shape, squares), (other_shape, other_squares) = on_what
    assert shape == other_shape == (cells, 500)
    assert squares == pytest.approx(other_squares, rel=1e-5)
