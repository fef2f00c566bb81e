from __future__ import annotations

import sys
from pathlib import Path

import anndata
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score

from conftest import shared_file

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the suite is run from a checkout, it is not installed

from benchmarks.scale import generate  # noqa: E402
from benchmarks.scale.generate import write_atlas  # noqa: E402

N_CELLS, N_GENES, DENSITY = 300, 700, 0.1


@pytest.fixture(scope="module")
def real() -> generate.Real:
    """Fewer genes than asked for, as with the real ones."""
    return generate.simulated_cells(400, 500)


@pytest.fixture
def write(tmp_path, real, monkeypatch):
    """Write a small atlas in several blocks and chunks, and read it."""
    monkeypatch.setattr(generate, "CELLS_AT_ONCE", 128)
    monkeypatch.setattr(generate, "PILOT_CELLS", 128)
    monkeypatch.setattr(generate, "VALUES_A_CHUNK", 4096)
    monkeypatch.setattr(generate, "VALUES_A_PACKED_CHUNK", 4096)

    def written(name: str = "atlas.h5ad", n_cells: int = N_CELLS, n_genes: int = N_GENES, **options) -> anndata.AnnData:
        path = tmp_path / name
        write_atlas(path, n_cells, n_genes, **{"density": DENSITY, "real": real, **options})
        return anndata.io.read_zarr(path) if path.suffix == ".zarr" else anndata.read_h5ad(path)

    return written


def same(a: anndata.AnnData, b: anndata.AnnData) -> bool:
    tables = a.obs.equals(b.obs) and a.var_names.equals(b.var_names)
    return bool(tables and all(np.array_equal(getattr(a.X, part), getattr(b.X, part)) for part in PARTS))


PARTS = ("data", "indices", "indptr")


def test_a_file_holds_sparse_raw_counts(write, tmp_path):
    adata = write()
    assert adata.shape == (N_CELLS, N_GENES)
    assert sparse.issparse(adata.X)
    assert adata.X.format == "csr"
    assert (adata.X.dtype, adata.X.indices.dtype) == (np.float32, np.int32)
    assert adata.X.has_canonical_format
    assert (adata.X.data >= 1).all()
    assert (adata.X.data == np.round(adata.X.data)).all()
    assert adata.obs_names.is_unique
    assert adata.var_names.is_unique
    assert adata.obs[generate.TYPE].dtype == "category"
    assert [path.name for path in tmp_path.iterdir()] == ["atlas.h5ad"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("packed.h5ad", {"compression": "gzip"}),
        ("packed.h5ad", {"compression": "lzf"}),
        ("atlas.zarr", {"zarr_format": 2}),
        ("atlas.zarr", {"zarr_format": 3}),
    ],
)
def test_every_format_holds_the_same_cells(write, name, options):
    if name.endswith(".zarr"):
        pytest.importorskip("zarr", minversion="3")
    assert same(write(name, **options), write())


def test_a_file_opens_backed(write, tmp_path):
    X = write().X
    backed = anndata.read_h5ad(tmp_path / "atlas.h5ad", backed="r")
    assert (backed.X[100:200] != X[100:200]).nnz == 0
    backed.file.close()


@pytest.mark.parametrize("name", ["atlas.h5ad", "atlas.zarr"])
@pytest.mark.filterwarnings("ignore")
def test_a_file_opens_lazily(write, tmp_path, name):
    for package in ("dask", "xarray", "zarr"):
        pytest.importorskip(package)
    X = write(name).X
    lazy = anndata.experimental.read_lazy(tmp_path / name)
    assert (lazy.X[100:200].compute() != X[100:200]).nnz == 0


