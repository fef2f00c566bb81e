"""The output folder after runs that were killed, and where it cannot be replaced itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from genesieve.workflow import folder
from genesieve.workflow.folder import read_record, staged, write_record

KILLED = """
import os, signal, sys
from pathlib import Path
from genesieve.workflow.folder import staged
with staged(Path(sys.argv[1])) as stage:
    (stage / "half.csv").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
posix = pytest.mark.skipif(sys.platform == "win32", reason="locks and signals of POSIX")


def write_result(out: Path, text: str, *, force: bool = False) -> None:
    with staged(out, force=force) as stage:
        (stage / "figures").mkdir()
        (stage / "figures" / f"{text}.png").write_text(text)
        (stage / "cells.csv").write_text(text)
        write_record(stage, {"genesieve": text})


def names(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


@posix
def test_what_a_killed_run_left_is_swept_by_the_next(tmp_path):
    out = tmp_path / "out"
    assert subprocess.run([sys.executable, "-c", KILLED, out], check=False).returncode == -9
    assert len(names(tmp_path)) == 1
    for other in (".out.notes.partial", ".out.0123456.partial", ".other.01234567.partial"):
        (tmp_path / other).mkdir()
    write_result(out, "new")
    assert names(tmp_path) == {"out", ".out.notes.partial", ".out.0123456.partial", ".other.01234567.partial"}


@posix
def test_a_run_beside_is_left_alone(tmp_path):
    out = tmp_path / "out"
    with staged(out) as first:
        (first / "cells.csv").write_text("first")
        (tmp_path / ".out.01234567.old").mkdir()
        write_result(out, "second")
        assert (first / "cells.csv").read_text() == "first"
        assert (tmp_path / ".out.01234567.old").exists()
        (out / "cells.csv").unlink()
        for file in (*out.glob("figures/*"), out / "figures", out / "run.json"):
            file.rmdir() if file.is_dir() else file.unlink()
    assert (out / "cells.csv").read_text() == "first"


@posix
def test_a_result_that_was_about_to_be_replaced_comes_back(tmp_path):
    out = tmp_path / "out"
    write_result(out, "old")
    out.rename(tmp_path / ".out.01234567.old")
    (tmp_path / ".out.89abcdef.partial").mkdir()
    with pytest.raises(ZeroDivisionError), staged(out, force=True):
        1 / 0  # noqa: B018
    assert read_record(out)["genesieve"] == "old"
    assert names(tmp_path) == {"out"}


@pytest.fixture
def mounted(tmp_path, monkeypatch) -> Path:
    """A folder that cannot be replaced: mounted where the tests may do so, else said to be."""
    out = tmp_path / "mounted here"
    out.mkdir()
    real = (
        sys.platform == "linux"
        and not subprocess.run(["mount", "--bind", out, out], check=False, capture_output=True).returncode
    )
    if not real:
        monkeypatch.setattr(folder, "_must_stay", lambda path: path == out.resolve())
    yield out
    if real:
        subprocess.run(["umount", out], check=True)


def test_a_mount_point_is_filled(mounted):
    assert folder._must_stay(mounted)
    write_result(mounted, "old")
    assert names(mounted) == {"figures", "cells.csv", "run.json"}
    write_result(mounted, "new", force=True)
    assert names(mounted) == {"figures", "cells.csv", "run.json"}
    assert names(mounted / "figures") == {"new.png"}
    assert names(mounted.parent) == {mounted.name}


def test_what_fails_in_a_mount_point_leaves_what_was_there(mounted, monkeypatch):
    write_result(mounted, "old")
    with pytest.raises(ZeroDivisionError), staged(mounted, force=True):
        1 / 0  # noqa: B018
    move = folder.os.replace

    def fail_at_the_record(source, target):
        if Path(target) == mounted.resolve() / "run.json" and Path(source).parent.suffix == ".partial":
            raise OSError("no space left")
        move(source, target)

    monkeypatch.setattr(folder.os, "replace", fail_at_the_record)
    with pytest.raises(OSError, match="no space"):
        write_result(mounted, "new", force=True)
    assert read_record(mounted)["genesieve"] == "old"
    assert (mounted / "cells.csv").read_text() == "old"
    assert names(mounted) == {"figures", "cells.csv", "run.json"}
    assert names(mounted / "figures") == {"old.png"}


@posix
def test_a_mount_point_is_mended_after_a_kill(mounted):
    write_result(mounted, "old")
    old = mounted / f".{mounted.name}.01234567.old"
    old.mkdir()
    for name in ("run.json", "cells.csv"):
        (mounted / name).rename(old / name)
    (mounted / f".{mounted.name}.89abcdef.partial").mkdir()
    write_result(mounted, "new", force=True)
    assert names(mounted) == {"figures", "cells.csv", "run.json"}
    assert names(mounted / "figures") == {"new.png"}


def test_any_other_folder_can_be_replaced(tmp_path):
    assert not folder._must_stay(tmp_path)
    assert not folder._must_stay(tmp_path / "nothing")
