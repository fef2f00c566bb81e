"""Samples with a known truth: shared and private programs, batch effects on genes, an activity that a condition raises.

The genes and programs are those of `genesieve.datasets.programs`; what is added is that cells come in samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from anndata import AnnData

CONDITIONS = ("control", "treated")
LEAST_SCATTER = 1e-3


@dataclass(frozen=True)
class Design:
    """How samples are drawn."""

    n_samples: int = 8
    n_cells: int = 300  # of a sample
    n_genes: int = 2000
    n_shared: int = 6  # types that all samples have
    n_private: int = 3  # types that one sample each has
    n_activities: int = 2  # that some cells of all shared types have; a condition raises the first
    level: str = "easy"
    batch: float = 0.3  # sd of the logarithm of a gene's factor in a sample
    evenness: float = 8.0  # of the shares of types: the larger, the more alike samples are
    private_share: float = 0.15  # of the cells of the sample that has the type
    active: tuple[float, float] = (0.25, 0.25)  # share of active cells by condition, of the first activity
    donor_spread: float = 0.3  # sd of a sample's logit of that share
    cells_spread: float = 0.25  # sd of the logarithm of a sample's number of cells

    @property
    def n_types(self) -> int:
        return self.n_shared + self.n_private


def draw(design: Design, seed: int) -> AnnData:
    """Counts of all samples with their truth, the slots as `genesieve.datasets.programs` has them."""
    from anndata import concat

    from genesieve import _planted

    recipe = replace(
        _planted.Recipe(),
        **_planted.LEVELS[design.level],
        n_genes=design.n_genes,
        n_types=design.n_types,
        n_activities=design.n_activities,
        types_an_activity=design.n_shared,
    )
    genes = _planted.draw_genes(recipe, seed)
    rng = np.random.default_rng([seed, 1])
    conditions = rng.permutation(np.arange(design.n_samples) % 2)
    parts = [_sample(design, recipe, genes, number, int(conditions[number]), rng) for number in range(design.n_samples)]
    adata = concat(parts)
    adata.varm["true_raised"], adata.varm["true_spectra"] = genes.raised, genes.spectra
    names = [f"type {i + 1}" for i in range(design.n_types)] + [f"activity {i + 1}" for i in range(design.n_activities)]
    shared = np.arange(len(names))[
        (np.arange(len(names)) < design.n_shared) | (np.arange(len(names)) >= design.n_types)
    ]
    adata.uns["programs"] = {"names": names, "shared": shared}
    return adata


def _sample(design: Design, recipe, genes, number: int, condition: int, rng: np.random.Generator) -> AnnData:
    """One sample: its own mixture of types, a factor of its own for every gene."""
    import pandas as pd
    from anndata import AnnData

    n_cells = max(20, int(design.n_cells * rng.lognormal(0.0, design.cells_spread)))
    types = rng.choice(design.n_types, n_cells, p=_shares(design, number, rng))
    usages = _usages(design, types, condition, rng)
    spectra = genes.spectra * rng.lognormal(0.0, design.batch, (design.n_genes, 1)) if design.batch else genes.spectra
    means = rng.lognormal(*recipe.log_depth, n_cells)[:, None] * (usages @ (spectra / spectra.sum(axis=0)).T)
    squared = (recipe.variation * genes.scatter) ** 2 * np.ones_like(means)
    counts = rng.poisson(rng.gamma(1.0 / squared, means * squared)).astype(np.float32)
    obs = {"sample": f"s{number}", "condition": CONDITIONS[condition], "cell_type": [f"type {t + 1}" for t in types]}
    names = [f"s{number}-{cell}" for cell in range(n_cells)]
    var = pd.DataFrame(index=[f"gene-{gene}" for gene in range(design.n_genes)])
    return AnnData(sparse.csr_matrix(counts), pd.DataFrame(obs, names), var, obsm={"true_usages": usages})


def _shares(design: Design, number: int, rng: np.random.Generator) -> np.ndarray:
    """How a sample is made up; the private types belong to the first samples."""
    shares = np.zeros(design.n_types)
    shares[: design.n_shared] = rng.dirichlet(np.full(design.n_shared, design.evenness))
    if number < design.n_private:
        shares *= 1.0 - design.private_share
        shares[design.n_shared + number] = design.private_share
    return shares


def _usages(design: Design, types: np.ndarray, condition: int, rng: np.random.Generator) -> np.ndarray:
    """Shares of a cell's counts by program (cells, programs)."""
    active = np.full(design.n_activities, design.active[0])
    if design.n_activities:
        active[0] = design.active[condition]
    logits = np.log(active / (1.0 - active)) + rng.normal(0.0, design.donor_spread, design.n_activities)
    able = types[:, None] < design.n_shared
    on = able & (rng.random((len(types), design.n_activities)) < 1.0 / (1.0 + np.exp(-logits)))
    activity = on * rng.uniform(0.2, 0.7, on.shape) / np.maximum(on.sum(axis=1, keepdims=True), 1)
    identity = np.eye(design.n_types)[types] * (1.0 - activity.sum(axis=1, keepdims=True))
    return np.hstack([identity, activity])
