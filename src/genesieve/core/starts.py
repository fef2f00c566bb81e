"""Starting points: random, from a truncated SVD (nndsvd), and from a plain NMF, of all cells or of a sample of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.low_rank import Rough, rough, subspace, svd
from genesieve.core.cells.sources import side_by_side
from genesieve.core.constraints import NonNegative
from genesieve.core.objective import Overlap, gram_of
from genesieve.core.solvers import Factors, Result, Run, bcd, best_of

# Cells that are fitted before all cells are visited: programs are well placed by then.
SAMPLE_CELLS = 2000
# Genes that they are fitted on: the largest sums of squares, which hold most of what a least-squares fit looks at.
SAMPLE_GENES = 3000
# Iterations and tolerance of fits on so few cells: they are cheap, and what they leave takes full passes to mend.
SAMPLE_ITERATIONS = 100
SAMPLE_TOLERANCE = 1e-6
# Up to so many cells, programs settle on all of them and all genes. From there on, they do on a sample of so many cells
# at most, and so many values, zeros included.
WHOLE_CELLS = 20_000
SETTLE_CELLS = 10_000
SETTLE_VALUES = 1 << 27
# They settle on a rough X, so it costs little to be thorough: the share of the fit's tolerance to go down to.
SETTLE_TOLERANCE = 0.05
# Directions of a rough X beyond the rank; they are found from a sample of cells. More of either hardly help.
ROUGH_DIRECTIONS = 24
# Where X has fewer cells or genes than so many times its directions, there is too little to gain by them.
TOO_SMALL = 4
# An NMF starts several times on a smaller sample yet, and the one with the lowest objective after some iterations goes
# on: starts end in different minima, a tenth of a per cent apart on real data, and soon show which.
NMF_STARTS = 4
NMF_START_ITERATIONS = 12
NMF_START_CELLS, NMF_START_GENES = 1000, 1500
# Iterations on the cells as they are, after those on a rough X.
NMF_LAST_ITERATIONS = 10


def random(blocks: Blocks, rank: int, rng: np.random.Generator) -> Factors:
    """Uniform factors, of equal share in a product as large as X."""
    H = rng.random((blocks.shape[0], rank))  # (cells, rank)
    W = rng.random((blocks.shape[1], rank))  # (genes, rank)
    size = np.vdot(gram_of(H), gram_of(W))
    scale = (blocks.squared_norm / size) ** 0.25
    return _cast(blocks, H * scale, W * scale)


def nndsvd(blocks: Blocks, rank: int, rng: np.random.Generator) -> Factors:
    """The larger signed part of each singular pair (Boutsidis and Gallopoulos, 2008)."""
    U, scale, V = svd(blocks, rank, rng)
    H, W = np.zeros(U.shape), np.zeros(V.shape)
    for a in range(U.shape[1]):
        pairs = [(np.maximum(sign * U[:, a], 0), np.maximum(sign * V[:, a], 0)) for sign in (1, -1)]
        h, w = max(pairs, key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))
        size = np.linalg.norm(h) * np.linalg.norm(w)
        if size > 0:
            balance = np.sqrt(scale[a] * size)
            H[:, a], W[:, a] = balance * h / np.linalg.norm(h), balance * w / np.linalg.norm(w)
    return _cast(blocks, H, W)


def nmf(blocks: Blocks, rank: int, rng: np.random.Generator, *, n_starts: int | None = None) -> Factors:
    """A plain NMF from the best of a few random starts, both factors in equal share of each program's scale.

    Data of many cells is fitted on a random sample of them, and has the usages of all cells from one pass.
    """
    if blocks.shape[0] > SAMPLE_CELLS:
        part = sample(blocks, rng)
        return with_usages(blocks, part.embed(nmf(part.blocks, rank, rng, n_starts=n_starts).W))
    seen = roughly(blocks, rank, rng)
    small = sample(seen, rng, n_cells=max(NMF_START_CELLS, rank), n_genes=NMF_START_GENES)
    begun = side_by_side(
        lambda start: _plain_fit(small.blocks.on_one_thread(), start, NMF_START_ITERATIONS),
        [random(small.blocks, rank, rng) for _ in range(n_starts or NMF_STARTS)],
        blocks.threads,
    )
    fitted = _plain_fit(seen, without_usages(small.embed(best_of(begun).factors.W)), SAMPLE_ITERATIONS)
    if seen is not blocks:
        fitted = _plain_fit(blocks, fitted.factors, NMF_LAST_ITERATIONS)
    return balanced(fitted.factors, fitted.gram)


def _plain_fit(blocks: Blocks, start: Factors, max_iter: int) -> Result:
    return bcd(Run(blocks, NonNegative(), Overlap(), max_iter, SAMPLE_TOLERANCE), start)


def roughly(blocks: Blocks, rank: int, rng: np.random.Generator, near: np.ndarray | None = None) -> Blocks:
    """A rough X, or X itself where that is rough already or so small that there is nothing to gain.

    Its directions are those of some cells; ``near`` are directions to set out from.
    """
    width = rank + ROUGH_DIRECTIONS
    if isinstance(blocks, Rough) or TOO_SMALL * width >= min(blocks.shape):
        return blocks
    return rough(blocks, _directions(blocks, width, rng, near))


def _directions(blocks: Blocks, width: int, rng: np.random.Generator, near: np.ndarray | None) -> np.ndarray:
    some = sample(blocks, rng, n_genes=blocks.shape[1]).blocks
    if near is None:
        near = subspace(some, rng.standard_normal((blocks.shape[1], width)))
    return subspace(some, near)


@dataclass(frozen=True)
class Sample:
    """Some cells on some of the genes, or all of either where these are few: fitted in no time."""

    blocks: Blocks
    genes: np.ndarray
    n_genes: int

    def embed(self, W: np.ndarray) -> np.ndarray:
        """A W of the sample's genes as one of all genes, zero on the others."""
        full = np.zeros((self.n_genes, W.shape[1]), dtype=W.dtype)
        full[self.genes] = W
        return full


