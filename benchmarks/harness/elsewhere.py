"""Peers that need an interpreter of their own: a variable of the environment names the Python that has them."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

from benchmarks.harness.peers import Missing, Versions


def run_python(variable: str, *arguments: str) -> str:
    """What that Python prints."""
    return _run(_python(variable), *arguments)


def installed_there(variable: str, package: str, module: str | None = None) -> Versions:
    """The version of a package that this Python may lack."""

    def versions() -> dict[str, str]:
        found = _version(_python(variable), package, module or package)
        if found is None:
            raise Missing(f"{package} is not installed ({variable} may name a Python that has it)")
        return {package: found}

    return versions


def _python(variable: str) -> str:
    return os.environ.get(variable, sys.executable)


def _run(python: str, *arguments: str) -> str:
    """Isolated, as a file here may have the name of a package there."""
    done = subprocess.run([python, "-I", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{python} failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


@cache
def _version(python: str, package: str, module: str) -> str | None:
    ask = f"import {module}; from importlib.metadata import version; print(version({package!r}))"
    try:
        return _run(python, "-c", ask).strip().splitlines()[-1]
    except (OSError, RuntimeError):
        return None
