"""Simulated atlases of any size, on disk: raw counts of cells that are resampled from real ones.

A simulated cell follows a real one. It is the sum of a few real cells from the neighbourhood of that cell, every
transcript of which is kept with one probability, so that sparsity, depth and clusters come from the data. How many real
cells and what probability follow from the density asked for. Genes beyond the real ones are copies of real genes,
counted in other cells of the same neighbourhood.

The real cells are the bone marrow cells beside the project (8,390 x 18,479, UMI counts). Where they are missing, cells
drawn from the profiles of `benchmarks.data.atlas` take their place: scanpy brings no raw counts along.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from anndata.io import read_h5ad, write_elem
from numba import njit
from scipy import optimize, sparse, stats

from benchmarks.data import atlas, bmmc, shared
from benchmarks.protocol import available_threads

N_GENES, DENSITY = 28_000, 0.07
CELLS_AT_ONCE = 500  # each such block has a random stream of its own
WAITING_BLOCKS = 2  # drawn but not yet written, besides one a thread
TYPE = "type"

# Real cells: how they are grouped, and how near others must be to stand in for one.
N_TYPES, N_NEIGHBOURS, N_COMPONENTS, N_VARIABLE = 12, 20, 30, 2000
SIMULATED_CELLS, SIMULATED_GENES = 2000, 15_000

# Enough transcripts are lost that no two simulated cells are the same; to lose more takes more real cells and time.
MOST_KEPT, MOST_PARTS = 0.7, 64
PILOT_CELLS, KEPT_PRECISION = CELLS_AT_ONCE, 1e-3
SMALL_COUNT = 64  # larger counts are thinned in portions of this size

# Measured on slices of a thousand cells. Plain HDF5 reads large chunks as fast as one piece; where chunks are
# unpacked, a slice unpacks all of every chunk it touches, and blosc's lz4 does so faster than zarr's own zstd.
VALUES_A_CHUNK, VALUES_A_PACKED_CHUNK = 2**22, 2**20


class Rows(NamedTuple):
    """Some cells, one after the other: counts, their genes, and how many there are in each cell."""

    values: np.ndarray
    genes: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True)
class Real:
    """Real cells to follow."""

    counts: sparse.csr_array  # (cells, genes), whole numbers
    genes: np.ndarray  # names
    types: np.ndarray  # (cells,), the cluster of each
    neighbours: np.ndarray  # (cells, neighbours), nearest of its type, itself included
    source: str


@dataclass(frozen=True)
class Recipe:
    """How a simulated cell is made from real ones."""

    columns: np.ndarray  # (sheets, real genes), where a gene goes on each sheet of genes, -1 for nowhere
    n_parts: int  # real cells that are added up
    kept: float  # probability of a transcript to be kept

    @property
    def n_genes(self) -> int:
        return int(self.columns.max()) + 1


class Written(NamedTuple):
    """What a file holds."""

    cells: int
    genes: int
    values: int
    bytes: int

    @property
    def density(self) -> float:
        return self.values / (self.cells * self.genes)


def write_atlas(
    path: str | Path,
    n_cells: int,
    n_genes: int = N_GENES,
    *,
    density: float = DENSITY,
    seed: int = 0,
    compression: str | None = None,
    zarr_format: int = 3,
    real: Real | None = None,
) -> Written:
    """Write a simulated atlas, by its suffix to an ``.h5ad`` file or a ``.zarr`` folder; the file is there once whole.

    The same seed gives the same cells; fewer cells are the first of more. ``compression`` is HDF5's (``"gzip"`` or
    ``"lzf"``), zarr is always compressed. ``real`` are other cells to follow.
    """
    path = Path(path)
    _check(path, n_cells, n_genes, density, compression, zarr_format)
    real = real or real_cells()
    recipe = find_recipe(real, n_genes, density)
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f"{path.stem}-part-") as folder:
        part = Path(folder) / path.name
        with _opened(part, compression, zarr_format) as store:
            n_values = _write(store, real, recipe, n_cells, seed)
        if path.is_dir():
            shutil.rmtree(path)
        os.replace(part, path)
    return Written(n_cells, n_genes, n_values, size_on_disk(path))


def _check(path: Path, n_cells: int, n_genes: int, density: float, compression: str | None, zarr_format: int) -> None:
    if path.suffix not in (".h5ad", ".zarr"):
        raise ValueError(f"path must end in .h5ad or .zarr, got {path.name!r}")
    if n_cells < 1 or n_genes < 1:
        raise ValueError(f"n_cells and n_genes must be at least 1, got {n_cells} and {n_genes}")
    if not 0 < density < 1:
        raise ValueError(f"density must be between 0 and 1, got {density}")
    if compression is not None and path.suffix == ".zarr":
        raise ValueError(f"compression must be None for zarr, which has its own, got {compression!r}")
    if zarr_format not in (2, 3):
        raise ValueError(f"zarr_format must be 2 or 3, got {zarr_format}")


@lru_cache(maxsize=1)
def real_cells() -> Real:
    """The bone marrow cells beside the project, or simulated ones where they are missing."""
    if bmmc.missing():
        return simulated_cells()
    adata = read_h5ad(shared.FOLDER / bmmc.FILE)
    return grouped(sparse.csr_array(adata.X), adata.var_names.to_numpy(), bmmc.FILE)


def simulated_cells(n_cells: int = SIMULATED_CELLS, n_genes: int = SIMULATED_GENES) -> Real:
    """Cells drawn from the simulated profiles of types, for want of real ones."""
    rng = np.random.default_rng(0)
    profiles = atlas.profiles(n_genes, rng)[rng.integers(atlas.N_TYPES, size=n_cells)]
    depth = rng.lognormal(np.log(atlas.READS_A_CELL), atlas.DEPTH_SPREAD, n_cells).astype(np.int64)
    counts = [sparse.csr_array(rng.poisson(n * profile)[None]) for n, profile in zip(depth, profiles, strict=True)]
    return grouped(sparse.vstack(counts, format="csr"), np.array([f"gene-{g}" for g in range(n_genes)]), "simulated")


def grouped(counts: sparse.csr_array, genes: np.ndarray, source: str) -> Real:
    """Real cells with their types (k-means on leading components) and neighbourhoods."""
    from sklearn.cluster import KMeans

    U = _components(counts)  # (cells, components)
    types = KMeans(min(N_TYPES, len(U)), random_state=0).fit_predict(U)
    neighbours = np.empty((len(U), N_NEIGHBOURS), np.int32)
    for members in (np.flatnonzero(types == kind) for kind in np.unique(types)):
        neighbours[members] = members[_nearest(U[members])]
    return Real(counts.astype(np.int32), genes, types, neighbours, source)


def _components(counts: sparse.csr_array) -> np.ndarray:
    """Leading components of the most variable genes, log-normalised."""
    from sklearn.decomposition import TruncatedSVD

    X = shared.log_normalised(counts)
    variance = X.power(2).mean(axis=0) - X.mean(axis=0) ** 2
    X = X[:, np.sort(np.argsort(-variance, kind="stable")[:N_VARIABLE])]
    return TruncatedSVD(min(N_COMPONENTS, min(X.shape) - 1), random_state=0).fit_transform(X)


def _nearest(U: np.ndarray) -> np.ndarray:
    """The nearest cells of each, itself first, again from the first where there are too few."""
    from sklearn.neighbors import NearestNeighbors

    n = min(N_NEIGHBOURS, len(U))
    near = NearestNeighbors(n_neighbors=n).fit(U).kneighbors(U, return_distance=False)
    return near[:, np.arange(N_NEIGHBOURS) % n]


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


class _Growing:
    """An array on disk that is written in whole chunks, but for its end."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.waiting: list[np.ndarray] = []

    def append(self, values: np.ndarray) -> None:
        self.waiting.append(values)
        size = sum(part.size for part in self.waiting)
        if size >= self.array.chunks[0]:
            self.flush(size - size % self.array.chunks[0])

    def flush(self, n: int | None = None) -> None:
        """Write the first ``n`` of the values that wait, or all."""
        values = np.concatenate(self.waiting)
        start, new = self.array.shape[0], values[:n]
        if new.size:
            self.array.resize((start + new.size,))
            self.array[start:] = new
        self.waiting = [values[new.size :].copy()]


