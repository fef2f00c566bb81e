"""Run by the Python that has scanpy and harmonypy: reads cells.h5ad, writes labels.csv and spent.json."""

import json
import sys
import time
import warnings
from pathlib import Path

import anndata as ad
import harmonypy  # type: ignore[import-not-found]
import numpy as np
import pandas as pd
import scanpy as sc

warnings.simplefilter("ignore")
N_DIRECTIONS = 30


def clock() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def graph(adata: ad.AnnData, column: str, seed: int) -> None:
    """Scanpy's usual way to neighbours, Harmony on its principal components."""
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    sc.pp.scale(adata, max_value=10)
    sc.tl.pca(adata, n_comps=N_DIRECTIONS, random_state=seed)
    found = harmonypy.run_harmony(adata.obsm["X_pca"], adata.obs, column, random_state=seed, verbose=False).Z_corr
    adata.obsm["X_harmony"] = np.asarray(found if len(found) == adata.n_obs else found.T)
    sc.pp.neighbors(adata, use_rep="X_harmony", random_state=seed)


def leiden(adata: ad.AnnData, resolution: float, seed: int) -> np.ndarray:
    options = {"flavor": "igraph", "n_iterations": 2, "directed": False, "random_state": seed}
    sc.tl.leiden(adata, resolution=resolution, key_added="found", **options)
    return adata.obs["found"].to_numpy(str)


def main(folder: Path, column: str, seed: int, resolutions: list[float]) -> None:
    adata = ad.read_h5ad(folder / "cells.h5ad")
    twin = adata.copy()  # all is done twice: code that is compiled depends on the number of cells, and is not timed
    graph(twin, column, seed)
    leiden(twin, resolutions[0], seed)
    began = clock()
    graph(adata, column, seed)
    common, labels, spent = clock() - began, {}, {}
    for resolution in resolutions:
        began = clock()
        labels[str(resolution)] = leiden(adata, resolution, seed)
        spent[str(resolution)] = dict(zip(("seconds", "cpu"), (common + clock() - began).tolist(), strict=True))
    pd.DataFrame(labels).to_csv(folder / "labels.csv", index=False)
    (folder / "spent.json").write_text(json.dumps(spent))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), [float(value) for value in sys.argv[4:]])
