"""Programs beside each other: their order, and which of them say the same thing."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import normalize

# Programs of logged data share their housekeeping genes: on six real data sets, without a penalty, the most alike two
# had a cosine of at most 0.95. Above this they say the same thing.
DUPLICATE_COSINE = 0.97

# Under a penalty programs are profiles of whole cells, alike by nature. Weighted by variation, as the fit has them, the
# most alike two on PBMC 3k have 0.95 with a program for every type, and 0.96 where two share a type.
ALIKE_COSINE = 0.955

# Programs that lead fewer cells, and a smaller share of them, are tiny: a few odd cells, not a type.
TINY_CELLS, TINY_SHARE = 5, 0.001

# A cell whose label has a confidence below this is unsure: it uses a second program more than half as much. Where
# nearly all cells that a program leads are, it is no type: one of 83 programs in six fits of real data, of nine cells.
UNSURE, ALL_UNSURE = 0.5, 0.9

# Programs whose shares differ by less than this part of the largest are of one size: no rounding tells them apart.
SAME_SIZE = 1e-6


def largest_first(H: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The order (rank,) of programs with unit gene vectors W (genes, rank) by their share of all usage H.

    That is a sum over all cells, so rounding cannot turn it round as it can the number of cells that a program leads.
    Programs of one size go by their heaviest gene, in the order of genes.
    """
    sizes = H.sum(axis=0, dtype=np.float64)
    shares = sizes / (sizes.max(initial=0.0) or 1.0)
    return np.lexsort((W.argmax(axis=0), -np.round(shares / SAME_SIZE)))


def near_duplicates(W: np.ndarray, *, cosine: float = DUPLICATE_COSINE) -> list[tuple[int, int, float]]:
    """Pairs of programs whose gene vectors have a cosine above the given one, with it."""
    unit = normalize(np.asarray(W, dtype=np.float64), axis=0)
    cosines = np.triu(unit.T @ unit, k=1)
    return [(int(a), int(b), float(cosines[a, b])) for a, b in np.argwhere(cosines > cosine)]


def tiny_programs(most_used: np.ndarray, rank: int) -> list[tuple[int, int]]:
    """Programs that hardly any cell uses most, and how many do."""
    sizes = np.bincount(most_used, minlength=rank)
    least = max(TINY_CELLS, TINY_SHARE * len(most_used)) if len(most_used) > TINY_CELLS * rank else 1
    return [(int(program), int(sizes[program])) for program in np.flatnonzero(sizes < least)]


def flags(
    W: np.ndarray, most_used: np.ndarray, confidence: np.ndarray | None = None, *, cosine: float = ALIKE_COSINE
) -> list[str]:
    """What to look at twice in every program, in words; nothing for most.

    It leads hardly a cell, or only cells that are unsure of it, or is much like another. W (genes, rank) are the gene
    vectors as the fit has them, weights by variation included; ``confidence`` (cells,) is of the program.
    """
    said: list[list[str]] = [[] for _ in range(W.shape[1])]
    for program, n_cells in tiny_programs(most_used, W.shape[1]):
        said[program].append(
            "leads no cell" if not n_cells else f"leads {n_cells} cell{'' if n_cells == 1 else 's'} only"
        )
    unsure = np.zeros(len(most_used), dtype=bool) if confidence is None else confidence < UNSURE
    for program in np.unique(most_used):
        if not said[program] and unsure[most_used == program].mean() > ALL_UNSURE:
            said[program].append("its cells use others nearly as much")
    for a, b, found in near_duplicates(W, cosine=cosine):
        said[a].append(f"much like program {b} (cosine {found:.2f})")
        said[b].append(f"much like program {a} (cosine {found:.2f})")
    return ["; ".join(words) for words in said]
