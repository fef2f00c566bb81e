from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

import genesieve as gs
from genesieve.core import starts
from genesieve.core.cells.blocks import Blocks
from genesieve.core.solvers import Factors
from material import data_sets_here, read_data_set, skip_unless_all_here

NAMES = [
    "nmf", "nmf_l20", "nmf_lc0", "nmf_l0", "onmf", "onmf_l20",
    "onmf_l20_rho", "onmf_lc0", "onmf_l0", "kmeans", "kmeans_l0", "kmeans_l1",
]  # fmt: skip

# Real data and the column of its classes (samples, where cell types are not known).
DATA = {
    "pollen": "group",
    "camp1_801genes": "cell_type",
    "yan": "cell_type",
    "deng": "group",
    "goolam": "cell_type",
    "pbmc3k": "cell_type",
    "mouse_bladder_2100": "cell_type",
    "zeisel_log4000": "cell_type",
    "xin_pancreas_log": "cell_type",
    "kang_pbmc_ifnb_hvg1000": "cell_type",
    "bmmc_aml_10x": "cell_type",
}
FEW_ITERATIONS = 4  # of each stage: what dies does so early
MOST_GENES = 800


def test_the_papers_twelve():
    assert list(gs.METHODS) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_method_fits_and_keeps_its_budget(name):
    X, _ = gs.datasets.synthetic(random_state=0)
    model = gs.METHODS[name](3, n_genes=120, random_state=0).fit(X)
    assert model.labels_.shape == (60,)
    used = {"l20": 120, "l20_rho": 120, "lc0": 360, "l0": 120 if "kmeans" in name else 360}
    budget = used.get(name.partition("_")[2])
    if budget is not None:
        assert model.get_support().sum() <= budget


def test_factorisations_are_the_papers():
    model = gs.METHODS["onmf_l20"](4, n_genes=2000)
    assert (model.solver, model.gauge, model.sparsity, model.orthogonality) == ("mapalm", None, "rows", "exact")
    assert gs.METHODS["onmf_l20_rho"](4).orthogonality == 1.0
    assert gs.METHODS["nmf_l20"](4, n_genes=5, solver="palm", max_iter=7).get_params()["solver"] == "palm"


def test_the_table_cannot_be_changed_by_accident():
    with pytest.raises(TypeError):
        gs.METHODS["nmf"] = None


class Real(NamedTuple):
    """Log values of a real data set on its best expressed genes, its number of classes, and an NMF to start from."""

    X: sparse.csr_array
    classes: int
    start: Factors


def test_all_real_data_are_here():
    skip_unless_all_here(DATA)


@pytest.fixture(scope="module", params=data_sets_here(DATA))
def real(request) -> Real:
    adata = read_data_set(request.param)
    X = sparse.csr_array(adata.X).astype(np.float32)
    X = X[:, np.argsort(-np.asarray((X > 0).sum(axis=0)).ravel(), kind="stable")[:MOST_GENES]]
    if "log" not in str(adata.uns.get("value_type", "log")):
        X.data = np.log1p(X.data)
    classes = adata.obs[DATA.get(request.param, "cell_type")].nunique()
    return Real(X, classes, starts.nmf(Blocks(X), classes, np.random.default_rng(0)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::UserWarning")  # programs may be empty, and are reported; never NaN
def test_no_component_dies_to_nan_on_real_data(real, name):
    factorisation = "kmeans" not in name
    options = {"max_iter": FEW_ITERATIONS, "init": real.start} if factorisation else {}
    model = gs.METHODS[name](real.classes, n_genes=300, random_state=0, **options).fit(real.X)
    if factorisation:
        assert np.isfinite(model.transform(real.X)).all()
        assert np.isfinite(model.objective_)
    assert np.isfinite(model.components_ if factorisation else model.cluster_centers_).all()


@pytest.mark.parametrize("orthogonality", [0.0, 0.1, "exact"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_program_of_the_default_solver_is_empty_on_real_data(real, orthogonality):
    model = gs.SSNMF(real.classes, n_genes=300, orthogonality=orthogonality, init=real.start, max_iter=20)
    H = model.fit_transform(real.X)
    assert np.isfinite(H).all()
    assert H.any(axis=0).all()
    assert model.components_.any(axis=1).all()
