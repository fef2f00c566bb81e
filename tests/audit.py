"""``make audit``: what genesieve needs has no known weakness; no network is asked.

Against packaging/advisories.toml: the versions that are installed, of all that genesieve needs itself or through
others, and the lowest that pyproject.toml allows. Every dependency must have a lower bound, and what is installed must
fit together, as `pip check` would have it.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
LIST = tomllib.loads((ROOT / "packaging" / "advisories.toml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def needed(name: str = "genesieve", extras: frozenset[str] = frozenset({"dask"})) -> dict[str, list[Requirement]]:
    """Every package that is needed, with what others ask of it."""
    found: dict[str, list[Requirement]] = {}
    todo, seen = [(name, extras)], set()
    while todo:
        name, extras = todo.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            asked = requires(name) or []
        except PackageNotFoundError:
            continue  # told by `misfits`
        for line in asked:
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
                found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
                todo.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return found


def misfits(packages: dict[str, list[Requirement]]) -> Iterator[str]:
    """What is missing, or not of a version that is asked for."""
    for name, asked in sorted(packages.items()):
        try:
            version = distribution(name).version
        except PackageNotFoundError:
            yield f"{name} is not installed"
            continue
        for requirement in asked:
            if not requirement.specifier.contains(version, prereleases=True):
                yield f"{name} {version} does not fit {requirement}"


def weak(versions: dict[str, str], advisories: list[dict[str, Any]]) -> Iterator[str]:
    """Versions with a known weakness that is not accepted."""
    for advisory in advisories:
        version = versions.get(canonicalize_name(advisory["package"]))
        if version is not None and Version(version) < Version(advisory["fixed"]) and "accepted" not in advisory:
            name, fixed = advisory["package"], advisory["fixed"]
            yield f"{name} {version} has {advisory['id']}, {advisory['about']}, until {fixed}"


def lowest(requirements: list[str]) -> dict[str, str]:
    """The lower bounds of dependencies, 0 where there is none."""
    bounds = {}
    for line in requirements:
        requirement = Requirement(line)
        found = [part.version for part in requirement.specifier if part.operator in (">=", "==", "~=")]
        bounds[canonicalize_name(requirement.name)] = max(found, key=Version, default="0")
    return bounds


def findings() -> list[str]:
    """All that is wrong."""
    packages = needed()
    installed = {name: distribution(name).version for name in packages if name not in _missing(packages)}
    direct = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dask"]
    bounds = lowest(direct)
    unbounded = [f"{name} has no lower bound in pyproject.toml" for name, bound in bounds.items() if bound == "0"]
    allowed = [f"pyproject.toml allows {line}" for line in weak(bounds, LIST["advisory"])]
    return [*misfits(packages), *weak(installed, LIST["advisory"]), *unbounded, *allowed]


def _missing(packages: dict[str, list[Requirement]]) -> set[str]:
    return {line.split()[0] for line in misfits(packages) if line.endswith("is not installed")}


if __name__ == "__main__":
    found = findings()
    print(f"{len(needed())} packages against {len(LIST['advisory'])} advisories as of {LIST['checked']}")
    print("\n".join(found) or "no known weakness")
    sys.exit(bool(found))
