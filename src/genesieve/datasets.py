"""The paper's synthetic data sets, and a small real one for trying things out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genesieve._random import as_generator

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["OUTLIER_LABEL", "Synthetic", "demo", "synthetic", "synthetic_outliers"]

N_CELLS = 60
N_GENES = 500
CELLS_PER_CLASS = 20
NOISE = 0.9  # standard deviation of the background, as the paper prints it

# Signal genes of each class, half open. Neighbouring classes share thirty genes.
CLASS_GENES = ((0, 60), (30, 90), (60, 120))

OUTLIER_LABEL = 2
"""The label of the pure-noise cells of `synthetic_outliers`."""

RandomState = int | np.random.Generator | np.random.RandomState | None


class Synthetic(NamedTuple):
    """A synthetic data set with its known classes."""

    X: NDArray[np.float64]
    """Cells x genes, non-negative."""
    labels: NDArray[np.int64]
    """The class of every cell: 0, 1 or 2."""


def synthetic(*, mean: float = 1.0, random_state: RandomState = None) -> Synthetic:
    """Draw the paper's first synthetic set: three classes of 20 cells on 500 genes, 120 of them informative.

    Cells of class 0, 1 and 2 carry signal on genes 0-59, 30-89 and 60-119. Signal entries are ``|N(mean, 1)|``, all
    others ``|0.9 N(0, 1)|``.

    Parameters
    ----------
    mean
        Mean of the signal entries before the absolute value. The paper's text prints N(0, 1), a misprint: its figures
        and published runs have mean 1, and with mean 0 signal and background differ by their spread alone (1 against
        0.9), so that there is next to nothing to find.
    random_state
        A seed, a `numpy.random.Generator` or `numpy.random.RandomState` to draw from, or None for a fresh draw.

    Returns
    -------
    Synthetic
        ``X`` (60 cells x 500 genes, float64) and ``labels``.

    Examples
    --------
    >>> X, labels = synthetic(random_state=0)
    >>> X.shape, [int(size) for size in np.bincount(labels)]
    ((60, 500), [20, 20, 20])
    """
    return _draw(CLASS_GENES, mean, random_state)


def synthetic_outliers(*, mean: float = 1.0, random_state: RandomState = None) -> Synthetic:
    """Draw the paper's second synthetic set: two classes of 20 cells, and 20 outlier cells of background alone.

    The classes are the first two of `synthetic`, on 90 informative genes. The outliers are the last 20 cells, and their
    label is `OUTLIER_LABEL` (2).

    Parameters
    ----------
    mean
        Mean of the signal entries before the absolute value; see `synthetic` for the paper's misprint.
    random_state
        A seed, a `numpy.random.Generator` or `numpy.random.RandomState` to draw from, or None for a fresh draw.

    Returns
    -------
    Synthetic
        ``X`` (60 cells x 500 genes, float64) and ``labels``.

    Examples
    --------
    >>> _, labels = synthetic_outliers(random_state=0)
    >>> int((labels == OUTLIER_LABEL).sum())
    20
    """
    return _draw(CLASS_GENES[:OUTLIER_LABEL], mean, random_state)


def demo() -> AnnData:
    """Load 700 blood cells with known types, bundled with scanpy: nothing is downloaded.

    These are scanpy's ``pbmc68k_reduced`` cells. scanpy keeps scaled values, negative in part, in ``X``; here ``X``
    holds the log-normalised ones that it keeps in ``raw``.

    Returns
    -------
    AnnData
        700 cells x 765 genes, CSR float32, the cell types in ``obs["cell_type"]``.

    Examples
    --------
    >>> adata = demo()
    >>> adata.shape, adata.obs["cell_type"].nunique()
    ((700, 765), 10)
    """
    import scanpy as sc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on how the bundled file was written are not for the caller
        adata = sc.datasets.pbmc68k_reduced().raw.to_adata()
    adata.obs = adata.obs.rename(columns={"bulk_labels": "cell_type"})
    adata.uns["cell_type_colors"] = adata.uns.pop("bulk_labels_colors")  # scanpy looks colours up by column name
    return adata


def _draw(class_genes: tuple[tuple[int, int], ...], mean: float, random_state: RandomState) -> Synthetic:
    if not np.isfinite(mean):
        raise ValueError(f"mean must be a finite number, got {mean!r}")
    rng = as_generator(random_state)
    X = rng.normal(0.0, NOISE, size=(N_CELLS, N_GENES))  # (cells, genes)
    labels = np.arange(N_CELLS) // CELLS_PER_CLASS
    for label, (first, stop) in enumerate(class_genes):
        X[labels == label, first:stop] = rng.normal(mean, 1.0, size=(CELLS_PER_CLASS, stop - first))
    return Synthetic(np.abs(X), labels)