class _Store(NamedTuple):
    """A file open for writing, and how a growing array is made in it."""

    root: Any
    create: str  # a method of its groups
    options: dict[str, Any]

    def growing(self, group: Any, name: str, dtype: type) -> _Growing:
        return _Growing(getattr(group, self.create)(name, shape=(0,), dtype=dtype, **self.options))


@contextmanager
def _opened(path: Path, compression: str | None, zarr_format: int) -> Iterator[_Store]:
    if path.suffix == ".zarr":
        import zarr

        packing = {"chunks": (VALUES_A_PACKED_CHUNK,), "compressors": _blosc(zarr_format)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # remarks on formats to come
            yield _Store(zarr.open_group(path, mode="w", zarr_format=zarr_format), "create_array", packing)
            zarr.consolidate_metadata(path)
        return
    import h5py

    chunk = VALUES_A_PACKED_CHUNK if compression else VALUES_A_CHUNK
    packing = {"chunks": (chunk,), "compression": compression, "maxshape": (None,)}
    with h5py.File(path, "w") as file:
        yield _Store(file, "create_dataset", packing)


def _blosc(zarr_format: int) -> Any:
    """The same packing in the terms of either format."""
    if zarr_format == 2:
        from numcodecs import Blosc  # type: ignore[import-untyped]

        return Blosc("lz4", shuffle=Blosc.BITSHUFFLE)
    from zarr.codecs import BloscCodec

    return BloscCodec(cname="lz4", shuffle="bitshuffle")


def _write(store: _Store, real: Real, recipe: Recipe, n_cells: int, seed: int) -> int:
    """All cells, in the layout of AnnData; how many values there are."""
    blocks = _blocks(n_cells, len(real.types), seed)
    sizes = _write_counts(store, (n_cells, recipe.n_genes), _in_order(lambda block: draw(real, recipe, *block), blocks))
    types = real.types[np.concatenate([block.followed for block in blocks])]
    origin = {"source": real.source, "seed": seed, "real_cells_summed": recipe.n_parts, "share_kept": recipe.kept}
    obs = pd.DataFrame(
        {TYPE: pd.Categorical.from_codes(types, [f"type-{kind}" for kind in range(real.types.max() + 1)])},
        index=[f"cell-{i}" for i in range(n_cells)],
    )
    tables = {"obs": obs, "var": pd.DataFrame(index=gene_names(real, recipe)), "uns": {"atlas": origin}}
    for name in ("layers", "obsm", "obsp", "varm", "varp"):
        tables[name] = {}
    for name, table in tables.items():
        write_elem(store.root, name, table)
    store.root.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
    return int(sizes.sum())


def _write_counts(store: _Store, shape: tuple[int, int], blocks: Iterable[Rows]) -> np.ndarray:
    """The matrix as CSR; how many values each cell has."""
    group = store.root.create_group("X")
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(shape)})
    data, indices = store.growing(group, "data", np.float32), store.growing(group, "indices", np.int32)
    sizes = []
    for rows in blocks:
        data.append(rows.values)
        indices.append(rows.genes)
        sizes.append(rows.sizes)
    data.flush()
    indices.flush()
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    write_elem(group, "indptr", indptr)
    return np.diff(indptr)


def size_on_disk(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.generate", description=__doc__)
    parser.add_argument("path", type=Path, help="ends in .h5ad or .zarr")
    parser.add_argument("--cells", type=int, required=True)
    parser.add_argument("--genes", type=int, default=N_GENES)
    parser.add_argument("--density", type=float, default=DENSITY, help="share of entries above zero")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compression", choices=["gzip", "lzf"], help="of HDF5; without it, none")
    parser.add_argument("--zarr-format", type=int, choices=[2, 3], default=3)
    given = parser.parse_args(arguments)
    began = time.perf_counter()
    written = write_atlas(
        given.path,
        given.cells,
        given.genes,
        density=given.density,
        seed=given.seed,
        compression=given.compression,
        zarr_format=given.zarr_format,
    )
    seconds = time.perf_counter() - began
    print(
        f"{written.cells:,} cells x {written.genes:,} genes, {written.values:,} values ({written.density:.2%}), "
        f"{written.bytes:,} bytes, {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
