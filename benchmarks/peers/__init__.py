"""The peers: one short file each. A peer that cannot be imported is skipped with its reason."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import cast

from benchmarks.protocol import Peer

NAMES = (
    "genesieve_nmf",
    "sklearn_cd",
    "sklearn_minibatch",
    "rcppml",
    "nmf_torch",
    "genesieve_l20",
    "palm",
    "mapalm",
)


def get(name: str) -> Peer:
    """The peer of that name."""
    return cast(Peer, import_module(f"benchmarks.peers.{name}"))


def missing_module(module: str, package: str) -> str | None:
    """Why a Python peer cannot run, if so."""
    return None if find_spec(module) else f"{package} is not installed"


def package_versions(*packages: str) -> dict[str, str]:
    """Versions of installed packages."""
    return {package: version(package) for package in packages}
