"""Run by the Python that has cNMF: reads cells.h5ad in a folder, writes the usages of its consensus there."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from cnmf import cNMF  # type: ignore[import-not-found]

RESTARTS = 20
# cNMF's default leaves out programs that differ from those of other restarts; 2 keeps all, for when too few are left.
THRESHOLDS = (0.5, 2.0)


def main(folder: Path, rank: int, n_genes: int, seed: int) -> None:
    model = cNMF(output_dir=str(folder), name="run")
    cells = str(folder / "cells.h5ad")
    model.prepare(cells, components=[rank], n_iter=RESTARTS, seed=seed, num_highvar_genes=n_genes)
    model.factorize(worker_i=0, total_workers=1)
    model.combine()
    for threshold in THRESHOLDS:
        try:
            model.consensus(rank, density_threshold=threshold, show_clustering=False, build_ref=False)
        except (RuntimeError, ValueError):
            if threshold == THRESHOLDS[-1]:
                raise
        else:
            break
    np.save(folder / "usages.npy", model.load_results(K=rank, density_threshold=threshold)[0].to_numpy())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
