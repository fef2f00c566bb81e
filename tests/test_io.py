from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import mmwrite

from genesieve.io import FileError, RequestError, open_in_file, read
from genesieve.workflow.provenance import fingerprint

GENES = ["A,1", 'say "x"', "<b>", "ä°", "007", "NA", "G7"]
CELLS = [f"cell {number}" for number in range(5)]


@pytest.fixture
def data() -> ad.AnnData:
    X = np.random.default_rng(0).poisson(1.0, (len(CELLS), len(GENES))).astype(np.float32)
    X[0, 0] = 3
    return ad.AnnData(sparse.csr_matrix(X), obs=pd.DataFrame(index=CELLS), var=pd.DataFrame(index=GENES))


def write_tenx_h5(data: ad.AnnData, path: Path) -> None:
    with h5py.File(path, "w") as file:
        matrix = file.create_group("matrix")
        matrix["data"], matrix["indices"], matrix["indptr"] = data.X.data, data.X.indices, data.X.indptr
        matrix["shape"] = np.array(data.shape[::-1])
        matrix["barcodes"] = np.array(data.obs_names, dtype="S")
        features = matrix.create_group("features")
        names = np.array([name.encode() for name in data.var_names])
        features["id"] = features["name"] = names
        features["feature_type"] = np.array([b"Gene Expression"] * data.n_vars)
        features["genome"] = np.array([b"GRCh38"] * data.n_vars)


def write_mtx(data: ad.AnnData, folder: Path, *, zipped: bool, features: str = "features", prefix: str = "") -> None:
    folder.mkdir()
    opener, suffix = (gzip.open, ".gz") if zipped else (open, "")
    with opener(folder / f"{prefix}matrix.mtx{suffix}", "wb") as file:
        mmwrite(file, sparse.coo_matrix(data.X.T.astype(int)))
    with opener(folder / f"{prefix}{features}.tsv{suffix}", "wt", encoding="utf-8") as file:
        file.writelines(f"ENSG{i}\t{name}\tGene Expression\n" for i, name in enumerate(data.var_names))
    with opener(folder / f"{prefix}barcodes.tsv{suffix}", "wt", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in data.obs_names)


def test_all_formats_hold_the_same_data(data, tmp_path):
    data.write_h5ad(tmp_path / "a.h5ad")
    data.write_h5ad(tmp_path / "b.h5")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.write_zarr(tmp_path / "c.zarr")
    write_mtx(data, tmp_path / "e", zipped=True)
    write_mtx(data, tmp_path / "f", zipped=False, features="genes", prefix="GSM1_")
    table = pd.DataFrame(data.X.toarray(), index=CELLS, columns=GENES)
    table.to_csv(tmp_path / "g.csv")
    table.T.to_csv(tmp_path / "h.tsv.gz", sep="\t")
    expected = fingerprint(data, data.X)
    for path in sorted(tmp_path.iterdir()):
        cells_in = {"g.csv": "rows", "h.tsv.gz": "columns"}.get(path.name)
        found = read(path, cells_in=cells_in)
        assert list(found.var_names) == GENES, path
        assert list(found.obs_names) == CELLS, path
        assert fingerprint(found, found.X) == expected, path


def test_10x_h5_holds_the_same_data(data, tmp_path):
    data.var_names = data.var_names.str.encode("ascii", "replace").str.decode("ascii")  # scanpy's reader knows no other
    write_tenx_h5(data, tmp_path / "d.h5")
    found = read(tmp_path / "d.h5")
    assert fingerprint(found, found.X) == fingerprint(data, data.X)


def test_the_fingerprint_follows_values_and_names_alone(data):
    expected = fingerprint(data, data.X)
    with_zeros = data.X.copy()
    with_zeros.data[0] = 0
    dense = with_zeros.toarray()
    assert fingerprint(data, dense) == fingerprint(data, with_zeros) == fingerprint(data, dense.astype(np.float64))
    assert fingerprint(data, dense) != expected
    renamed = data.copy()
    renamed.obs_names = [*CELLS[:-1], "other"]
    assert fingerprint(renamed, renamed.X) != expected


def test_repeated_symbols_of_10x_are_told_apart(data, tmp_path):
    data.var_names = ["G", "G", *GENES[2:]]
    write_mtx(data, tmp_path / "twice", zipped=True)
    assert list(read(tmp_path / "twice").var_names[:2]) == ["G", "G-1"]


def test_a_table_needs_its_orientation_and_shows_what_it_has(data, tmp_path):
    pd.DataFrame(data.X.toarray(), index=CELLS, columns=GENES).to_csv(tmp_path / "t.csv")
    with pytest.raises(RequestError, match=r"5 rows \(cell 0, cell 1, cell 2, \.\.\.\) and 7 columns"):
        read(tmp_path / "t.csv")


def test_a_table_of_r_has_a_header_without_a_corner(tmp_path):
    (tmp_path / "r.tsv").write_text("c1\tc2\nGENE1\t1\t2\nGENE2\t0\t3\n")
    found = read(tmp_path / "r.tsv", cells_in="columns")
    assert (list(found.obs_names), list(found.var_names)) == (["c1", "c2"], ["GENE1", "GENE2"])
    np.testing.assert_array_equal(found.X.toarray(), [[1, 0], [2, 3]])


