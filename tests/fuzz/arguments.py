"""Random command lines: they end with 0, 1 or 2, say why in one line, and leave nothing half-written."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np

from .campaign import FaultError
from .mutation import TOKENS, pick

COMMANDS = ("run", "run", "run", "select", "project", "panel", "enrich", "methods", "frobnicate", "--version", "")
NUMBERS = ("0", "-1", "1", "2", "3", "5", "1000000", "1.5", "nan", "inf", "1e9", "99999999999999999999", "two", "")
WORDS = (
    "auto",
    "rows",
    "columns",
    "log",
    "counts",
    "kind",
    "absent",
    "bcd",
    "palm",
    "exact",
    "argmax",
    "leiden",
    "paper",
)
LEFT_OUT = {
    "--dask",
    "--help",
    "-h",
    "--debug",
    "--checkpoint",
}  # those that wait for a network, or have tests of their own


@functools.cache
def _options(command: str) -> dict[str, bool]:
    """Options of a command, and whether they take a value."""
    import typer

    from genesieve.cli import app

    commands: Any = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    if command not in commands:
        return {"--rank": True}
    found = {}
    for option in commands[command].params:
        names = [name for name in option.opts if name.startswith("-")]
        if names and names[0] not in LEFT_OUT:
            found[names[0]] = not option.is_flag
    return found


def _material(folder: Path) -> None:
    """Small data, gene sets and a file that is none."""
    if (folder / "data.h5ad").exists():
        return
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(0.5, 1.0, (30, 2)) @ rng.gamma(0.5, 2.0, (2, 15)) + 0.1).astype(np.float32)
    adata = ad.AnnData(X, obs={"kind": ["a", "b", "c"] * 10})
    adata.var_names = [f"G{i}" for i in range(15)]
    adata.write_h5ad(folder / "data.h5ad")
    adata.to_df().to_csv(folder / "data.csv")
    (folder / "sets.gmt").write_text("A\tx\tG1\tG2\tG3\nB\tx\tG4\tG5\n")
    (folder / "no.h5ad").write_bytes(b"nothing")


def _draw(rng: np.random.Generator, folder: Path) -> list[str]:
    command = str(pick(rng, COMMANDS))
    files = [str(folder / name) for name in ("data.h5ad", "data.csv", "no.h5ad", "sets.gmt", "absent", "")]
    line = [command] if command else []
    if rng.random() < 0.85:
        line.append(str(pick(rng, files)))
    options = _options(command)
    for _ in range(int(rng.integers(1, 5))):
        name = str(pick(rng, list(options)))
        line.append(name)
        if options[name] and rng.random() < 0.95:
            line.append(str(pick(rng, (*NUMBERS, *NUMBERS, *WORDS, *files, *TOKENS))))
    if "--out" in options and rng.random() < 0.9:
        line += ["-o", str(folder / "out")]
    return [word.replace("\0", "") for word in line]  # which no shell can hand over


def arguments(seed: int, folder: Path) -> str:
    """One command line."""
    rng = np.random.default_rng([seed, 41])
    _material(folder)
    before = sorted(file.name for file in folder.iterdir())
    line = _draw(rng, folder)
    code, said = _run(line, folder)
    about = f"{line}: {code} {said[-600:]!r}"
    if code not in (0, 1, 2) or "Traceback" in said:
        raise FaultError(about)
    errors = [each for each in said.splitlines() if each.startswith(("error", "Error"))]
    if code and len(errors) != 1:
        raise FaultError(about)
    left = sorted(file.name for file in folder.iterdir() if file.name != "out")
    if left != [name for name in before if name != "out"] or (code and (folder / "out").exists()):
        raise FaultError(f"{about}; left {left}")
    shutil.rmtree(folder / "out", ignore_errors=True)
    return f"ended with {code}"


def _run(line: list[str], folder: Path) -> tuple[Any, str]:
    from genesieve.cli import main

    said, here = io.StringIO(), Path.cwd()
    sys.argv = ["genesieve", *line]
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            main()
    except SystemExit as end:
        return end.code or 0, said.getvalue()
    except BaseException as error:
        return repr(error), said.getvalue()
    finally:
        os.chdir(here)
    return 0, said.getvalue()
