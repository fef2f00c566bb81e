"""genesieve: cells in, programs and the genes that carry them out."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genesieve import datasets, io, metrics, pl, pp, tl
    from genesieve._report import report
    from genesieve.estimators.methods import METHODS
    from genesieve.estimators.sparse_kmeans import SparseKMeans
    from genesieve.estimators.ssnmf import SSNMF

__version__ = _version("genesieve")
__all__ = ["METHODS", "SSNMF", "SparseKMeans", "__version__", "datasets", "io", "metrics", "pl", "pp", "report", "tl"]

# Where each public name lives. They load when first used, so that `import genesieve` costs next to nothing.
_HOMES = {
    "METHODS": ("genesieve.estimators.methods", "METHODS"),
    "SSNMF": ("genesieve.estimators.ssnmf", "SSNMF"),
    "SparseKMeans": ("genesieve.estimators.sparse_kmeans", "SparseKMeans"),
    "datasets": ("genesieve.datasets", None),
    "io": ("genesieve.io", None),
    "metrics": ("genesieve.metrics", None),
    "pl": ("genesieve.pl", None),
    "pp": ("genesieve.pp", None),
    "report": ("genesieve._report", "report"),
    "tl": ("genesieve.tl", None),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'genesieve' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value = import_module(module) if attribute is None else getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
