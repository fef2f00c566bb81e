"""Catalogues of programs: the format of starCAT, and scores as it has them."""

from __future__ import annotations

import re

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls

import genesieve as gs
from genesieve import tl
from genesieve.io import FileError


@pytest.fixture(scope="module")
def fitted() -> ad.AnnData:
    adata = gs.datasets.programs("easy", n_cells=300, n_genes=400, n_types=3, n_activities=0, random_state=1)
    gs.pp.prepare(adata)
    tl.ssnmf(adata, 3, 80)
    return adata


def test_a_catalogue_reads_as_it_was_written(fitted, tmp_path):
    tl.write_catalogue(fitted, tmp_path / "a.tsv")
    table = tl.read_catalogue(tmp_path / "a.tsv")
    assert list(table.columns) == list(fitted.var_names[fitted.var["ssnmf_selected"]])
    assert (tmp_path / "a.tsv").read_text().startswith("\t")
    tl.write_catalogue(fitted, tmp_path / "b.txt", genes="all")
    np.testing.assert_allclose(tl.read_catalogue(tmp_path / "b.txt")[table.columns], table)


def test_scores_are_those_of_least_squares_on_genes_of_unit_variance(fitted, tmp_path):
    tl.write_catalogue(fitted, tmp_path / "a.tsv")
    table = tl.read_catalogue(tmp_path / "a.tsv")
    shares = tl.score_catalogue(fitted.copy(), table, layer="raw")
    X = pd.DataFrame(fitted.layers["raw"].toarray(), columns=fitted.var_names)[table.columns].to_numpy(dtype=float)
    X = X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    for cell in range(10):
        expected = nnls(table.to_numpy().T, X[cell])[0]
        np.testing.assert_allclose(shares.iloc[cell], expected / max(expected.sum(), 1e-300), atol=1e-6)


def test_a_fits_own_catalogue_finds_its_programs_again(fitted, tmp_path):
    tl.write_catalogue(fitted, tmp_path / "a.tsv")
    adata = fitted.copy()
    shares = tl.score_catalogue(adata, tmp_path / "a.tsv")
    own = fitted.obsm["X_ssnmf"]
    assert np.mean(shares.to_numpy().argmax(axis=1) == own.argmax(axis=1)) > 0.9
    np.testing.assert_allclose(adata.obsm["X_catalogue"], shares)
    adata.write_h5ad(tmp_path / "scored.h5ad")
    assert ad.read_h5ad(tmp_path / "scored.h5ad").obs["catalogue"].tolist() == adata.obs["catalogue"].tolist()


def test_names_of_a_catalogue_are_those_of_its_programs(fitted):
    table = pd.DataFrame(fitted.varm["ssnmf"].T, index=["Treg", "Th1", "unused"], columns=fitted.var_names)
    adata = fitted.copy()
    tl.score_catalogue(adata, table.assign(**{"not measured": 1.0}))
    assert list(adata.obs["catalogue"].cat.categories) == ["Treg", "Th1", "unused"]
    adata.obs["donor"] = np.arange(adata.n_obs).astype(str)
    adata.obs["donor"] = "d" + pd.Series(np.arange(adata.n_obs) % 4, index=adata.obs_names).astype(str)
    adata.obs["arm"] = np.where(np.arange(adata.n_obs) % 4 < 2, "a", "b")
    assert tl.compare(adata, "arm", "donor", key="catalogue")["program"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "must be a table of programs x genes with tabs"),
        ("\tA\tB\np\t1\tx\n", "must be a table of programs x genes with tabs"),
        ("\tA\tB\np\t1\t" + "x" * 5000, "must be a table of programs x genes with tabs"),
        ("\tA\tB\np\t1\t-2\n", "finite and not negative"),
        ("\tA\tB\np\t1\t2\np\t1\t2\n", "must name every program and gene once"),
        ("\tA\tA\np\t1\t2\n", "must name every program and gene once"),
        ("\tA\tB\tC\np\t1\t2\n", "4 names stand over 2 columns"),
        ("\tA\tB\np\t1\t2\x002\n", "zero byte"),
    ],
)
def test_a_file_that_is_no_catalogue_is_refused_in_a_line(tmp_path, text, match):
    (tmp_path / "bad.tsv").write_text(text)
    with pytest.raises(FileError, match=match) as error:
        tl.read_catalogue(tmp_path / "bad.tsv")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("corner", ["", "program\t"])
def test_names_in_a_catalogue_stay_as_they_are_written(tmp_path, corner):
    (tmp_path / "x.tsv").write_text(f"{corner}007\tNA\t1.0\nNA\t1\t2\t3\n1e3\t4\t5\t6\n")
    table = tl.read_catalogue(tmp_path / "x.tsv")
    assert (list(table.index), list(table.columns)) == (["NA", "1e3"], ["007", "NA", "1.0"])


def test_no_cell_of_a_catalogue_begins_as_a_formula_and_names_are_found_again(tmp_path):
    names = ["=1+1", "@SUM(A1)", "-2", "'=1", "a\tb", "a\nb", 'a"b', "CD3D;=1"]
    adata = ad.AnnData(np.random.default_rng(0).poisson(2.0, (30, len(names))), var=pd.DataFrame(index=names))
    adata.X = adata.X.astype(np.float32)
    tl.ssnmf(adata, 2, len(names), clusters=False)
    tl.write_catalogue(adata, tmp_path / "x.tsv")
    text = (tmp_path / "x.tsv").read_text()
    assert not any(cell.startswith(("=", "@", "-")) for cell in re.split(r'[\t\n";]', text))
    assert list(tl.read_catalogue(tmp_path / "x.tsv").columns) == names


def test_what_cannot_be_written_or_scored_is_refused(fitted, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.tsv or \.txt, as starCAT asks"):
        tl.write_catalogue(fitted, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match="must be a table of programs x genes, got no file there"):
        tl.read_catalogue(tmp_path / "none.tsv")
    other = pd.DataFrame([[1.0, 2.0]], ["p"], ["X1", "X2"])
    with pytest.raises(ValueError, match=r"adata must have at least 20 genes of the catalogue \(like X1, X2\), got 0"):
        tl.score_catalogue(fitted, other)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::UserWarning")
def test_cells_without_values_have_programs_of_nothing(tmp_path):
    adata = ad.AnnData(np.zeros((9, 5), dtype=np.float32))
    gs.tl.ssnmf(adata, 1, 2, clusters=False)
    gs.tl.write_catalogue(adata, tmp_path / "programs.tsv", genes="all")
    assert not gs.tl.read_catalogue(tmp_path / "programs.tsv").to_numpy().any()
