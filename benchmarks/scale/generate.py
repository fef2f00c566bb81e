"""Simulated atlases of any size, on disk: raw counts of cells that are resampled from real ones.

A simulated cell follows a real one. It is the sum of a few real cells from the neighbourhood of that cell, every
transcript of which is kept with one probability, so that sparsity, depth and clusters come from the data. How many real
cells and what probability follow from the density asked for. Genes beyond the real ones are copies of real genes,
counted in other cells of the same neighbourhood.

The real cells are the bone marrow cells beside the project (8,390 x 18,479, UMI counts). Where they are missing, cells
drawn from the profiles of `benchmarks.harness.atlas` take their place: scanpy brings no raw counts along.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd

from benchmarks.scale.draw import Recipe, all_cells, find_recipe, gene_names
from benchmarks.scale.real import Real, real_cells
from benchmarks.scale.store import Store, opened, size_on_disk, write_counts, write_tables

N_GENES, DENSITY = 28_000, 0.07
TYPE = "type"


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
        with opened(part, compression, zarr_format) as store:
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


def _write(store: Store, real: Real, recipe: Recipe, n_cells: int, seed: int) -> int:
    """All cells, in the layout of AnnData; how many values there are."""
    followed, blocks = all_cells(real, recipe, n_cells, seed)
    sizes = write_counts(store, (n_cells, recipe.n_genes), blocks)
    names = [f"type-{kind}" for kind in range(real.types.max() + 1)]
    obs = pd.DataFrame(
        {TYPE: pd.Categorical.from_codes(real.types[followed], names)}, index=[f"cell-{i}" for i in range(n_cells)]
    )
    origin = {"source": real.source, "seed": seed, "real_cells_summed": recipe.n_parts, "share_kept": recipe.kept}
    var = pd.DataFrame(index=gene_names(real, recipe))
    write_tables(store, {"obs": obs, "var": var, "uns": {"atlas": origin}})
    return int(sizes.sum())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.generate", description=__doc__)
    parser.add_argument("path", type=Path, help="ends in .h5ad or .zarr")
    parser.add_argument("--cells", dest="n_cells", type=int, required=True)
    parser.add_argument("--genes", dest="n_genes", type=int, default=N_GENES)
    parser.add_argument("--density", type=float, default=DENSITY, help="share of entries above zero")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compression", choices=["gzip", "lzf"], help="of HDF5; without it, none")
    parser.add_argument("--zarr-format", type=int, choices=[2, 3], default=3)
    given = parser.parse_args(arguments)
    began = time.perf_counter()
    written = write_atlas(**vars(given))
    seconds = time.perf_counter() - began
    print(
        f"{written.cells:,} cells x {written.genes:,} genes, {written.values:,} values ({written.density:.2%}), "
        f"{written.bytes:,} bytes, {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
