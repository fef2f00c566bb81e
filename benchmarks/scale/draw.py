"""Simulated cells, drawn in blocks: sums of neighbouring real cells, every transcript of which may be lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import optimize, stats

from benchmarks.harness.meter import available_threads
from benchmarks.scale.real import N_NEIGHBOURS, Real

CELLS_AT_ONCE = 500  # each such block has a random stream of its own
WAITING_BLOCKS = 2  # drawn but not yet written, besides one a thread

# Enough transcripts are lost that no two simulated cells are the same; to lose more takes more real cells and time.
MOST_KEPT, MOST_PARTS = 0.7, 64
PILOT_CELLS, KEPT_PRECISION = CELLS_AT_ONCE, 1e-3
SMALL_COUNT = 64  # larger counts are thinned in portions of this size


class Rows(NamedTuple):
    """Some cells, one after the other: counts, their genes, and how many there are in each cell."""

    values: np.ndarray
    genes: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True)
class Recipe:
    """How a simulated cell is made from real ones."""

    columns: np.ndarray  # (sheets, real genes), where a gene goes on each sheet of genes, -1 for nowhere
    n_parts: int  # real cells that are added up
    kept: float  # probability of a transcript to be kept

    @property
    def n_genes(self) -> int:
        return int(self.columns.max()) + 1


def find_recipe(real: Real, n_genes: int, density: float) -> Recipe:
    """The fewest real cells whose sum, thinned, has the density; found by trial on some cells."""
    columns = _columns(real.counts.shape[1], n_genes)
    by_size = np.argsort(np.diff(real.counts.indptr), kind="stable")
    followed = by_size[np.linspace(0, by_size.size - 1, PILOT_CELLS).astype(np.int64)]  # small to large

    def reached(n_parts: int, kept: float) -> float:
        rows = draw(real, Recipe(columns, n_parts, kept), followed, np.random.default_rng(0))
        return rows.values.size / (followed.size * n_genes)

    n_parts = next((n for n in range(1, MOST_PARTS + 1) if reached(n, MOST_KEPT) >= density), None)
    if n_parts is None:
        most = reached(MOST_PARTS, MOST_KEPT)
        raise ValueError(f"density must be at most {most:.2f} (what {MOST_PARTS} real cells give), got {density}")
    kept = optimize.brentq(lambda kept: reached(n_parts, kept) - density, 0.0, MOST_KEPT, rtol=KEPT_PRECISION)
    return Recipe(columns, n_parts, kept)


def _columns(n_real: int, n_genes: int) -> np.ndarray:
    """Columns of the real genes: all of them on every sheet but the last, which takes as many at random as are left."""
    sheets = -(-n_genes // n_real)
    columns = np.full((sheets, n_real), -1, np.int32)
    for sheet in range(sheets):
        first = sheet * n_real
        n = min(n_real, n_genes - first)
        columns[sheet, np.sort(np.random.default_rng(0).permutation(n_real)[:n])] = np.arange(first, first + n)
    return columns


def gene_names(real: Real, recipe: Recipe) -> np.ndarray:
    """Names of the columns; copies of real genes say so."""
    sheet, gene = np.nonzero(recipe.columns >= 0)  # in the order of columns
    return np.array([real.genes[g] + (f"-copy-{s}" if s else "") for s, g in zip(sheet, gene, strict=True)], object)


def all_cells(real: Real, recipe: Recipe, n_cells: int, seed: int) -> tuple[np.ndarray, Iterator[Rows]]:
    """The real cell that each simulated one follows, and the simulated ones in blocks."""
    blocks = _blocks(n_cells, len(real.types), seed)
    followed = np.concatenate([block.followed for block in blocks])
    return followed, _in_order(lambda block: draw(real, recipe, *block), blocks)


def draw(real: Real, recipe: Recipe, followed: np.ndarray, rng: np.random.Generator) -> Rows:
    """Simulated cells that follow these real ones, of which there are no more than a block takes."""
    shape = (CELLS_AT_ONCE, len(recipe.columns), recipe.n_parts)
    choice = rng.integers(N_NEIGHBOURS, size=shape)[: followed.size]  # (cells, sheets, parts)
    parts = real.neighbours[followed[:, None, None], choice]
    small = np.arange(SMALL_COUNT + 1)
    below = stats.binom.cdf(small, small[:, None], recipe.kept)  # [n, k]: at most k of n are kept
    counts = real.counts
    return Rows(*_draw_rows(counts.indptr, counts.indices, counts.data, parts, recipe.columns, below, recipe.kept, rng))


@njit(nogil=True, cache=True)
def _draw_rows(indptr, genes, counts, parts, columns, below, kept, rng):  # type: ignore[no-untyped-def]
    """Sums of real cells, ``parts`` for each sheet of genes (cells, sheets, parts), then thinned."""
    n_cells, n_sheets, _ = parts.shape
    n_genes = columns.max() + 1
    room = _most_values(indptr, parts, n_genes)  # memory that is never written to is never used
    out_values, out_genes = np.empty(room, np.float32), np.empty(room, np.int32)
    sizes = np.zeros(n_cells, np.int64)
    total = np.zeros(n_genes, np.int32)
    filled = 0
    for i in range(n_cells):
        for sheet in range(n_sheets):
            for part in parts[i, sheet]:
                for at in range(indptr[part], indptr[part + 1]):
                    column = columns[sheet, genes[at]]
                    if column >= 0:
                        total[column] += counts[at]
        first = filled
        for gene in range(n_genes):
            if total[gene] > 0:
                count = _thinned(total[gene], below, kept, rng)
                total[gene] = 0
                if count > 0:
                    out_values[filled], out_genes[filled] = count, gene
                    filled += 1
        sizes[i] = filled - first
    return out_values[:filled].copy(), out_genes[:filled].copy(), sizes


@njit(nogil=True, cache=True)
def _most_values(indptr, parts, n_genes):  # type: ignore[no-untyped-def]
    """How many values the cells can have at most."""
    total = 0
    for cell in parts:
        values = 0
        for part in cell.flat:
            values += indptr[part + 1] - indptr[part]
        total += min(values, n_genes)
    return total


@njit(nogil=True, cache=True)
def _thinned(count, below, kept, rng):  # type: ignore[no-untyped-def]
    """How many of a count are kept: binomial, by inversion from the mean, in portions that the table covers."""
    left = 0
    while count > 0:
        n = min(count, below.shape[0] - 1)
        u, k = rng.random(), int(kept * n)
        while k > 0 and u < below[n, k - 1]:
            k -= 1
        while u >= below[n, k]:
            k += 1
        left += k
        count -= n
    return left


class _Block(NamedTuple):
    """Cells that are drawn at once: the real ones that they follow, and their random stream."""

    followed: np.ndarray
    rng: np.random.Generator


def _blocks(n_cells: int, n_real: int, seed: int) -> list[_Block]:
    """All cells in blocks of one size, of which the last is cut short."""
    starts = range(0, n_cells, CELLS_AT_ONCE)
    streams = np.random.default_rng(seed).spawn(len(starts))
    return [
        _Block(rng.integers(n_real, size=CELLS_AT_ONCE)[: n_cells - start], rng)
        for start, rng in zip(starts, streams, strict=True)
    ]


def _in_order(work: Callable[[_Block], Rows], blocks: Iterable[_Block]) -> Iterator[Rows]:
    """Results in order from all cores, of which only a few wait to be taken."""
    threads = available_threads()
    waiting: deque[Future[Rows]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) >= threads + WAITING_BLOCKS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
