"""Replication, the rule, batches, checkpoints and progress of a suggestion, and where the cells may be."""

import json
from dataclasses import replace

import anndata
import numpy as np
import pytest
from scipy import sparse

import genesieve as gs
from genesieve.selection import evidence, saved
from genesieve.selection.choose import select
from genesieve.selection.evidence import Evidence
from genesieve.selection.held_out import Errors
from genesieve.selection.replication import Replication, correlations, replication
from genesieve.selection.rule import in_words, programs, signals
from genesieve.selection.spectrum import Spectrum
from genesieve.selection.standardise import standardise


@pytest.fixture(scope="module")
def counts():
    return gs.datasets.programs("easy", n_cells=400, n_genes=800, n_types=4, n_activities=0)


def suggest(X, seed=0, **choices):
    return select(X, rng=np.random.default_rng(seed), **choices)


def same(first, second):
    """Whether two suggestions are the same, evidence and all."""
    assert (first.n_components, first.n_genes, first.signals) == (second.n_components, second.n_genes, second.signals)
    for name, column in first.ranks.items():
        np.testing.assert_allclose(second.ranks[name], column, rtol=1e-4)


# ------------------------------------------------------------------------------------------------ replication


def test_correlations_do_not_depend_on_scale_and_offset():
    rng = np.random.default_rng(0)
    usages = rng.random((50, 3))
    np.testing.assert_allclose(correlations(usages, usages * [1, 5, 0.1] + [0, 3, 7]), 1)
    np.testing.assert_allclose(correlations(usages, -usages), -1)
    assert correlations(usages, np.ones((50, 3))).tolist() == [0, 0, 0]


def test_planted_programs_replicate_and_one_too_many_does_not(counts):
    R = standardise(counts.X).values
    found = replication(R, 4, np.random.default_rng(0))
    assert found.n_found == 4
    assert found.is_whole
    assert found.share.sum() == pytest.approx(1)
    more = replication(R, 8, np.random.default_rng(0))
    assert more.n_found <= 4
    assert not more.is_whole
    assert np.all(np.diff(more.sorted_agreement) <= 0)


def test_noise_does_not_replicate():
    rng = np.random.default_rng(0)
    R = rng.poisson(3.0, (200, 150)).astype(np.float32)
    found = replication(R, 6, rng)
    assert found.n_found <= 1
    assert not found.is_whole


# ------------------------------------------------------------------------------------------------ the rule


def made(above, most, agreement):
    """Evidence by hand; the fifth program saves less than a fortieth of what can be saved."""
    errors = np.array([1.0, 0.6, 0.5, 0.41, 0.4, 0.405, 0.41])
    spectrum = Spectrum(np.ones(above), 1.0, above, np.ones(1), np.ones(1))
    halves = Replication(np.array([agreement]), np.full(above, 1 / above))
    return Evidence(spectrum, [], Errors(errors, np.zeros_like(errors)), halves, most)


def test_where_most_programs_replicate_all_that_stand_out_count():
    found = made(5, 40, [1, 0.99, 0.95, 0.9, 0.6])
    assert programs(found, None) == 5
    assert signals(found) == {"stand_out": 5, "replicate": 4, "add": 4, "held_out": 5}


def test_where_programs_fade_those_count_that_add_to_what_is_predicted():
    assert programs(made(6, 40, [1, 1, 1, 0.5, 0.4, 0.3]), None) == 4


def test_a_direction_that_adds_nothing_does_not_end_the_count():
    found = made(6, 40, [1, 1, 1, 0.5, 0.4, 0.3])
    errors = np.array([1.0, 1.0, 0.6, 0.6, 0.5, 0.41, 0.4])
    assert signals(replace(found, errors=Errors(errors, np.zeros(7))))["add"] == 4


def test_nothing_that_can_be_predicted_is_one_program():
    errors = Errors(np.array([1.0, 1.1, 1.05, 1.2]), np.zeros(4))
    assert signals(replace(made(4, 40, [1, 0.5, 0.4, 0.3]), errors=errors))["add"] == 1


def test_programs_without_an_end_fade():
    assert programs(made(6, 6, [1.0] * 6), None) == 4


def test_the_reason_says_that_no_number_is_clear_and_where_genes_are_cut():
    clear, fades = made(5, 40, [1.0] * 5), made(6, 40, [1, 1, 1, 0.5, 0.4, 0.3])
    assert "no number is clear" not in in_words(clear, 50, 100, 2000)
    assert "no number is clear" in in_words(fades, 50, 100, 2000)
    assert "of 9,000 genes, 3,000 are predicted" in in_words(clear, 3000, 9000, 2000)
    assert in_words(clear, 3000, 9000, 2000).endswith("the best 2,000 of them are enough")


