"""Run by the Python that has cnmf and what it asks for: reads cells.h5ad, writes labels.csv and spent.json."""

import contextlib
import json
import os
import sys
import time
import warnings
from pathlib import Path

import anndata as ad
import matplotlib as mpl
import numpy as np
import pandas as pd

mpl.use("Agg")
warnings.simplefilter("ignore")
from cnmf import Preprocess, cNMF  # type: ignore[import-not-found]  # noqa: E402

RESTARTS = 20  # of a hundred by default: fewer than most users take
THRESHOLD = 2.0  # keeps the programs of all restarts


def programs(adata: ad.AnnData, folder: Path, column: str, rank: int, seed: int, restarts: int) -> np.ndarray:
    """Counts that Harmony corrected, their programs, and the program that each cell uses most."""
    base = str(folder / "corrected")
    Preprocess(random_seed=seed).preprocess_for_cnmf(
        adata, harmony_vars=column, n_top_rna_genes=adata.n_vars, makeplots=False, save_output_base=base
    )
    model = cNMF(output_dir=str(folder), name=f"fit_{restarts}")
    files = {"tpm_fn": f"{base}.TP10K.h5ad", "genes_file": f"{base}.Corrected.HVGs.txt"}
    model.prepare(f"{base}.Corrected.HVG.Varnorm.h5ad", components=[rank], n_iter=restarts, seed=seed, **files)
    model.factorize(worker_i=0, total_workers=1)
    model.combine()
    model.consensus(rank, density_threshold=THRESHOLD, show_clustering=False, build_ref=False)
    usages = model.load_results(K=rank, density_threshold=THRESHOLD)[0]
    return usages.reindex(adata.obs_names).to_numpy().argmax(axis=1)


def main(folder: Path, column: str, seed: int, rank: int) -> None:
    adata = ad.read_h5ad(folder / "cells.h5ad")
    few = adata[:: len(adata) // 1500].copy()
    programs(few, folder, column, rank, seed, 5)  # compiled code is read before the clock runs
    began = time.perf_counter(), time.process_time()
    labels = programs(adata, folder, column, rank, seed, RESTARTS)
    spent = {"seconds": time.perf_counter() - began[0], "cpu": time.process_time() - began[1]}
    pd.DataFrame({str(rank): labels}).to_csv(folder / "labels.csv", index=False)
    (folder / "spent.json").write_text(json.dumps({str(rank): spent}))


if __name__ == "__main__":
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
