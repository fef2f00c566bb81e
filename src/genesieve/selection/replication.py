"""Programs that two disjoint halves of the cells agree on.

Programs of all cells are fitted again to either half, each from where it stands. Both forms of a program give usages of
all cells: those of a program that is there agree, those of one that fits noise follow the noise of their own half.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from genesieve.core import starts
from genesieve.core.cells.blocks import FROM_ZERO, Blocks, Cells
from genesieve.core.cells.low_rank import LowRank, low_rank_approximation
from genesieve.core.cells.threads import side_by_side
from genesieve.core.constraints import NonNegative
from genesieve.core.objective import Overlap, gram_of
from genesieve.core.solvers import LOW_RANK, Factors, Problem, bcd, fine_tolerance

SPLITS = 2  # into halves, each at random
# The least agreement, a correlation of usages, at which a program counts as found in both halves.
REPLICATES = 0.85
# The share of the programs that replicate from which on their number is clear. Of planted programs nearly all do, of
# those that fade into noise or into each other half or fewer.
MOST_OF_THEM = 0.8


class Replication(NamedTuple):
    """What is seen of programs in halves of the cells."""

    agreement: np.ndarray  # (splits, rank): correlation of a program's usages by either half
    share: np.ndarray  # (rank,): of the cells that it leads

    @property
    def sorted_agreement(self) -> np.ndarray:
        """The mean over the splits, the best first."""
        return np.asarray(np.sort(self.agreement.mean(axis=0))[::-1])

    @property
    def n_found(self) -> int:
        """Programs that replicate."""
        return int((self.sorted_agreement >= REPLICATES).sum())

    @property
    def is_whole(self) -> bool:
        """Whether most of them do."""
        return self.n_found >= MOST_OF_THEM * len(self.share)


def replication(R: np.ndarray, rank: int, rng: np.random.Generator, threads: int = 1) -> Replication:
    """How far two halves of standardised cells R (cells, genes) agree on each of so many programs."""
    cells = Blocks(R, n_jobs=threads)
    W = starts.plain_fit(cells, rank, rng).factors.W
    approximation = low_rank_approximation(cells, rank, rng)
    near = approximation.directions if isinstance(approximation, LowRank) else None
    halves = [np.sort(half) for _ in range(SPLITS) for half in np.array_split(rng.permutation(len(R)), 2)]
    draws = list(zip(halves, rng.spawn(len(halves)), strict=True))
    refits = side_by_side(lambda draw: _again(R[draw[0]], W, near, draw[1]), draws, threads)
    usages = [_usages(approximation, refit) for refit in refits]
    agreement = [correlations(*pair) for pair in zip(usages[::2], usages[1::2], strict=True)]
    leads = (_usages(approximation, W) * np.linalg.norm(W, axis=0)).argmax(axis=1)
    return Replication(np.array(agreement), np.bincount(leads, minlength=rank) / len(R))


def correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Of the columns of one array with those of another; 0 where one does not vary."""
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    size = np.linalg.norm(first, axis=0) * np.linalg.norm(second, axis=0)
    return np.asarray((first * second).sum(axis=0) / np.where(size > 0, size, np.inf))


def _again(half: np.ndarray, W: np.ndarray, near: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Programs fitted to some cells, from programs W (genes, rank)."""
    rank = W.shape[1]
    cells = low_rank_approximation(Blocks(half, n_jobs=1), rank, rng, near=near)
    exact = rank <= LOW_RANK
    problem = Problem(cells, NonNegative(), Overlap(), starts.EARLY_ITERATIONS, fine_tolerance(rank), exact=exact)
    return bcd(problem, Factors(FROM_ZERO, W)).factors.W


def _usages(cells: Cells, W: np.ndarray) -> np.ndarray:
    return cells.usages(W, Overlap().cell_step(gram_of(W)))
