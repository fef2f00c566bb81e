"""The paper's synthetic data sets, counts with known programs, and a small real set for trying things out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from genesieve import _planted
from genesieve._checks import check_choice, check_integer, check_number
from genesieve._random import as_generator

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["OUTLIER_LABEL", "Synthetic", "demo", "programs", "synthetic", "synthetic_outliers"]

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
    """A synthetic data set with its known classes.

    Examples
    --------
    >>> X, labels = synthetic(random_state=0)
    >>> X.shape, labels.shape
    ((60, 500), (60,))
    """

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

    References
    ----------
    Min, Xu, Wan and Chang (2021), `arXiv:2104.13171 <https://arxiv.org/abs/2104.13171>`__.

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


def programs(
    level: str = "medium",
    *,
    n_cells: int | None = None,
    n_genes: int | None = None,
    n_types: int | None = None,
    n_activities: int | None = None,
    n_batches: int | None = None,
    batch_effect: float = 0.0,
    n_private: int | None = None,
    preset: str | None = None,
    path: str | os.PathLike[str] | None = None,
    random_state: RandomState = 0,
) -> AnnData:
    """Draw counts with known programs: one of every type, and activities that some cells of several types share.

    Gamma-Poisson counts in the manner of Splatter and of the cNMF paper. A program raises some of the genes, each by a
    factor of its own; of the cells of five types a fifth to a third has an activity, as 10 to 70 % of its counts; 6 %
    of the cells are doublets.

    Parameters
    ----------
    level
        How many genes a program raises, and by how much: ``"easy"``, ``"medium"``, ``"hard"`` or ``"faint"``.
    n_cells, n_genes
        Size; ``None``: 3,000 and 8,000, or the preset's. With the same seed, fewer cells are the first of more.
    n_types, n_activities
        Programs of either kind; ``None``: 12 and 2, or the preset's.
    n_batches
        Samples that the cells come from, each with shares of the types of its own: ``obs["batch"]``. ``None``: one.
    batch_effect
        What a batch does to every gene: a factor of its own, whose logarithm spreads by this much.
    n_private
        Activities, the last ones, that only cells of one batch each have; ``None``: none.
    preset
        ``"cnmf"``: the settings of the cNMF paper (15,000 cells x 25,000 genes, 13 types and an activity of 1,000
        genes in 30 % of the cells of four; levels up to ``"hard"``).
    path
        An h5ad file to write, a few cells at a time, so that any size can be drawn; ``None`` draws into memory.
    random_state
        A seed, a `numpy.random.Generator` or `numpy.random.RandomState` to draw from, or None for a fresh draw.

    Returns
    -------
    AnnData
        Counts (CSR float32), with ``path`` backed by the file. What is true of the cells is in ``obs["cell_type"]``,
        ``obs["batch"]``, ``obs["doublet"]`` and ``obsm["true_usages"]`` (shares of a cell's counts), of the genes in
        ``varm["true_raised"]`` and ``varm["true_spectra"]`` (shares of a program's counts); ``uns["programs"]`` has the
        ``names`` of the programs and their ``kind``, identity or activity.

    References
    ----------
    In the manner of Splatter, Zappia, Phipson and Oshlack (2017), `doi:10.1186/s13059-017-1305-0
    <https://doi.org/10.1186/s13059-017-1305-0>`__, and of cNMF, Kotliar et al. (2019), `doi:10.7554/eLife.43803
    <https://doi.org/10.7554/eLife.43803>`__.

    Examples
    --------
    >>> adata = programs("easy", n_cells=100, n_genes=500)
    >>> adata.shape, adata.obsm["true_usages"].shape
    ((100, 500), (100, 14))
    """
    sizes = {"n_cells": n_cells, "n_genes": n_genes, "n_types": n_types, "n_activities": n_activities}
    sizes |= {"n_batches": n_batches, "n_private": n_private}
    check_number("batch_effect", batch_effect)
    recipe = replace(_read_recipe(level, preset, sizes), batch_effect=batch_effect)
    seed = int(as_generator(random_state).integers(2**63))
    genes = _planted.draw_genes(recipe, seed)
    cells = _planted.draw_cells(recipe, genes, seed)
    adata, counts = _truth(genes, cells), _planted.draw_counts(recipe, genes, cells, seed)
    if path is not None:
        return _write_counts(adata, counts, path)
    adata.X = sparse.vstack(list(counts), format="csr")
    return adata


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


def _read_recipe(level: str, preset: str | None, sizes: dict[str, int | None]) -> _planted.Recipe:
    check_choice("preset", preset, list(_planted.PRESETS))
    recipe, levels = _planted.PRESETS[preset]
    check_choice("level", level, list(levels))
    given: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
    for name, size in given.items():
        check_integer(name, size, 0 if name in ("n_activities", "n_private") else 1)
    recipe = replace(recipe, **levels[level], **given)
    check_integer("n_private", recipe.n_private, 0, recipe.n_activities, why="the activities")
    return recipe


def _truth(genes: _planted.Genes, cells: _planted.Cells) -> AnnData:
    """All but the counts."""
    import anndata
    import pandas as pd

    n_types, n_activities = genes.active.shape
    types = [f"type {number + 1}" for number in range(n_types)]
    names = types + [f"activity {number + 1}" for number in range(n_activities)]
    batches = [f"batch {number + 1}" for number in range(len(genes.factors))]
    obs = {
        "cell_type": pd.Categorical.from_codes(cells.types, types),
        "batch": pd.Categorical.from_codes(cells.batch, batches),
        "doublet": cells.doublet,
    }
    return anndata.AnnData(
        obs=pd.DataFrame(obs, index=[f"cell-{number}" for number in range(len(cells.types))]),
        var=pd.DataFrame(index=[f"gene-{number}" for number in range(len(genes.scatter))]),
        obsm={"true_usages": cells.usages},
        varm={"true_raised": genes.raised, "true_spectra": genes.spectra},
        uns={"programs": {"names": names, "kind": ["identity"] * n_types + ["activity"] * n_activities}},
    )


def _write_counts(adata: AnnData, counts: Iterator[Any], path: str | os.PathLike[str]) -> AnnData:
    """The file, written chunk by chunk, and open to read."""
    import anndata
    import h5py

    adata.write_h5ad(path)
    with h5py.File(path, "r+") as file:
        first = next(counts)
        first.indptr = first.indptr.astype(np.int64)  # the file may hold more values than 32 bits count
        anndata.io.write_elem(file, "X", first)
        stored = anndata.io.sparse_dataset(file["X"])
        for chunk in counts:
            stored.append(chunk)
    return anndata.read_h5ad(path, backed="r")


def _draw(class_genes: tuple[tuple[int, int], ...], mean: float, random_state: RandomState) -> Synthetic:
    if not np.isfinite(mean):
        raise ValueError(f"mean must be a finite number, got {mean!r}")
    rng = as_generator(random_state)
    X = rng.normal(0.0, NOISE, size=(N_CELLS, N_GENES))  # (cells, genes)
    labels = np.arange(N_CELLS) // CELLS_PER_CLASS
    for label, (first, stop) in enumerate(class_genes):
        X[labels == label, first:stop] = rng.normal(mean, 1.0, size=(CELLS_PER_CLASS, stop - first))
    return Synthetic(np.abs(X), labels)
