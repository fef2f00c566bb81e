from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import genesieve as gs
from genesieve.core.cells import sampling, sources
from genesieve.estimators._reading import ORTHOGONALITY
from genesieve.interpret.programs import largest_first

VARIANTS = [
    {},
    {"n_genes": 2},
    {"sparsity": "columns", "n_genes": 2},
    {"sparsity": "entries", "n_genes": 2},
    {"orthogonality": 0.05},
    {"orthogonality": "exact"},
    {"solver": "mapalm"},
    {"solver": "palm", "gauge": None},
]


@parametrize_with_checks([gs.SSNMF(2, random_state=0, **variant) for variant in VARIANTS if "n_genes" not in variant])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    return gs.datasets.synthetic(random_state=0).X


@pytest.fixture(scope="module")
def table(data) -> pd.DataFrame:
    return pd.DataFrame(data, columns=[f"gene{i}" for i in range(data.shape[1])])


def fit(data, **options):
    return gs.SSNMF(3, **{"n_genes": 120, "random_state": 0, **options}).fit(data)


# ------------------------------------------------------------------------------------------------ laws


@pytest.mark.parametrize("solver", ["bcd", "mapalm", "palm"])
@pytest.mark.parametrize("orthogonality", [0.0, 0.05, "exact"])
@pytest.mark.parametrize("sparsity", ["rows", "columns", "entries", None])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_budget_is_kept(data, solver, orthogonality, sparsity):
    model = fit(data, solver=solver, orthogonality=orthogonality, sparsity=sparsity, max_iter=30)
    nonzero = model.components_ != 0
    used = {"rows": nonzero.any(axis=0).sum(), "columns": nonzero.sum(axis=1).max(), "entries": nonzero.sum() / 3}
    assert used.get(sparsity, 0) <= 120
    assert np.isfinite(model.components_).all()
    assert (model.components_ >= 0).all()
    if sparsity == "rows":
        assert model.get_support().sum() == 120


def test_programs_have_unit_length_and_usages_carry_the_scale(data):
    model = gs.SSNMF(3, n_genes=120, random_state=0)
    H = model.fit_transform(data)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    twice = gs.SSNMF(3, n_genes=120, random_state=0).fit_transform(2 * data)
    np.testing.assert_allclose(twice, 2 * H, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(model.labels_, H.argmax(axis=1))


def test_the_gauge_moves_scale_and_order_only(data):
    free, unit = fit(data, gauge=None), fit(data)
    assert free.objective_ == unit.objective_
    norms = np.linalg.norm(free.components_, axis=1)
    H = free.transform(data) * norms
    order = largest_first(H, free.components_.T / norms)
    np.testing.assert_allclose((free.components_ / norms[:, None])[order], unit.components_)
    np.testing.assert_allclose(H[:, order], unit.transform(data), atol=1e-6)
    assert not np.allclose(norms, 1)


@pytest.mark.parametrize("solver", ["bcd", "mapalm"])
@pytest.mark.parametrize("labels", ["argmax", "kmeans"])
def test_programs_come_largest_first_whatever_the_order_of_the_start(data, solver, labels):
    rng = np.random.default_rng(0)
    H0, W0 = rng.random((len(data), 3)), rng.random((data.shape[1], 3))
    fits = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 0, 2]):
        model = gs.SSNMF(
            3, n_genes=120, init=(H0[:, order], W0[:, order]), solver=solver, labels=labels, random_state=0
        )
        H = model.fit_transform(data)
        sizes = H.sum(axis=0)
        assert (np.diff(sizes) <= 1e-6 * sizes[0]).all()
        np.testing.assert_allclose(model.transform(data), H, rtol=1e-2, atol=1e-2)
        fits.append((H, model.components_, model.labels_))
    for H, components, found in fits[1:]:  # sums over programs in another order end a little apart
        np.testing.assert_allclose(components, fits[0][1], atol=1e-3)
        np.testing.assert_allclose(H, fits[0][0], rtol=1e-2, atol=1e-2)
        assert (found == fits[0][2]).mean() > 0.95


@pytest.mark.parametrize("orthogonality", [0.0, 0.05, "exact"])
@pytest.mark.parametrize("weighted", [False, True])
def test_transform_of_the_training_cells_is_fit_transform(data, orthogonality, weighted):
    weights = np.linspace(0.5, 2, data.shape[1]) if weighted else None
    model = gs.SSNMF(3, n_genes=120, orthogonality=orthogonality, gene_weights=weights, random_state=0)
    H = model.fit_transform(data)
    np.testing.assert_allclose(model.transform(data), H, atol=1e-6)


