"""Where tests find the numbers of the published runs, and the data sets that do not ship with the project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import anndata
import pytest
from anndata import AnnData

import genesieve as gs
from genesieve.paper.printed import NAMES

# Numbers of the published runs, which ship with the tests.
PUBLISHED = Path(__file__).resolve().parent / "data"
SYNTHETIC = PUBLISHED / "synthetic.npz"
SYNTHETIC_NMI = PUBLISHED / "synthetic_nmi.json"
# Data sets too large to ship, and the paper's text: beside the project, where somebody has put them there.
SHARED = Path(__file__).resolve().parents[2] / "shared"
DEMO = "demo"
# The methods, as the published runs spell them.
REFERENCE_NAMES = {method: name.replace("_lc0", "_CL0").replace("_l", "_L") for method, name in NAMES.items()}


def shared_file(*parts: str) -> Path:
    """A file that stands beside the project, or a skip."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"not beside the project: shared/{'/'.join(parts)}")
    return path


def data_sets_here(names: Iterable[str]) -> list[str]:
    """The data sets that a test can be repeated for: scanpy's small one, and those that stand beside the project."""
    return [DEMO, *(name for name in names if (SHARED / "data" / f"{name}.h5ad").exists())]


def read_data_set(name: str) -> AnnData:
    return gs.datasets.demo() if name == DEMO else anndata.read_h5ad(shared_file("data", f"{name}.h5ad"))


def skip_unless_all_here(names: Iterable[str]) -> None:
    """Say once, not once a data set, that a law was not tried on all of them."""
    for name in names:
        shared_file("data", f"{name}.h5ad")
