"""Counts with known programs: the suggested numbers beside the true ones, and peers' numbers on the same cells."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness.results import Record
from benchmarks.selection import peers

LEVELS = ("easy", "medium", "hard")
SHAPES = ((5, 0), (8, 1), (12, 2), (20, 3))  # types and activities


def ours(level: str, types: int, activities: int, seed: int, size: dict[str, Any]) -> Record:
    """The numbers that genesieve suggests."""
    import genesieve as gs

    adata = drawn(level, types, activities, seed, size)
    began = time.process_time()
    gs.tl.select(adata, random_state=0)
    seconds = time.process_time() - began
    found = adata.uns["ssnmf_select"]
    suggested = found["suggested"]
    raised = int(np.asarray(adata.varm["true_raised"]).any(axis=1).sum())
    return {
        "true_rank": types + activities,
        "rank": int(suggested["n_components"]),
        "true_genes": raised,
        "genes": int(suggested["n_genes"]),
        "signals": {name: int(number) for name, number in found["signals"].items()},
        "table": {name: found["table"][name].tolist() for name in ("size", "agreement")},
        "cpu_seconds": seconds,
        "cells_and_genes": list(adata.shape),
    }


def of_peer(peer: str, level: str, types: int, activities: int, seed: int, size: dict[str, Any]) -> Record:
    """The number by a peer's rule."""
    return peers.measure(peer, drawn(level, types, activities, seed, size), types + activities)


def drawn(level: str, types: int, activities: int, seed: int, size: dict[str, Any]) -> Any:
    """Prepared counts with their truth."""
    import genesieve as gs

    adata = gs.datasets.programs(level, n_types=types, n_activities=activities, random_state=seed, **size)
    gs.pp.prepare(adata)
    return adata
