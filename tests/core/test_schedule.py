from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import genesieve as gs
from genesieve.core import schedule, starts

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


@pytest.mark.parametrize("rank", [2, 16, 17, 64, 1000])
@pytest.mark.parametrize("tol", [1e-9, 2e-5, 1e-2])
def test_a_fit_settles_finer_than_it_ends_and_no_finer_at_a_higher_rank(rank, tol):
    def settles_to(rank):
        about = {"init": "nmf", "max_iter": 1, "tol": tol, "line_search": False, "required": None}
        plain = {"n_genes": None, "sparsity": None, "orthogonality": 0.0, "solver": "bcd"}
        return schedule.Schedule(rank, **plain, **about)._settle_tolerance(tol)

    assert schedule.PLAIN_SETTLE_TOLERANCE * tol <= settles_to(2)
    assert settles_to(2) <= settles_to(rank) <= tol
    assert settles_to(rank) <= settles_to(2 * rank)
