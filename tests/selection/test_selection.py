"""How many programs, how many genes: laws of the suggestion, then planted examples."""

import anndata
import numpy as np
import pytest
from scipy import sparse

import genesieve as gs
from genesieve.selection.choose import select
from genesieve.selection.held_out import MOST_LEVERAGE, Part, adjusted, errors_of, gains_of, parts_of
from genesieve.selection.spectrum import SPREAD, end_of_noise, leading, spectrum
from genesieve.selection.standardise import MOST_OF_A_GENE, bound_genes, equalise, linear, standardise


def planted(n_types=4, seed=0, n_cells=400, n_genes=800, n_activities=0, level="easy"):
    return gs.datasets.programs(
        level, n_cells=n_cells, n_genes=n_genes, n_types=n_types, n_activities=n_activities, random_state=seed
    )


def suggest(X, seed=0, **choices):
    return select(X, rng=np.random.default_rng(seed), **choices)


@pytest.fixture(scope="module")
def counts():
    return planted()


# ------------------------------------------------------------------------------------------------ laws


def test_scaling_evens_rows_and_columns():
    rng = np.random.default_rng(0)
    R = (rng.normal(size=(60, 90)) * rng.uniform(0.1, 9, 90) * rng.uniform(0.1, 9, (60, 1))).astype(np.float32)
    rows, columns = equalise(R)
    squares = (R * rows[:, None] * columns) ** 2
    np.testing.assert_allclose(squares.mean(axis=0), 1, rtol=1e-3)
    np.testing.assert_allclose(squares.mean(axis=1), 1, rtol=1e-3)


def test_no_gene_is_left_beyond_the_others_by_far():
    R = np.random.default_rng(0).normal(size=(60, 90))
    np.testing.assert_array_equal(bound_genes(R), 1.0)
    R[:, 3] = 0.0
    R[:5, 7] *= 1e4
    bounded = R * bound_genes(R)
    squares = (bounded**2).mean(axis=0)
    np.testing.assert_allclose(squares.max(), MOST_OF_A_GENE * np.median(squares[squares > 0]), rtol=1e-2)
    np.testing.assert_array_equal(np.delete(bounded, 7, axis=1), np.delete(R, 7, axis=1))
    np.testing.assert_array_equal(bound_genes(np.zeros((4, 3))), 1.0)


def test_genes_that_a_few_cells_have_in_masses_do_not_decide_how_many_programs_there_are():
    counts = planted(8, 0, n_cells=500, level="faint").X.toarray()
    rng = np.random.default_rng(0)
    stray = rng.poisson(0.02, (len(counts), 3))
    cells = rng.choice(len(counts), 10, replace=False)
    stray[cells] = rng.poisson(rng.gamma(2.0, 200.0, (10, 1)) * [1.0, 0.6, 0.8])
    assert abs(suggest(np.hstack([counts, stray])).n_components - suggest(counts).n_components) <= 2


def test_directions_that_stand_out_are_those_of_a_full_decomposition(counts):
    R = standardise(counts.X).values
    width = spectrum(R.copy(), 20, np.random.default_rng(0)).n_above
    U, sizes, V = np.linalg.svd(R, full_matrices=False)
    found = leading(R, width, np.random.default_rng(1))
    np.testing.assert_allclose(found.sizes, sizes[:width], rtol=1e-3)
    for left, full in ((found.U, U[:, :width]), (found.V, V[:width].T)):
        np.testing.assert_allclose(np.abs((left * full).sum(axis=0)), 1, atol=0.01)


