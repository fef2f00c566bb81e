"""Samples of cells: how many there are enough to place programs on, and how they are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genesieve.core.cells.blocks import Cells

# Cells that are fitted before all cells are visited: programs are well placed by then.
SAMPLE_CELLS = 2000
# Genes that they are fitted on: those with the largest sums of squares beyond the baseline, which hold most of what a
# least-squares fit looks at.
SAMPLE_GENES = 3000
# Up to so many cells, programs settle on all of them and all genes. From there on, they do on a sample of so many cells
# at most, and so many values, zeros included.
WHOLE_CELLS = 20_000
SETTLE_CELLS = 10_000
SETTLE_VALUES = 1 << 27
# Where a fit makes many steps on the cells, as many are held: in single precision and dense, 1.6 GB.
HELD_VALUES = WHOLE_CELLS * 20_000


@dataclass(frozen=True)
class Sample:
    """Some cells on some of the genes, or all of either where these are few: fitted in no time."""

    cells: Cells
    genes: np.ndarray
    n_genes: int  # of the data

    def embed(self, W: np.ndarray) -> np.ndarray:
        """A W of the sample's genes as one of all genes, zero on the others."""
        full = np.zeros((self.n_genes, W.shape[1]), dtype=W.dtype)
        full[self.genes] = W
        return full


def sample(
    cells: Cells,
    rng: np.random.Generator,
    *,
    n_cells: int | None = None,
    n_genes: int | None = None,
    required: np.ndarray | None = None,
) -> Sample:
    """Cells at random, on the genes with the most to explain in them, and those of the mask ``required``."""
    chosen = np.sort(rng.choice(cells.shape[0], min(n_cells or SAMPLE_CELLS, cells.shape[0]), replace=False))
    part, genes = cells.part(chosen, n_genes or SAMPLE_GENES, required)
    return Sample(part, genes, cells.shape[1])


def many_cells(cells: Cells, rng: np.random.Generator) -> Cells:
    """All cells, or where there are very many a random sample of them, on all genes."""
    n_cells, n_genes = cells.shape
    if n_cells <= WHOLE_CELLS:
        return cells
    return sample(cells, rng, n_cells=settle_cells(n_genes), n_genes=n_genes).cells


def settle_cells(n_genes: int) -> int:
    """So many cells of so many genes may be held in memory to settle on."""
    return max(min(SETTLE_CELLS, SETTLE_VALUES // n_genes), SAMPLE_CELLS)


def held_cells(n_genes: int, many_steps: bool) -> int:
    """The same, where programs settle on all cells; for many steps all of them, if these are not too many values."""
    return max(settle_cells(n_genes), min(WHOLE_CELLS, HELD_VALUES // n_genes) if many_steps else 0)


def at_hand(cells: Cells, rng: np.random.Generator) -> Cells:
    """All cells and genes, in memory wherever they were."""
    return sample(cells, rng, n_cells=cells.shape[0], n_genes=cells.shape[1]).cells


def has_fewer(cells: Cells) -> bool:
    """Whether there are fewer cells than a sample has: where fits part most readily."""
    return cells.shape[0] < SAMPLE_CELLS


def is_large(cells: Cells) -> bool:
    """Whether a sample has fewer cells or genes than the data."""
    return cells.shape[0] > SAMPLE_CELLS or cells.shape[1] > SAMPLE_GENES
