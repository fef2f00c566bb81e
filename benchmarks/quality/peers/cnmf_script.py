"""Run by the Python that has cNMF: reads cells.h5ad in a folder, writes labels.json there."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from cnmf import cNMF  # type: ignore[import-not-found]

RESTARTS = 20
# cNMF's default leaves out programs that differ from those of other restarts; 2 keeps all, for when too few are left.
THRESHOLDS = (0.5, 2.0)


def main(folder: Path, n_clusters: int, n_genes: int, seed: int) -> None:
    model = cNMF(output_dir=str(folder), name="run")
    model.prepare(
        str(folder / "cells.h5ad"), components=[n_clusters], n_iter=RESTARTS, seed=seed, num_highvar_genes=n_genes
    )
    model.factorize(worker_i=0, total_workers=1)
    model.combine()
    usages = consensus(model, n_clusters)
    (folder / "labels.json").write_text(json.dumps(usages.to_numpy().argmax(axis=1).tolist()))


def consensus(model: Any, n_clusters: int) -> Any:
    """Usages (cells, clusters) at the first threshold that leaves enough programs."""
    for threshold in THRESHOLDS:
        try:
            model.consensus(n_clusters, density_threshold=threshold, show_clustering=False, build_ref=False)
        except (RuntimeError, ValueError):
            if threshold == THRESHOLDS[-1]:
                raise
        else:
            return model.load_results(K=n_clusters, density_threshold=threshold)[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
