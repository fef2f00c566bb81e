"""The methods: one short file each. One that cannot be imported is skipped with its reason."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from benchmarks.quality.protocol import Peer

NAMES = (
    "genesieve",
    "genesieve_kmeans",
    "genesieve_graph",
    "leiden_pca",
    "leiden_default",
    "kmeans",
    "kmeans_l0",
    "kmeans_l1",
    "sklearn_nmf",
    "cnmf",
    "nmf_l20",
    "onmf_l20",
    "onmf_l20_rho",
    "genesieve_single",
)


def get(name: str) -> Peer:
    """The method of that name."""
    return cast(Peer, import_module(f"benchmarks.quality.peers.{name}"))


def of_group(*groups: str) -> list[str]:
    """Names of the methods of some groups, in order."""
    return [name for name in NAMES if get(name).GROUP in groups]
