"""The synthetic sets have the shape and the strengths the paper describes; the demo set is ready to use."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import foldnorm

from genesieve import datasets

SRC = Path(__file__).parents[1] / "src"
DRAWS = [datasets.synthetic, datasets.synthetic_outliers]
draws = pytest.mark.parametrize("draw", DRAWS, ids=[draw.__name__ for draw in DRAWS])

seeds = st.integers(0, 2**32 - 1)


@draws
@given(seed=seeds, mean=st.floats(-5, 5))
def test_shape_type_sign_and_labels(draw, seed, mean):
    X, labels = draw(mean=mean, random_state=seed)
    assert X.shape == (60, 500)
    assert X.dtype == np.float64
    assert (X >= 0).all()
    np.testing.assert_array_equal(labels, np.repeat([0, 1, 2], 20))


@draws
@given(seed=seeds)
def test_a_seed_fixes_the_draw(draw, seed):
    first = draw(random_state=seed).X
    np.testing.assert_array_equal(first, draw(random_state=np.random.default_rng(seed)).X)
    assert not np.array_equal(first, draw(random_state=seed + 1).X)


@draws
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_repeatable_and_moves_on(draw, kind):
    rng, twin = kind(3), kind(3)
    first, second = draw(random_state=rng).X, draw(random_state=rng).X
    np.testing.assert_array_equal(first, draw(random_state=twin).X)
    np.testing.assert_array_equal(second, draw(random_state=twin).X)
    assert not np.array_equal(first, second)


@draws
def test_no_seed_means_a_fresh_draw(draw):
    assert not np.array_equal(draw().X, draw().X)


@draws
def test_numpy_global_state_is_left_alone(draw):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    draw(random_state=0)
    draw()
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def blocks(n_classes):
    """Mark the signal entries as the paper prints them: genes 1-60, 31-90 and 61-120."""
    signal = np.zeros((60, 500), dtype=bool)
    for label in range(n_classes):
        signal[20 * label : 20 * label + 20, 30 * label : 30 * label + 60] = True
    return signal


@pytest.mark.parametrize(("draw", "n_classes"), [(datasets.synthetic, 3), (datasets.synthetic_outliers, 2)])
@pytest.mark.parametrize("mean", [0.0, 1.0, 3.0])
def test_signal_and_background_follow_their_distributions(draw, n_classes, mean):
    X = np.stack([draw(mean=mean, random_state=seed).X for seed in range(200)])
    signal = blocks(n_classes)
    for entries, law in ((signal, foldnorm(abs(mean))), (~signal, foldnorm(0, scale=0.9))):
        error = law.std() / np.sqrt(len(X))
        assert np.abs(X.mean(axis=0)[entries] - law.mean()).max() < 6 * error  # every entry, 30,000 of them
        assert X[:, entries].std() == pytest.approx(law.std(), rel=0.02)


def test_outliers_carry_no_signal():
    X, labels = datasets.synthetic_outliers(mean=5.0, random_state=0)
    on_signal = X[:, :120].mean(axis=1)
    assert on_signal[labels == datasets.OUTLIER_LABEL].max() < 1 < on_signal[labels != datasets.OUTLIER_LABEL].min()


def test_the_published_data_have_the_same_blocks(reference):
    signal = blocks(3)
    np.testing.assert_array_equal(reference.labels, datasets.synthetic().labels)
    assert reference.X[signal].mean() == pytest.approx(foldnorm(1).mean(), abs=0.05)  # mean 1, not the printed 0
    assert reference.X[~signal].mean() == pytest.approx(foldnorm(0, scale=0.9).mean(), abs=0.02)


@draws
@pytest.mark.parametrize("mean", [np.nan, np.inf])
def test_a_bad_mean_is_named(draw, mean):
    with pytest.raises(ValueError, match=r"^mean must be a finite number, got (nan|inf)$"):
        draw(mean=mean)


def run(code, *options):
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env={"PYTHONPATH": str(SRC), "HOME": str(Path.home())},
        capture_output=True,
        text=True,
    )


def test_importing_is_light():
    code = "import sys, genesieve.datasets; print({'scanpy', 'anndata', 'pandas'} & set(sys.modules))"
    assert run(code).stdout.strip() == "set()"


def test_demo_is_silent():
    pytest.importorskip("scanpy")
    imports = "import sys, warnings, scanpy, genesieve.datasets as d"  # old libraries warn beside new ones
    done = run(f"{imports}; print('...', file=sys.stderr); warnings.simplefilter('error'); d.demo()")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("...\n")


def test_demo_is_log_normalised_and_labelled(tmp_path):
    sc = pytest.importorskip("scanpy")
    adata = datasets.demo()
    assert adata.shape == (700, 765)
    assert sp.issparse(adata.X)
    assert adata.X.format == "csr"
    assert adata.X.dtype == np.float32
    assert adata.X.min() == 0.0
    original = sc.datasets.pbmc68k_reduced()
    assert (adata.X != original.raw.X).nnz == 0
    assert list(adata.var_names) == list(original.raw.var_names)
    assert list(adata.obs["cell_type"]) == list(original.obs["bulk_labels"])
    assert adata.obs["cell_type"].nunique() == 10
    adata.write_h5ad(tmp_path / "demo.h5ad")
    assert list(sc.read_h5ad(tmp_path / "demo.h5ad").obs["cell_type"]) == list(adata.obs["cell_type"])


def test_demo_gives_a_new_object_each_time():
    pytest.importorskip("scanpy")
    first = datasets.demo()
    first.X.data[:] = 0
    assert datasets.demo().X.sum() > 0


# ------------------------------------------------------------------------------------------------ counts with programs


SMALL = {"n_cells": 300, "n_genes": 400, "n_types": 4}  # more cells than a chunk


@pytest.mark.parametrize("level", ["easy", "medium", "hard", "faint"])
def test_programs_come_with_what_is_true_of_them(level):
    adata = datasets.programs(level, n_activities=1, **SMALL)
    usages, raised, spectra = adata.obsm["true_usages"], adata.varm["true_raised"], adata.varm["true_spectra"]
    assert sp.issparse(adata.X)
    assert adata.X.format == "csr"
    assert (adata.X.data == np.round(adata.X.data)).all()
    assert usages.shape == (300, 5)
    assert raised.shape == spectra.shape == (400, 5)
    np.testing.assert_allclose(usages.sum(axis=1), 1)
    np.testing.assert_allclose(spectra.sum(axis=0), 1)
    assert list(adata.uns["programs"]["kind"]) == ["identity"] * 4 + ["activity"]
    singlets = ~adata.obs["doublet"].to_numpy()
    np.testing.assert_array_equal(usages[singlets, :4].argmax(axis=1), adata.obs["cell_type"].cat.codes[singlets])


def test_raised_genes_are_raised_in_the_counts():
    adata = datasets.programs("easy", **SMALL)
    counts = adata.X.toarray()
    shares = counts / counts.sum(axis=1, keepdims=True)
    own = (adata.obs["cell_type"] == "type 1").to_numpy()
    raised = adata.varm["true_raised"][:, 0] & ~adata.varm["true_raised"][:, 1:].any(axis=1)
    assert shares[own][:, raised].mean() > 1.5 * shares[~own][:, raised].mean()


def test_fewer_cells_are_the_first_of_more_and_seeds_differ():
    many, few = datasets.programs(**SMALL), datasets.programs(**{**SMALL, "n_cells": 120})
    np.testing.assert_array_equal(few.X.toarray(), many.X[:120].toarray())
    np.testing.assert_array_equal(few.obsm["true_usages"], many.obsm["true_usages"][:120])
    other = datasets.programs(**SMALL, random_state=1)
    assert not np.array_equal(other.X.toarray(), many.X.toarray())


def test_programs_on_disk_are_those_in_memory(tmp_path):
    stored, held = datasets.programs(**SMALL, path=tmp_path / "cells.h5ad"), datasets.programs(**SMALL)
    assert stored.isbacked
    np.testing.assert_array_equal(stored.X[:].toarray(), held.X.toarray())
    np.testing.assert_array_equal(stored.obsm["true_usages"], held.obsm["true_usages"])
    np.testing.assert_array_equal(stored.varm["true_raised"], held.varm["true_raised"])
    stored.file.close()


def test_the_preset_has_the_papers_programs():
    adata = datasets.programs("hard", preset="cnmf", n_cells=50, n_genes=5000)
    raised = adata.varm["true_raised"].mean(axis=0)
    assert raised[:13].mean() == pytest.approx(0.025, abs=0.003)
    assert raised[13] == pytest.approx(0.04, abs=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "mild"}, "level must be 'easy' or 'medium' or 'hard' or 'faint', got 'mild'"),
        ({"level": "faint", "preset": "cnmf"}, "level must be 'easy' or 'medium' or 'hard', got 'faint'"),
        ({"preset": "splat"}, "preset must be None or 'cnmf', got 'splat'"),
        ({"n_cells": 0}, "n_cells must be at least 1, got 0"),
    ],
)
def test_programs_say_what_was_expected(options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        datasets.programs(**options)
