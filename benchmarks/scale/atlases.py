"""The atlases on disk, made where they are missing."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.harness.peers import Missing
from benchmarks.scale.generate import DENSITY, N_GENES, write_atlas
from benchmarks.scale.plan import short

# Bytes of a value in the largest of the formats, and how much more room there should be.
VALUE_BYTES, MARGIN = 8, 1.2


def path_of(folder: Path, cells: int, n_genes: int, kind: str) -> Path:
    """Where an atlas is; its name says what is in it."""
    genes = "" if n_genes == N_GENES else f"-{n_genes}-genes"
    return folder / f"atlas-{short(cells)}{genes}.{kind}"


def make(path: Path, cells: int, n_genes: int) -> None:
    """Make an atlas if it is not there; raises Missing where there is no room."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    needed, free = MARGIN * VALUE_BYTES * DENSITY * cells * n_genes, shutil.disk_usage(path.parent).free
    if needed > free:
        raise Missing(f"{path.name} needs {needed / 1e9:.0f} GB on disk, of which {free / 1e9:.0f} are free")
    write_atlas(path, cells, n_genes)