def test_noise_ends_where_it_does_by_a_full_decomposition():
    """Random signs of normal noise are such noise again, whose largest value scatters by a known spread."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(300, 500)).astype(np.float32)
    spread = SPREAD * sum(size**-0.5 for size in R.shape) ** (1 / 3)
    largest = np.mean([np.linalg.svd(R * rng.choice([-1, 1], R.shape), compute_uv=False)[0] for _ in range(3)])
    assert abs(end_of_noise(R, rng) - 5 * spread - largest) < 5 * spread


def test_errors_are_those_of_every_cell_predicted_from_all_others():
    rng = np.random.default_rng(0)
    R = rng.normal(1.0, 1.0, (40, 25)).astype(np.float32)
    basis = np.linalg.qr(rng.normal(size=(40, 5)))[0].astype(np.float32)
    expected = []
    for count in range(1, 6):
        U = basis[:, :count]
        left = (R - U @ (U.T @ R)) / (1 - np.minimum((U**2).sum(axis=1), MOST_LEVERAGE))[:, None]
        expected.append((left**2).sum())
    found = errors_of(R, [Part(np.ones(25, dtype=bool), basis)], 7).error  # of seven, two more than there are
    np.testing.assert_allclose(found, np.array([*expected, expected[-1], expected[-1]]) / expected[0], rtol=1e-4)


def test_depth_and_logarithm_do_not_matter(counts):
    X = counts.X.toarray()
    depth = X.sum(axis=1, keepdims=True)
    logged = np.log1p(X / depth * 1e4)
    assert linear(counts.X)[1] == "counts"
    assert linear(logged)[1] == linear(logged / np.log(2))[1] == "counts"
    assert linear(X * 7 + (X > 0) * np.arange(X.shape[1]))[1] == "reads"
    assert linear(np.sqrt(X))[1] == "values"
    first, second = suggest(X), suggest(sparse.csr_matrix(logged))
    assert first.n_components == second.n_components
    assert abs(first.n_genes - second.n_genes) <= 0.05 * first.n_genes


def test_dense_is_sparse(counts):
    first, second = suggest(counts.X), suggest(counts.X.toarray())
    assert (first.n_components, first.n_genes) == (second.n_components, second.n_genes)
    np.testing.assert_allclose(first.ranks["held_out_error"], second.ranks["held_out_error"], rtol=1e-3)


def test_noise_has_one_program_and_no_genes():
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(1, 2, 300) * rng.uniform(0.5, 2, (200, 1))).astype(float)
    found = suggest(X)
    assert found.n_components == 1
    assert not len(found.genes) or found.genes["earns"].sum() <= 3


def test_every_direction_is_judged_by_what_it_has_not_seen(counts):
    """Noise directions only cost: the held-out error rises with each, though the error in sample falls."""
    rng = np.random.default_rng(0)
    R = standardise(counts.X).values
    found = spectrum(R, 20, rng)
    width = found.n_above + 6
    error = errors_of(R, parts_of(R, width, rng), width).error
    assert np.all(np.diff(error[found.n_above - 1 :]) > 0)
    assert error[0] == 1.0


def test_choices_are_kept_to(counts):
    found = suggest(counts.X, n_components=[2, 3, 7, 9], n_genes=[150, 300, 700])
    assert found.n_components in (2, 3, 7, 9)
    assert found.n_genes in (150, 300, 700)


def test_adjusted_p_values_are_of_genes_that_gain():
    rng = np.random.default_rng(1)
    R = rng.normal(size=(300, 400)).astype(np.float32)
    R[:, :6] += 2 * rng.choice([-1, 1], (300, 1)).astype(np.float32)
    R += 3
    p = adjusted(gains_of(R, parts_of(R, 4, rng), 2))
    assert (p[:6] < 0.05).all()
    assert (p[6:] < 0.05).sum() <= 6


# ------------------------------------------------------------------------------------------------ planted


@pytest.mark.parametrize(("n_types", "n_activities", "seed"), [(5, 0, 1), (6, 1, 2)])
def test_planted_programs_and_genes_are_found(n_types, n_activities, seed):
    adata = planted(n_types, seed, n_cells=800, n_genes=1500, n_activities=n_activities)
    gs.pp.prepare(adata)
    gs.tl.select(adata)
    suggested = adata.uns["ssnmf_select"]["suggested"]
    assert suggested["n_components"] == n_types + n_activities
    true = int(np.asarray(adata.varm["true_raised"]).any(axis=1).sum())
    assert true / 1.5 <= suggested["n_genes"] <= true * 1.5


# ------------------------------------------------------------------------------------------------ hard inputs


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kind", ["constant genes", "duplicated cells", "30 cells", "one cell", "zeros", "few genes", "one program"]
)
def test_odd_data(kind, counts):
    X = counts.X.toarray()
    X = {
        "constant genes": np.hstack([X, np.full((len(X), 20), 3.0)]),
        "duplicated cells": np.repeat(X[:60], 3, axis=0),
        "30 cells": X[:30],
        "one cell": X[:1],
        "zeros": np.zeros((50, 40)),
        "one program": np.outer(1 + np.arange(60), 1 + np.arange(50)).astype(float),
        "few genes": X[:, np.argsort(-X.sum(axis=0))[:3]],
    }[kind]
    found = suggest(X)
    assert 1 <= found.n_components <= min(X.shape)
    assert 1 <= found.n_genes <= X.shape[1]
    for name, column in {**found.ranks, **found.genes}.items():
        assert name in ("size", "agreement") or np.isfinite(column).all()


@pytest.mark.parametrize(("asked", "suggested"), [([100, 150], 100), ([1], 1), ([1, 2], 2), ([39, 40], 39)])
def test_ranks_far_from_the_truth(counts, asked, suggested):
    found = suggest(counts.X, n_components=asked)
    assert found.n_components == suggested
    assert np.isfinite(found.ranks["held_out_error"]).all()


# ------------------------------------------------------------------------------------------------ the front


def test_auto_is_what_select_suggests(counts):
    adata = counts.copy()
    gs.pp.prepare(adata)
    gs.tl.select(adata)
    suggested = adata.uns["ssnmf_select"]["suggested"]
    model = gs.SSNMF("auto", n_genes="auto", random_state=0).fit(adata.X)
    assert (model.n_components_, model.n_genes_) == (suggested["n_components"], suggested["n_genes"])
    same = gs.SSNMF(model.n_components_, n_genes=model.n_genes_, random_state=0).fit(adata.X)
    np.testing.assert_array_equal(model.components_, same.components_)
    gs.tl.ssnmf(adata, "auto", "auto", key_added="chosen")
    assert adata.uns["chosen"]["params"]["n_components"] == suggested["n_components"]
    assert adata.uns["chosen_select"]["suggested"] == suggested


def test_one_number_can_be_left_to_the_data(counts):
    model = gs.SSNMF(3, n_genes="auto", random_state=0).fit(np.log1p(counts.X.toarray()))
    assert model.n_components_ == 3
    assert model.n_genes_ == model.get_support().sum()
    assert gs.SSNMF("auto", random_state=0).fit(np.log1p(counts.X.toarray())).n_genes_ is None


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
def test_the_suggestion_survives_a_file(counts, form, tmp_path):
    adata = counts.copy()
    gs.tl.select(adata)
    path = tmp_path / f"data.{form}"
    getattr(adata, f"write_{form}")(path)
    again = getattr(anndata, f"read_{form}")(path).uns["ssnmf_select"]
    before = adata.uns["ssnmf_select"]
    assert {name: int(size) for name, size in again["suggested"].items()} == before["suggested"]
    assert bool(again["clear"]) is before["clear"] is True
    np.testing.assert_allclose(again["table"]["size"], before["table"]["size"])
    assert list(again["genes"]["gene"].astype(str)) == list(before["genes"]["gene"])


def test_from_a_file_as_from_memory(counts, tmp_path):
    memory = counts.copy()
    memory.write_h5ad(tmp_path / "data.h5ad")
    backed = anndata.read_h5ad(tmp_path / "data.h5ad", backed="r")
    for adata in (memory, backed):
        gs.pp.prepare(adata)
        gs.tl.select(adata)
    assert backed.uns["ssnmf_select"]["suggested"] == memory.uns["ssnmf_select"]["suggested"]


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"n_components": []}, "n_components must have numbers"),
        ({"n_components": [0]}, "n_components must be"),
        ({"n_genes": [10**6]}, "n_genes must have numbers up to"),
    ],
)
def test_impossible_choices_are_refused(counts, choices, error):
    with pytest.raises(ValueError, match=error):
        gs.tl.select(counts.copy(), **choices)


def test_words_other_than_auto_are_refused(counts):
    with pytest.raises(ValueError, match="n_components must be a whole number or 'auto', got 'many'"):
        gs.SSNMF("many").fit(counts.X)


def test_a_path_keeps_its_budgets_and_is_drawn():
    adata = gs.datasets.demo()
    gs.tl.path(adata, 4, [30, 300, 100])
    table = adata.uns["ssnmf_path"]
    assert list(table["n_genes"]) == [30, 100, 300]
    assert np.all(np.diff(table["explained"]) > 0)
    assert table["labels_kept"].iloc[-1] == pytest.approx(1.0)
    assert table["genes_kept"].between(0, 1).all()
    assert len(gs.pl.path(adata).lines) == 3
    with pytest.raises(KeyError, match=r"run gs\.tl\.path first"):
        gs.pl.path(gs.datasets.demo())


@pytest.mark.parametrize("view", ["programs", "replication", "held_out", "genes"])
def test_the_plot_shows_the_suggestion(counts, view):
    adata = counts.copy()
    gs.tl.select(adata)
    suggested = adata.uns["ssnmf_select"]["suggested"]
    ax = gs.pl.selection(adata, view=view)
    assert ax.get_title().split()[0] == str(suggested["n_genes" if view == "genes" else "n_components"])


@pytest.mark.parametrize("view", ["programs", "replication"])
def test_the_plot_says_what_it_shows_where_another_number_is_suggested(counts, view):
    adata = counts.copy()
    gs.tl.select(adata, range(2, 4))
    shown = adata.uns["ssnmf_select"]["signals"]["stand_out" if view == "programs" else "replicate"]
    assert gs.pl.selection(adata, view=view).get_title().startswith(f"{shown} ")
    assert gs.pl.selection(adata, view=view).get_title().endswith(" 3 suggested")


@pytest.mark.filterwarnings("error")
def test_the_plot_of_replication_is_empty_where_the_number_was_given(counts):
    adata = counts.copy()
    gs.tl.select(adata, 3)
    assert adata.uns["ssnmf_select"]["table"]["agreement"].isna().all()
    assert gs.pl.selection(adata, view="replication").get_title() == "3 programs suggested"