@pytest.mark.parametrize("gauge", ["unit", None])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_transform_solves_the_papers_penalty_in_the_solvers_gauge(data, gauge):
    model = fit(data, solver="mapalm", orthogonality=1.0, gauge=gauge, max_iter=500, tol=1e-7)
    H = gs.SSNMF(
        3, n_genes=120, random_state=0, solver="mapalm", orthogonality=1.0, gauge=gauge, max_iter=500, tol=1e-7
    )
    np.testing.assert_allclose(model.transform(data), H.fit_transform(data), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("storage", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_and_dtype(data, storage, dtype):
    thinned = np.where(data > 1, data, 0).astype(dtype)
    dense, other = fit(thinned), fit(storage(thinned))
    # In single precision rounding may end the two runs a step apart.
    assert other.objective_ == pytest.approx(dense.objective_, rel=1e-6 if dtype == np.float64 else 1e-5)
    assert other.components_.dtype == dense.components_.dtype == dtype
    assert other.transform(storage(thinned)).dtype == dtype
    assert (other.get_support() != dense.get_support()).sum() <= (0 if dtype == np.float64 else 4)


def test_threads_and_block_size_change_nothing_that_matters(data, monkeypatch):
    plain = fit(data, n_jobs=1)
    monkeypatch.setattr(sources, "BLOCK_VALUES", 3000)
    one, two, again = fit(data, n_jobs=1), fit(data, n_jobs=2), fit(data, n_jobs=2)
    assert two.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(two.components_, again.components_)


def test_seeds(data):
    assert fit(data).objective_ == fit(data).objective_
    for state in (7, np.random.RandomState(7), np.random.default_rng(7), None):
        assert fit(data, random_state=state).components_.shape == (3, 500)


def test_gene_weights_move_the_choice_and_keep_the_scale(data):
    weights = np.ones(500)
    weights[400:] = 50.0
    model = fit(data, gene_weights=weights, n_genes=100, baseline="zero")  # beyond their mean, they are noise
    assert model.get_support()[400:].all()
    H = model.transform(data)
    fitted = model.inverse_transform(H)[:, 400:]
    assert np.linalg.norm(fitted - data[:, 400:]) < np.linalg.norm(data[:, 400:])


@pytest.mark.parametrize("solver", ["bcd", "mapalm"])
@pytest.mark.parametrize("sampled", [False, True])
def test_required_genes_are_kept_whatever_they_gain(data, monkeypatch, solver, sampled):
    if sampled:
        monkeypatch.setattr(sampling, "SAMPLE_CELLS", 30)
        monkeypatch.setattr(sampling, "SAMPLE_GENES", 150)
    required = np.flatnonzero(~fit(data, solver=solver, n_genes=60).get_support())[[-150, -40, -1]]  # noise
    model = fit(data, solver=solver, n_genes=60, required_genes=required)
    assert model.get_support()[required].all()
    assert model.get_support().sum() == 60
    mask = np.isin(np.arange(500), required)
    np.testing.assert_array_equal(
        fit(data, solver=solver, n_genes=60, required_genes=mask).components_, model.components_
    )


def test_restarts_keep_the_lowest_objective(data):
    single, several = (fit(data, n_restarts=n, init="random", solver="palm", tol=0.05) for n in (1, 8))
    assert several.objective_ < single.objective_


def test_exact_orthogonality_gives_one_program_a_cell(data):
    H = gs.SSNMF(3, n_genes=120, orthogonality="exact", random_state=0).fit_transform(data)
    assert (np.count_nonzero(H, axis=1) == 1).all()
    assert gs.metrics.orthogonality(H) == pytest.approx(0, abs=1e-12)


def test_stronger_orthogonality_means_less_overlap(data):
    levels = [
        gs.metrics.orthogonality(gs.SSNMF(3, n_genes=120, orthogonality=omega, random_state=0).fit_transform(data))
        for omega in (0.0, 0.1, 0.3, 1.0)
    ]
    assert all(np.diff(levels) <= 1e-9)
    assert levels[-1] < levels[0] / 10


# ------------------------------------------------------------------------------------------------ manners


def test_variation_weights_prefer_genes_that_vary_and_can_be_undone(data):
    rng = np.random.default_rng(0)
    X = np.concatenate([data, np.full((len(data), 3), 50.0) + rng.random((len(data), 3))], axis=1)  # abundant and idle
    chosen = {weights: fit(X, n_genes=20, gene_weights=weights, baseline="zero") for weights in ("variation", None)}
    assert chosen[None].get_support()[-3:].all()
    assert not chosen["variation"].get_support()[-3:].any()
    model = chosen["variation"]
    usages = model.transform(X)
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - usages @ model.components_), rel=1e-6)
    explicit = fit(X, n_genes=20, gene_weights=model.gene_weights_, baseline="zero")
    np.testing.assert_allclose(explicit.components_, model.components_)


