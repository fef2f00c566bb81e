"""The matrices of the sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import atlas
from benchmarks.speed.races import full_length

RANKS = (8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Matrix:
    """Cells x genes, and the ranks that it is fitted at."""

    title: str
    load: Callable[[], Any]
    ranks: tuple[int, ...] = RANKS
    n_genes: int | None = None  # the budget of fits with one; None: there are none
    sparse: bool = False


def digits() -> np.ndarray:
    """Handwritten digits (1797, 64), as scikit-learn ships them."""
    from sklearn.datasets import load_digits

    return load_digits().data


MATRICES: dict[str, Matrix] = {
    "atlas-5k": Matrix("sparse, 5,000 x 5,000", partial(atlas.load, 5000, 5000), n_genes=2000, sparse=True),
    "atlas-20k": Matrix("sparse, 20,000 x 15,000", atlas.load, sparse=True),
    "digits": Matrix("dense, digits, 1,797 x 64", digits, ranks=(8, 16, 32, 64)),
    "pollen": Matrix("dense, Pollen, 301 cells", partial(full_length, "pollen")),
}

QUICK: dict[str, Matrix] = {
    "atlas-5k": Matrix("sparse, 400 x 300", partial(atlas.load, 400, 300), ranks=(3, 5), n_genes=60, sparse=True),
}


def matrices(quick: bool) -> dict[str, Matrix]:
    """All of them, or their tiny form."""
    return QUICK if quick else MATRICES
