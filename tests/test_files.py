"""A file is there whole or not at all, and looks like any other new one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from genesieve._checks import first_few, listing
from genesieve._files import hidden_beside, write_whole


def test_a_file_takes_its_place_once_it_is_whole(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with write_whole(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(TypeError), write_whole(path) as file:
        file.writelines([b"half", None])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="locks and signals of POSIX")
def test_what_a_killed_process_left_is_swept_by_the_next(tmp_path):
    path = tmp_path / "fit.npz"
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom genesieve._files import write_whole\n"
        "with write_whole(Path(sys.argv[1])) as file: os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    assert len(list(tmp_path.iterdir())) == 1
    with write_whole(path) as first, write_whole(path) as beside:  # neither takes what the other is writing
        first.write(b"first")
        beside.write(b"beside")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_mode_of_any_new_one(tmp_path):
    (tmp_path / "plain").touch()
    with write_whole(tmp_path / "whole"):
        pass
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_hidden_names_differ(tmp_path):
    names = {hidden_beside(tmp_path / "a", "part") for _ in range(20)}
    assert len(names) == 20
    assert all(name.parent == tmp_path and name.name.startswith(".a.") for name in names)


def test_names_in_errors_are_cut_where_they_get_many():
    assert listing(["a", 2]) == "'a', '2'"
    assert listing(range(12)).endswith("'9' and 2 more")
    assert first_few(range(3)) == "0, 1, 2"
    assert first_few(range(4)) == "0, 1, 2, ..."
    assert first_few([]) == listing([]) == ""


def test_a_folder_that_is_not_there_is_named(tmp_path):
    told = r"table\.tsv must be in a folder that exists, got none at .*none$"
    with pytest.raises(FileNotFoundError, match=told), write_whole(tmp_path / "none" / "table.tsv"):
        pass


FULL = """
import resource, sys
from pathlib import Path
import numpy as np
from genesieve.datasets import synthetic
from genesieve.workflow.outputs import write_object
import anndata

data = synthetic(random_state=0)
adata, folder = anndata.AnnData(np.asarray(data.X)), Path(sys.argv[1])
write_object(adata, folder / "whole.h5ad")
size, most = (folder / "whole.h5ad").stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]
ends = []
for room in (*range(0, size, size // 12), size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, most))
    try:
        write_object(adata, folder / "part.h5ad")
        ends.append("written")
    except OSError as error:
        ends.append(error.strerror)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
assert set(ends[:-1]) == {"File too large"}, ends
assert ends[-1] == "written", ends
np.testing.assert_array_equal(anndata.read_h5ad(folder / "part.h5ad").X, adata.X)
"""


def test_hdf5_goes_on_after_a_file_that_had_no_room(tmp_path):
    pytest.importorskip("resource")
    ended = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr  # libraries may warn there
