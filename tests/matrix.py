"""The tests on every Python we support, and on both ends of our dependencies: ``python tests/matrix.py [NAME ...]``.

Each has an environment of its own in .venvs, made by uv and kept for the next time. A Python that is not on the machine
is said so and left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
LOWEST = "lowest"  # the oldest Python, with the lowest versions that pyproject.toml allows
NEWEST = "newest"  # the newest Python that is here
TESTS = ("-q", "-n", "auto", "--dist", "loadfile", "-m", "not slow")


def find(version: str) -> str | None:
    """An interpreter of this version: on the path, or among pyenv's."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *map(str, sorted(kept.glob(f"{version}.*/bin/python")))]
    return next((python for python in candidates if python and answers(python, version)), None)


def answers(python: str, version: str) -> bool:
    """Whether it starts at all: a shim of pyenv may stand for a Python that is not switched on."""
    asked = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], capture_output=True)
    return asked.stdout.decode().strip() == version


def install(name: str, python: str) -> Path:
    """The Python of an environment with genesieve from this folder and what its tests need."""
    folder = ROOT / ".venvs" / name
    environment = folder / "bin" / "python"
    if not environment.exists():
        uv("venv", "--quiet", "--python", python, str(folder))
    if name == LOWEST:  # of what we need, not of the tools that test it
        uv("pip", "install", "--quiet", "--python", str(environment), "--resolution", "lowest-direct", "-e", ".[dask]")
    uv("pip", "install", "--quiet", "--python", str(environment), "-e", ".[test]")
    return environment


def uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", *arguments], cwd=ROOT, check=True)


def passes(name: str, python: str, options: list[str]) -> bool:
    print(f"\n=== {name}: {python}", flush=True)
    environment = install(name, python)
    return subprocess.run([str(environment), "-m", "pytest", *TESTS, *options], cwd=ROOT, check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PYTHONS)}, {LOWEST}, {NEWEST}; all without")
    given, options = parser.parse_known_args()
    here = {version: python for version in PYTHONS if (python := find(version))}
    print(f"Not on this machine: {', '.join(set(PYTHONS) - set(here)) or 'none'}")
    pythons = {**here, LOWEST: here.get(PYTHONS[0])}
    newest = list(here)[-1:] or [NEWEST]
    names = [newest[0] if name == NEWEST else name for name in given.names or pythons]
    wanted = {name: python for name in names if (python := pythons.get(name))}
    failed = [name for name, python in wanted.items() if not passes(name, python, options)]
    sys.exit(f"Failed on: {', '.join(failed)}" if failed else None)


if __name__ == "__main__":
    main()