def bad_files(folder: Path, data: ad.AnnData) -> dict[str, tuple[Path, str]]:
    """Files that cannot be read, and what the error must say."""
    paths = {
        name: folder / name for name in ("empty.h5ad", "text.h5ad", "cut.h5ad", "words.csv", "blank.csv", "other.h5")
    }
    paths["empty.h5ad"].write_bytes(b"")
    paths["text.h5ad"].write_text("not HDF5 at all")
    data.write_h5ad(folder / "whole.h5ad")
    paths["cut.h5ad"].write_bytes((folder / "whole.h5ad").read_bytes()[:3000])
    paths["words.csv"].write_text("name,G1,G2\nc1,1,many\n")
    paths["blank.csv"].write_text("name,G1,G2\nc1,1,\n")
    with h5py.File(paths["other.h5"], "w") as file:
        file["something"] = [1, 2]
    (folder / "cut.csv.gz").write_bytes(gzip.compress(b"name,G1\nc1,1\n" * 100)[:30])
    (folder / "nothing").mkdir()
    write_mtx(data, folder / "misfit", zipped=False)
    (folder / "misfit" / "barcodes.tsv").write_text("only one\n")
    (folder / "broken.zarr").mkdir()
    (folder / "broken.zarr" / "zarr.json").write_text("{")
    says = {
        "empty.h5ad": "an empty file",
        "text.h5ad": "not HDF5",
        "cut.h5ad": "cut.h5ad must be",
        "words.csv": "'G2'",
        "blank.csv": "'G2'",
        "other.h5": "a 10x matrix",
        "cut.csv.gz": "a table of numbers",
        "nothing": "got no files",
        "misfit": "1 barcodes",
        "broken.zarr": "an AnnData in zarr",
    }
    return {name: (folder / name, text) for name, text in says.items()}


def test_bad_files_give_one_line_that_names_them(data, tmp_path):
    for name, (path, says) in bad_files(tmp_path, data).items():
        with pytest.raises(FileError) as caught:
            read(path, cells_in="rows")
        message = str(caught.value)
        assert name in message, message
        assert says in message, message
        assert "\n" not in message


def test_names_that_say_no_format_are_refused(tmp_path):
    for name, says in {"a.rds": ".h5ad", "matrix.mtx": "the folder"}.items():
        (tmp_path / name).write_text("")
        with pytest.raises(RequestError, match=says):
            read(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="nothing there"):
        read(tmp_path / "absent.h5ad")
    with pytest.raises(ValueError, match="cells_in must be 'rows' or 'columns'"):
        read(tmp_path / "a.rds", cells_in="top")


def test_loom_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("genesieve.io.find_spec", lambda name: None)
    (tmp_path / "a.loom").write_bytes(b"")
    with pytest.raises(FileError, match="pip install loompy"):
        read(tmp_path / "a.loom")


@pytest.mark.parametrize(("kind", "line"), [("integer", "1 4 1.5"), ("integer", "1 4 1_000"), ("real", "1 4 1.5x")])
def test_a_line_of_an_mtx_file_that_would_be_read_in_part_is_refused(tmp_path, kind, line):
    text = f"%%MatrixMarket matrix coordinate {kind} general\n% by hand\n3 4 2\n2 2 1\n{line}\n"
    (tmp_path / "matrix.mtx").write_text(text)
    (tmp_path / "features.tsv").write_text("a\nb\nc\n")
    (tmp_path / "barcodes.tsv").write_text("1\n2\n3\n4\n")
    with pytest.raises(FileError, match=r"matrix.mtx, line 5 must be a row, a column and a"):
        read(tmp_path)
    (tmp_path / "matrix.mtx").write_text(text.replace(line, "1   4\t7") + "\n")  # other spaces are no damage
    assert read(tmp_path).X.toarray().tolist()[3] == [7.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [("c,A,B\nx,1,2\ny,3\n", "other things in column 'B'"), ("c,A,B\nx,1,2\0\n", "zero byte at 11")],
)
def test_a_table_that_would_be_filled_up_or_cut_is_refused(tmp_path, text, says):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(FileError, match=says):
        read(tmp_path / "x.csv", cells_in="rows")


def test_a_long_name_is_cut_in_an_error(tmp_path):
    (tmp_path / "x.csv").write_text(f"c,{'x' * 5000}\na,b\n")
    with pytest.raises(FileError, match="other things in column 'xxx") as caught:
        read(tmp_path / "x.csv", cells_in="rows")
    assert len(str(caught.value)) < 500


def test_a_file_that_cannot_be_read_in_place_is_closed(data, tmp_path):
    data.write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "a") as file:
        del file["obs"]
    with pytest.raises(FileError) as caught:
        open_in_file(tmp_path / "x.h5ad")
    h5py.File(tmp_path / "x.h5ad", "a").close()  # which HDF5 refuses for a file that is open
    assert caught.value


@pytest.mark.parametrize("word", ["9223372036854775808", "0.30000000000000004", "123456789.123456789", "1e-300"])
def test_numbers_of_a_table_are_read_to_the_last_digit(tmp_path, word):
    path = tmp_path / "table.csv"
    path.write_text(f"cell,G0,G1\nc0,1.5,0\nc1,{word},2\n")
    assert read(path, cells_in="rows").X[1, 0] == float(word)