def test_the_nearest_allowed_number_is_suggested():
    assert programs(made(5, 40, [1.0] * 5), [2, 4, 9]) == 4


# ------------------------------------------------------------------------------------------------ batches


def test_what_tells_batches_apart_is_no_program():
    adata = gs.datasets.programs(
        "easy", n_cells=600, n_genes=1000, n_types=4, n_activities=0, n_batches=3, batch_effect=0.5
    )
    gs.tl.select(adata, key_added="plain")
    gs.tl.select(adata, batch_key="batch", key_added="known")
    assert adata.uns["plain_select"]["suggested"]["n_components"] > 4
    assert adata.uns["known_select"]["suggested"]["n_components"] == 4
    gs.tl.ssnmf(adata, "auto", 100, batch_key="batch", key_added="fit")
    assert adata.obsm["X_fit"].shape[1] == 4


# ------------------------------------------------------------------------------------------------ steps


def test_the_callback_is_told_of_every_step(counts):
    told = []
    suggest(counts.X, callback=told.append)
    assert [step.what for step in told] == [*evidence.STEPS, "done"]
    done = [step.done for step in told]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 1)


def test_an_interrupted_choice_goes_on_from_its_checkpoint(counts, tmp_path, monkeypatch):
    whole, path = suggest(counts.X), tmp_path / "steps.npz"

    def interrupt(step):
        if step.what == "fitting programs to halves of the cells":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        suggest(counts.X, checkpoint=path, callback=interrupt)

    def again(*arguments):
        raise AssertionError("a finished step was taken again")

    for step in ("spectrum", "parts_of"):
        monkeypatch.setattr(evidence, step, again)
    same(whole, suggest(counts.X, checkpoint=path))
    monkeypatch.setattr(evidence, "replication", again)
    same(whole, suggest(counts.X, checkpoint=path))


def test_the_checkpoint_of_another_choice_is_refused_and_kept(counts, tmp_path):
    path = tmp_path / "steps.npz"
    suggest(counts.X, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="checkpoint must be of the same choice"):
        suggest(counts.X, seed=1, checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint must be of the same choice"):
        suggest(counts.X[:300], checkpoint=path)
    assert path.read_bytes() == before
    path.write_bytes(before[: len(before) // 2])
    with pytest.raises(ValueError, match="checkpoint must be a file of genesieve"):
        suggest(counts.X, checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint must be a file in a folder that is there"):
        suggest(counts.X, checkpoint=tmp_path / "nowhere" / "steps.npz")


# ------------------------------------------------------------------------------------------------ where the cells are


def test_threads_do_not_matter(counts):
    same(suggest(counts.X, n_jobs=1), suggest(counts.X, n_jobs=2))


@pytest.mark.parametrize("form", ["csc", "dask", "backed", "lazy"])
def test_wherever_the_cells_are(counts, form, tmp_path):
    expected = counts.copy()
    gs.tl.select(expected)
    path = tmp_path / "data.h5ad"
    counts.write_h5ad(path)
    if form == "csc":
        adata = counts.copy()
        adata.X = sparse.csc_matrix(adata.X)
    elif form == "dask":
        dask = pytest.importorskip("dask.array")
        adata = counts.copy()
        adata.X = dask.from_array(counts.X.toarray(), chunks=(150, -1))
    elif form == "backed":
        adata = anndata.read_h5ad(path, backed="r")
    else:
        pytest.importorskip("xarray")
        adata = anndata.experimental.read_lazy(path)
    gs.tl.select(adata)
    found, before = adata.uns["ssnmf_select"], expected.uns["ssnmf_select"]
    assert found["suggested"] == before["suggested"]
    np.testing.assert_allclose(found["table"]["held_out_error"], before["table"]["held_out_error"], rtol=1e-4)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spectrum/n_above", np.array(0)),
        ("spectrum/n_above", np.array(np.inf)),
        ("spectrum/rows", np.array(["x"] * 3)),
        ("parts/genes", np.zeros((2, 3))),
        ("parts/0", None),
        ("halves/agreement", np.zeros(2, dtype="M8[D]")),
        ("no step", np.zeros(2)),
    ],
)
def test_a_checkpoint_made_by_hand_is_refused_in_one_line(counts, tmp_path, field, value, signed):
    """Without a checksum, one with other numbers led to another suggestion."""
    path = tmp_path / "steps.npz"
    suggest(counts.X, checkpoint=path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(str(arrays.pop("about")))
    arrays = {name: array for name, array in {**arrays, field: value}.items() if array is not None}
    about["sha256"] = saved.checksum(arrays) if signed else about["sha256"]
    np.savez(path, about=np.array(json.dumps(about)), **arrays)
    with pytest.raises(ValueError, match="checkpoint must be a file of genesieve, got") as error:
        suggest(counts.X, checkpoint=path)
    assert "\n" not in str(error.value)
