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
FILES = ("data.h5ad", "data.csv", "no.h5ad", "sets.gmt", "absent", "")
# Lines that end well as they are; so many of all begin as one of them.
SENSIBLE = 0.4
RUN = ("run", "{folder}/data.h5ad", "-r", "2", "-k", "6", "--min-cells", "2", "--no-figures")
WORKING: dict[str, tuple[str, ...]] = {
    "run": RUN,
    "select": ("select", "{folder}/data.h5ad", "--min-cells", "2"),
    "panel": ("panel", "{folder}/data.h5ad", "--genes", "4"),
}
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
    """A line of anything, or one that works, with one option more."""
    if rng.random() < SENSIBLE:
        command = str(pick(rng, list(WORKING)))
        line = [word.format(folder=folder) for word in WORKING[command]]
        return line + _option(rng, command, folder) + ["-o", str(folder / "out")]
    command = str(pick(rng, COMMANDS))
    line = [command] if command else []
    if rng.random() < 0.85:
        line.append(str(folder / str(pick(rng, FILES))))
    for _ in range(int(rng.integers(1, 5))):
        line += _option(rng, command, folder)
    if "--out" in _options(command) and rng.random() < 0.9:
        line += ["-o", str(folder / "out")]
    return line


def _option(rng: np.random.Generator, command: str, folder: Path) -> list[str]:
    """One option of a command, and a value if it takes one."""
    options = _options(command)
    name = str(pick(rng, list(options)))
    if not options[name] or rng.random() < 0.05:
        return [name]
    value = str(pick(rng, (*NUMBERS, *NUMBERS, *WORDS, *(str(folder / file) for file in FILES), *TOKENS)))
    return [name, value.replace("\0", "")]  # which no shell can hand over


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
