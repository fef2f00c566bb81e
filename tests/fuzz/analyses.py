"""Random analyses of an AnnData: prepared or not, fitted, and whatever may follow, in any order."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata as ad
import matplotlib as mpl
import numpy as np
import pandas as pd

import genesieve as gs

from .campaign import FaultError
from .drawing import draw, make_values, store
from .mutation import TOKENS, pick

CLEAR = (ValueError, TypeError, KeyError)
STORAGES = ("array", "fortran", "csr", "csc", "csr_array", "unsorted", "repeated")
KINDS = ("planted", "counts", "counts", "counts", "sparse", "constant", "zero", "duplicated", "outlier", "empty rows")
Step = Callable[[ad.AnnData, np.random.Generator, Path], Any]


def _drawn(seed: int, rng: np.random.Generator) -> ad.AnnData:
    """Cells with names and columns of all sorts."""
    cells, genes = draw(seed).values.shape
    values = make_values(str(pick(rng, KINDS)), cells, genes, rng).astype(pick(rng, ("f4", "f8", "f4", "i4")))
    names = [f"{pick(rng, TOKENS[:20])}{number}" if rng.random() < 0.1 else f"g{number}" for number in range(genes)]
    adata = ad.AnnData(store(values, str(pick(rng, STORAGES)), rng), var=pd.DataFrame(index=names))
    adata.obs["sample"] = pd.Categorical(rng.choice(["a", "b", "c", "=d"], cells))
    adata.obs["group"] = rng.choice(np.array(["x", "y", None], dtype=object), cells, p=[0.5, 0.45, 0.05])
    if rng.random() < 0.3:
        adata.layers["counts"] = adata.X.copy()
    if rng.random() < 0.2:
        adata.obsm["X_umap"] = rng.normal(size=(cells, 2)) * float(pick(rng, (0.0, 1.0, 1e30, np.nan)))
    return adata


def _fit(adata: ad.AnnData, rng: np.random.Generator, folder: Path) -> None:
    rank, budget = int(rng.integers(1, min(adata.shape, default=1) + 1)), int(rng.integers(1, adata.n_vars + 1))
    options: dict[str, Any] = {"max_iter": 10, "init": "random", "clusters": bool(rng.random() < 0.3)}
    options |= {"batch_key": "sample"} if rng.random() < 0.15 else {}
    gs.tl.ssnmf(adata, min(rank, 6), budget if rng.random() < 0.9 else None, **options)


STEPS: dict[str, Step] = {
    "fit": _fit,
    "prepare": lambda adata, rng, folder: gs.pp.prepare(adata, min_cells=int(rng.integers(1, 4))),
    "gene_scores": lambda adata, rng, folder: gs.tl.gene_scores(adata),
    "markers": lambda adata, rng, folder: gs.tl.markers(adata),
    "top_genes": lambda adata, rng, folder: gs.tl.top_genes(adata, int(rng.integers(1, 9))),
    "biclusters": lambda adata, rng, folder: gs.tl.biclusters(adata, threshold=float(rng.uniform(0, 3))),
    "cluster": lambda adata, rng, folder: gs.tl.cluster(adata, int(rng.integers(1, 5))),
    "outliers": lambda adata, rng, folder: gs.tl.outliers(adata),
    "enrich": lambda adata, rng, folder: gs.tl.enrich(adata, {"=A": list(adata.var_names[:4])}, min_size=1),
    "panel": lambda adata, rng, folder: gs.tl.panel(adata, int(rng.integers(1, adata.n_vars + 1))),
    "compare": lambda adata, rng, folder: gs.tl.compare(adata, "group", "sample", min_cells=1, n_permutations=99),
    "project": lambda adata, rng, folder: gs.tl.project(adata.copy(), adata, key_added="again"),
    "catalogue": lambda adata, rng, folder: gs.tl.write_catalogue(adata, folder / "programs.tsv"),
    "report": lambda adata, rng, folder: gs.report(adata, folder / "report.html"),
    "map": lambda adata, rng, folder: _drawn_plot(gs.pl.cell_map, adata),
    "usages": lambda adata, rng, folder: _drawn_plot(gs.pl.usages, adata),
    "loadings": lambda adata, rng, folder: _drawn_plot(gs.pl.loadings, adata),
}


def _drawn_plot(plot: Callable[[ad.AnnData], Any], adata: ad.AnnData) -> None:
    import matplotlib.pyplot as plt

    try:
        plot(adata).figure.canvas.draw()
    finally:
        plt.close("all")


def analyses(seed: int, folder: Path) -> str:
    """One analysis: every step ends well or in one clear line, and nothing that is written is no number."""
    mpl.use("Agg")
    rng = np.random.default_rng([seed, 59])
    adata, done = _drawn(seed, rng), []
    steps = [*(["prepare"] if rng.random() < 0.6 else []), "fit", *rng.choice(list(STEPS), size=3)]
    for step in map(str, steps):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                STEPS[step](adata, rng, folder)
            done.append(step)
        except CLEAR as error:
            if not str(error) or len(str(error).splitlines()) != 1:
                raise FaultError(f"{adata.shape}, after {done}, {step}: {error!r}"[:900]) from None
        except Exception as error:
            raise FaultError(f"{adata.shape}, after {done}, {step}: {error!r}"[:900]) from error
    _check_slots(adata, done)
    return "fitted" if "fit" in done else "refused"


def _check_slots(adata: ad.AnnData, done: list[str]) -> None:
    """Raise where a factor is not finite, or the object cannot be written."""
    if "fit" not in done:
        return
    for name, factor in (("usages", adata.obsm["X_ssnmf"]), ("weights", adata.varm["ssnmf"])):
        if not (np.isfinite(factor).all() and (np.asarray(factor) >= 0).all()):
            raise FaultError(f"{adata.shape}, after {done}: {name} are not finite and feasible")