@pytest.mark.parametrize("density", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("n_genes", [300, 1700], ids=["fewer genes than real", "more"])
def test_density_is_as_asked_for(write, density, n_genes):
    adata = write(n_genes=n_genes, density=density)
    assert adata.n_vars == n_genes
    assert adata.X.nnz / np.prod(adata.shape) == pytest.approx(density, rel=0.1)


def test_the_seed_decides(write):
    first = write(seed=1)
    assert same(first, write(seed=1))
    assert not same(first, write(seed=2))


def test_fewer_cells_are_the_first_of_more(write):
    assert same(write(n_cells=170), write(n_cells=400)[:170].copy())


def test_no_two_cells_are_the_same(write):
    X = write(n_cells=1000).X.toarray()
    assert len(np.unique(X, axis=0)) == len(X)


def test_cells_are_nearest_to_their_own_type(write, real):
    adata = write(n_cells=500)
    copies = np.char.find(adata.var_names.to_numpy(str), "-copy-") >= 0
    assert copies.sum() == N_GENES - real.counts.shape[1]
    names = adata.obs[generate.TYPE].cat.codes.to_numpy()
    profiles = real.counts.toarray()
    centres = np.stack([profiles[real.types == kind].mean(axis=0) for kind in range(real.types.max() + 1)])
    X = adata.X.toarray()[:, ~copies]
    likeness = np.corrcoef(np.sqrt(X), np.sqrt(centres))[: len(X), len(X) :]  # (cells, types)
    assert normalized_mutual_info_score(names, likeness.argmax(axis=1)) > 0.8


def test_a_gene_and_its_copy_are_counted_in_different_cells(write):
    adata = write()
    copy = next(name for name in adata.var_names if name.endswith("-copy-1"))
    gene = copy.removesuffix("-copy-1")
    assert (adata[:, copy].X != adata[:, gene].X).nnz > 0


def test_thinning_is_binomial():
    kept, count, n = 0.3, 150, 4000  # more than the table covers
    counts = sparse.csr_array(np.full((1, 1), count, np.int32))
    near = np.zeros((1, generate.N_NEIGHBOURS), np.int32)
    real = generate.Real(counts, np.array(["gene"]), np.zeros(1, int), near, "one cell")
    recipe = generate.Recipe(np.zeros((1, 1), np.int32), 1, kept)
    rngs = np.random.default_rng(0).spawn(n // generate.CELLS_AT_ONCE)
    drawn = [generate.draw(real, recipe, np.zeros(generate.CELLS_AT_ONCE, int), rng).values for rng in rngs]
    values = np.concatenate(drawn)
    assert values.mean() == pytest.approx(count * kept, rel=0.01)
    assert values.var() == pytest.approx(count * kept * (1 - kept), rel=0.1)


def test_a_broken_run_leaves_what_was_there(write, tmp_path, monkeypatch):
    before = write()

    def broken(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(generate, "_in_order", broken)
    with pytest.raises(OSError, match="no space"):
        write(seed=5)
    assert [path.name for path in tmp_path.iterdir()] == ["atlas.h5ad"]
    assert same(before, anndata.read_h5ad(tmp_path / "atlas.h5ad"))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("atlas.csv", {}, r"path must end in \.h5ad or \.zarr, got 'atlas\.csv'"),
        ("atlas.h5ad", {"n_cells": 0}, "n_cells and n_genes must be at least 1, got 0 and 700"),
        ("atlas.h5ad", {"density": 1.0}, "density must be between 0 and 1, got 1.0"),
        ("atlas.h5ad", {"density": 0.99}, r"density must be at most 0\.\d+ .*, got 0.99"),
        ("atlas.h5ad", {"zarr_format": 1}, "zarr_format must be 2 or 3, got 1"),
        ("atlas.zarr", {"compression": "gzip"}, "compression must be None for zarr, which has its own, got 'gzip'"),
    ],
)
def test_what_cannot_be_written(write, monkeypatch, name, options, message):
    monkeypatch.setattr(generate, "MOST_PARTS", 4)
    with pytest.raises(ValueError, match=message):
        write(name, **options)


def test_the_command_says_what_it_wrote(tmp_path, real, monkeypatch, capsys):
    monkeypatch.setattr(generate, "real_cells", lambda: real)
    generate.main([str(tmp_path / "atlas.h5ad"), "--cells", "50", "--genes", "60", "--density", "0.1"])
    assert "50 cells x 60 genes" in capsys.readouterr().out


def test_cells_look_like_the_real_ones(tmp_path):
    """Of the real cells and genes: how their sizes spread, and which genes are seen often."""
    shared_file("data", "bmmc_aml_10x.h5ad")
    counts = generate.real_cells().counts
    n_real = counts.shape[1]
    write_atlas(tmp_path / "atlas.h5ad", 500, n_real, density=counts.nnz / np.prod(counts.shape))
    X = anndata.read_h5ad(tmp_path / "atlas.h5ad").X
    assert X.nnz / np.prod(X.shape) == pytest.approx(counts.nnz / np.prod(counts.shape), rel=0.1)
    sizes, real_sizes = np.diff(X.indptr), np.diff(counts.indptr)
    quartiles = [25, 50, 75]
    np.testing.assert_allclose(np.percentile(sizes, quartiles), np.percentile(real_sizes, quartiles), rtol=0.25)
    seen, really_seen = (np.bincount(each.indices, minlength=n_real) / each.shape[0] for each in (X, counts))
    assert np.corrcoef(seen, really_seen)[0, 1] > 0.95
