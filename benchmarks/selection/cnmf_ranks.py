"""Run by the Python that has cNMF: reads cells.h5ad in a folder, writes the silhouette of every rank to scores.json."""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from cnmf import cNMF, load_df_from_npz  # type: ignore[import-not-found]


def main(folder: Path, starts: int, ranks: list[int]) -> None:
    model = cNMF(output_dir=str(folder), name="run")
    model.prepare(str(folder / "cells.h5ad"), components=ranks, n_iter=starts, seed=0)
    model.factorize(worker_i=0, total_workers=1)
    model.combine()
    model.k_selection_plot(close_fig=True)
    table = load_df_from_npz(model.paths["k_selection_stats"])
    scores = {int(rank): float(score) for rank, score in zip(table["k"], table["silhouette"], strict=True)}
    (folder / "scores.json").write_text(json.dumps(scores))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), [int(rank) for rank in sys.argv[3:]])