@pytest.mark.parametrize(
    ("options", "orthogonality", "weighted"),
    [
        ({"n_genes": 20}, ORTHOGONALITY, True),
        ({"n_genes": 20, "labels": "kmeans"}, 0.0, True),
        ({"n_genes": None}, 0.0, False),  # plain NMF
        ({"n_genes": 20, "sparsity": None}, 0.0, False),
        ({"n_genes": 20, "solver": "palm"}, 0.0, False),  # the paper's model
        ({"n_genes": 20, "orthogonality": 0.0, "gene_weights": None}, 0.0, False),
    ],
)
def test_what_auto_stands_for(data, options, orthogonality, weighted):
    model = gs.SSNMF(3, random_state=0, **options).fit(data)
    assert model.orthogonality_ == orthogonality
    assert (model.gene_weights_ is not None) == weighted


def test_history_and_callback(data):
    seen = []
    model = fit(data, callback=seen.append)
    assert [step.iteration for step in seen] == list(range(1, model.n_iter_ + 1))
    assert set(model.history_) == {"objective", "seconds", "passes"}
    assert model.history_["objective"][-1] == model.objective_ == seen[-1].objective
    assert model.history_["passes"][-1] == model.n_passes_ > model.n_iter_ - 1
    assert model.reconstruction_err_ == pytest.approx(
        np.linalg.norm(data - model.inverse_transform(model.transform(data))), rel=1e-6
    )
    assert model.converged_


@pytest.mark.parametrize("options", [{}, {"solver": "mapalm"}, {"orthogonality": "exact"}, {"n_restarts": 3}])
def test_a_callback_can_end_the_fit_early(data, options):
    seen = []

    def enough(progress):
        seen.append(progress.objective)
        return len(seen) == 2

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # the user knows that it was cut short
        model = fit(data, callback=enough, tol=0.0, **options)
    assert len(seen) == model.n_iter_ == 2
    assert not model.converged_
    assert model.objective_ == seen[-1]


def test_max_iter_warns(data):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = fit(data, max_iter=1, tol=0)
    assert not model.converged_


@pytest.mark.filterwarnings("error")
def test_exact_data_converges_without_a_word():
    rng = np.random.default_rng(0)
    X = np.kron(np.eye(3), np.ones((8, 6))) * rng.uniform(1, 2, (24, 1))
    model = gs.SSNMF(3, random_state=0).fit(X)
    assert model.reconstruction_err_ <= 1e-4 * np.linalg.norm(X)


def test_more_programs_than_the_data_hold_are_reported_not_nan():
    X = np.outer(np.arange(1, 9), np.arange(1, 7)).astype(float)
    X[:, -1] = 0
    with pytest.warns(UserWarning, match="programs are empty"):
        model = gs.SSNMF(3, solver="bcd", orthogonality="exact", random_state=0).fit(np.zeros((8, 6)))
    assert np.isfinite(model.components_).all()
    assert np.isfinite(gs.SSNMF(3, random_state=0).fit_transform(X)).all()


def test_named_input_needs_only_the_selected_genes_in_any_order(table):
    model = gs.SSNMF(3, n_genes=50, random_state=0)
    H = model.fit_transform(table)
    selected = table.columns[model.get_support()]
    np.testing.assert_allclose(model.transform(table[selected[::-1]]), H, atol=1e-6)
    np.testing.assert_allclose(model.transform(table.assign(other=-1.0)), H, atol=1e-6)
    plain = table[selected].to_numpy()
    np.testing.assert_allclose(model.transform(plain, selected_only=True), H, atol=1e-6)
    np.testing.assert_allclose(model.transform(sparse.csr_array(plain), selected_only=True), H, atol=1e-6)
    with pytest.raises(ValueError, match=r"lacks 1 of them: gene"):
        model.transform(table[selected[1:]])


def test_output_names_and_pandas_output(table):
    model = gs.SSNMF(3, n_genes=50, random_state=0).set_output(transform="pandas")
    H = model.fit_transform(table)
    assert list(H.columns) == list(model.get_feature_names_out()) == ["ssnmf0", "ssnmf1", "ssnmf2"]
    assert model.get_support(indices=True).shape == (50,)