def sample(
    blocks: Blocks,
    rng: np.random.Generator,
    *,
    n_cells: int | None = None,
    n_genes: int | None = None,
    required: np.ndarray | None = None,
) -> Sample:
    """Cells at random, on the genes that hold most of their squared norm, and those of the mask ``required``."""
    n_cells = min(n_cells or SAMPLE_CELLS, blocks.shape[0])
    n_genes = n_genes or SAMPLE_GENES
    cells = np.sort(rng.choice(blocks.shape[0], n_cells, replace=False))
    if blocks.in_memory and n_cells == blocks.shape[0] and n_genes >= blocks.shape[1]:
        return Sample(blocks, np.arange(blocks.shape[1]), blocks.shape[1])
    part, genes = blocks.part(cells, n_genes, required)
    return Sample(part, genes, blocks.shape[1])


def many_cells(blocks: Blocks, rng: np.random.Generator) -> Blocks:
    """All cells, or where there are very many a random sample of them, on all genes."""
    n_cells, n_genes = blocks.shape
    if n_cells <= WHOLE_CELLS:
        return blocks
    settle = max(min(SETTLE_CELLS, SETTLE_VALUES // n_genes), SAMPLE_CELLS)
    return sample(blocks, rng, n_cells=settle, n_genes=n_genes).blocks


def is_large(blocks: Blocks) -> bool:
    """Whether a sample has fewer cells or genes than the data."""
    return blocks.shape[0] > SAMPLE_CELLS or blocks.shape[1] > SAMPLE_GENES


def without_usages(W: np.ndarray) -> Factors:
    """W and no usages yet: bcd solves them in its first pass."""
    return Factors(None, W)


def with_usages(blocks: Blocks, W: np.ndarray) -> Factors:
    """W and the best H for it, both in equal share of each program's scale."""
    H = blocks.usages(W, Overlap().cell_step(gram_of(W)))
    return balanced(Factors(H, W), gram_of(H))


def balanced(factors: Factors, gram: np.ndarray) -> Factors:
    """The same product, every program with the same norm in both factors; ``gram`` is ``H^T H``."""
    H, W = factors
    h_norms, w_norms = np.sqrt(np.diag(gram)).astype(W.dtype), np.linalg.norm(W, axis=0)
    alive = (h_norms > 0) & (w_norms > 0)
    ratio = np.sqrt(np.divide(w_norms, h_norms, out=np.ones_like(h_norms), where=alive))
    ratio[~alive] = 1.0
    return Factors(None if H is None else H * ratio, W / ratio)


def _cast(blocks: Blocks, H: np.ndarray, W: np.ndarray) -> Factors:
    return Factors(H.astype(blocks.dtype), W.astype(blocks.dtype))
