from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import genesieve as gs
from genesieve.core import schedule, starts
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
    for module in (schedule, starts):
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