def test_pickle_clone_and_pipeline(data):
    model = fit(data)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(data), model.transform(data))
    assert clone(model).get_params()["n_genes"] == 120
    assert make_pipeline(MaxAbsScaler(), gs.SSNMF(3, random_state=0)).fit_transform(data).shape == (60, 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_users_start(data):
    rng = np.random.default_rng(0)
    pair = rng.random((60, 3)), rng.random((500, 3))
    for solver in ("bcd", "palm"):
        first, second = (fit(data, init=pair, solver=solver, random_state=seed) for seed in (1, 2))
        np.testing.assert_array_equal(first.components_, second.components_)


@pytest.mark.parametrize("solver", ["bcd", "mapalm"])
def test_many_cells_start_from_a_sample(data, monkeypatch, solver):
    whole = fit(data, solver=solver)
    monkeypatch.setattr(sampling, "SAMPLE_CELLS", 30)
    monkeypatch.setattr(sampling, "SAMPLE_GENES", 60)
    assert fit(data, solver=solver).objective_ == pytest.approx(whole.objective_, rel=0.01)


@pytest.mark.parametrize("name", ["row", "column"])
def test_all_zero_rows_and_columns_are_handled(data, name):
    X = data.copy()
    X[(slice(0, 3),) if name == "row" else (slice(None), slice(0, 3))] = 0
    model = fit(X)
    H = model.transform(X)
    assert np.isfinite(H).all()
    if name == "row":
        assert not H[:3].any()
    else:
        assert not model.get_support()[:3].any()


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gs.nothing  # noqa: B018
    assert "SSNMF" in dir(gs)


# ------------------------------------------------------------------------------------------------ bad input

SMALL = np.ones((6, 5))
BAD_PARAMETERS = [
    ({"n_components": 0}, ValueError, r"n_components must be between 1 and 5 .*, got 0"),
    ({"n_components": 6}, ValueError, r"n_components must be between 1 and 5 .*, got 6"),
    ({"n_components": 2.0}, TypeError, r"n_components must be an integer, got 2.0"),
    ({"n_genes": 0}, ValueError, r"n_genes must be between 1 and 5 \(the genes given\), got 0"),
    ({"n_genes": 6}, ValueError, r"n_genes must be between 1 and 5 \(the genes given\), got 6"),
    ({"n_genes": 2.5}, TypeError, r"n_genes must be an integer, got 2.5"),
    ({"n_genes": True}, TypeError, r"n_genes must be an integer, got True"),
    ({"sparsity": "row"}, ValueError, r"sparsity must be 'rows' or 'columns' or 'entries' or None, got 'row'"),
    ({"solver": "sgd"}, ValueError, r"solver must be 'bcd' or 'mapalm' or 'palm', got 'sgd'"),
    ({"init": "pca"}, ValueError, r"init must be 'nmf' or 'random' or 'nndsvd', got 'pca'"),
    ({"init": 3}, TypeError, r"init must be .* or a pair \(H0, W0\), got int"),
    ({"init": (SMALL, SMALL)}, ValueError, r"init H0 must have shape \(6, 2\), got \(6, 5\)"),
    ({"init": (np.ones((6, 2)), np.ones((6, 2)))}, ValueError, r"init W0 must have shape \(5, 2\), got \(6, 2\)"),
    ({"init": (-np.ones((6, 2)), np.ones((5, 2)))}, ValueError, r"init H0 must be finite and non-negative, got .* -1"),
    ({"init": ("a", "b")}, TypeError, r"init H0 must be an array of numbers"),
    ({"orthogonality": -1}, ValueError, r"orthogonality must be a finite number >= 0 or 'exact' or 'auto', got -1"),
    (
        {"orthogonality": "strong"},
        TypeError,
        r"orthogonality must be a finite number >= 0 or 'exact' or 'auto', got 'strong'",
    ),
    ({"orthogonality": None}, TypeError, r"orthogonality must be a finite number >= 0 or 'exact' or 'auto', got None"),
    (
        {"orthogonality": np.nan},
        ValueError,
        r"orthogonality must be a finite number >= 0 or 'exact' or 'auto', got nan",
    ),
    ({"max_iter": 0}, ValueError, r"max_iter must be at least 1, got 0"),
    ({"n_restarts": 0}, ValueError, r"n_restarts must be at least 1, got 0"),
    ({"tol": -1e-3}, ValueError, r"tol must be a finite number >= 0, got -0.001"),
    (
        {"labels": "leiden", "n_clusters": 0},
        ValueError,
        r"n_clusters must be between 1 and \d+ \(the cells given\), got 0",
    ),
    ({"labels": "leiden", "resolution": -1.0}, ValueError, r"resolution must be a finite number >= 0, got -1"),
    (
        {"labels": "leiden", "resolution": 1.0, "n_clusters": 2},
        ValueError,
        r"n_clusters must be None where a resolution",
    ),
    ({"resolution": 1.0}, ValueError, r"resolution must be None unless labels is 'leiden', got labels='argmax'"),
    ({"gene_weights": "cv"}, ValueError, r"gene_weights must be 'variation' or 'auto', got 'cv'"),
    ({"labels": "knn"}, ValueError, r"labels must be 'argmax' or 'kmeans' or 'leiden', got 'knn'"),
    ({"gauge": "l1"}, ValueError, r"gauge must be 'unit' or None, got 'l1'"),
    ({"n_jobs": 0}, ValueError, r"n_jobs must be at least 1, got 0"),
    (
        {"gene_weights": np.zeros(5)},
        ValueError,
        r"gene_weights must be finite and positive, got values from 0.0 to 0.0",
    ),
    ({"required_genes": [1], "n_genes": None}, ValueError, r"required_genes must be None unless"),
    ({"required_genes": [7], "n_genes": 2}, ValueError, r"required_genes must be a mask of length 5 or indices below"),
    ({"required_genes": [0, 1, 2], "n_genes": 2}, ValueError, r"required_genes must be at most n_genes=2, got 3"),
    ({"gene_weights": np.ones(4)}, ValueError, r"gene_weights must have shape \(5,\), got \(4,\)"),
]


@pytest.mark.parametrize(("parameters", "kind", "message"), BAD_PARAMETERS)
def test_bad_parameters_say_what_was_expected_and_what_came(parameters, kind, message):
    with pytest.raises(kind, match=message) as error:
        gs.SSNMF(**{"n_components": 2, **parameters}).fit(SMALL)
    assert "\n" not in str(error.value)


BAD_DATA = [
    (-SMALL, r"must be non-negative .* got a minimum of -1"),
    (sparse.csr_array(-SMALL), r"must be non-negative .* got a minimum of -1"),
    (np.full((6, 5), np.nan), "NaN"),
    (np.full((6, 5), np.inf), "infinity"),
    (np.ones((0, 5)), r"0 sample"),
    (np.ones((6, 0)), r"0 feature"),
    (np.ones(6), r"X must have 2 dimensions \(cells x genes\), got 1"),
    (np.ones((2, 3, 4)), r"X must have 2 dimensions \(cells x genes\), got 3"),
    (np.full((6, 5), "a"), r"X cannot be used: could not convert string to float"),
    (SMALL + 1j, r"X cannot be used: Complex data not supported"),
]


@pytest.mark.parametrize(("X", "message"), BAD_DATA, ids=lambda value: value if isinstance(value, str) else "")
def test_bad_data_gets_one_clear_line(X, message):
    with pytest.raises(ValueError, match=message) as error:
        gs.SSNMF(2).fit(X)
    assert "\n" not in str(error.value)


def test_transform_with_the_wrong_genes(data):
    with pytest.raises(NotFittedError):
        gs.SSNMF(3).transform(data)
    model = fit(data)
    for call, message in [
        (lambda: model.transform(data[:, :100]), "X has 100 features, but SSNMF is expecting 500"),
        (lambda: model.transform(data, selected_only=True), r"X must have 120 columns \(the selected genes\), got 500"),
        (lambda: model.transform(-data), "must be non-negative"),
        (lambda: model.inverse_transform(data), r"usages must have 3 columns \(the programs\), got shape \(60, 500\)"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            call()
        assert "\n" not in str(error.value)


def test_scikit_learn_s_manners(data):
    model = gs.SSNMF(3, n_genes=120, random_state=0)
    with pytest.raises(AttributeError):
        _ = model.n_components_
    labels = model.fit_predict(data)
    np.testing.assert_array_equal(labels, model.labels_)
    assert model.n_components_ == 3


def test_an_error_about_an_array_is_one_line(data):
    start = (np.ones((len(data), 2)), np.ones((data.shape[1], 2)))
    with pytest.raises(ValueError, match="init must be 'nmf' where a consensus is asked for") as caught:
        gs.SSNMF(2, init=start, consensus=True, n_restarts=3).fit(data)
    assert len(str(caught.value).splitlines()) == 1
