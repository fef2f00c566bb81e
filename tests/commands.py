"""Running the command in tests: as a process of its own, or within this one, as starting up costs most."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from genesieve.cli import main


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "genesieve", *map(str, arguments)]


def run_alone(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=600, check=False, cwd=cwd, encoding="utf-8"
    )


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The same within this process."""
    line, stdout, stderr = ["genesieve", *map(str, arguments)], io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd or Path.cwd()):
        patch.setattr(sys, "argv", line)
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code or 0
    return subprocess.CompletedProcess(line, code, stdout.getvalue(), stderr.getvalue())


def succeed(*arguments: object, cwd: Path | None = None, by=run) -> subprocess.CompletedProcess[str]:
    result = by(*arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result
