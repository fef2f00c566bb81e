"""Objects with a fit whose slots were changed by hand: what reads a fit uses them, or refuses them in one line."""

from __future__ import annotations

import contextlib
import functools
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata as ad
import h5py
import matplotlib as mpl
import numpy as np

import genesieve as gs

from .campaign import FaultError
from .crafted import CLEAR, WAYS
from .mutation import pick

USED = 3  # ways that each object is used


@functools.cache
def _new_cells() -> ad.AnnData:
    return gs.datasets.demo()[60:80, :50].copy()


def _write(path: Path) -> None:
    """A small fit with the tables that follow it."""
    adata = gs.datasets.demo()[:60, :50].copy()
    gs.tl.ssnmf(adata, 3, 20, random_state=0)
    gs.tl.markers(adata)
    gs.tl.top_genes(adata)
    gs.tl.biclusters(adata)
    gs.tl.outliers(adata)
    _enrich(adata)
    adata.write_h5ad(path)


def _enrich(adata: ad.AnnData) -> None:
    gs.tl.enrich(adata, {"A": list(adata.var_names[:9])}, min_size=1)


def _project(adata: ad.AnnData) -> None:
    new = _new_cells().copy()
    gs.tl.project(new, adata)
    if not np.isfinite(new.obsm["X_ssnmf"]).all() or (new.obsm["X_ssnmf"] < 0).any():
        raise FaultError("usages of new cells that are not finite and feasible")


USES: dict[str, Callable[[ad.AnnData, Path], Any]] = {
    "report": lambda adata, folder: gs.report(adata, folder / "report.html"),
    "project": lambda adata, folder: _project(adata),
    "markers": lambda adata, folder: gs.tl.markers(adata),
    "top_genes": lambda adata, folder: gs.tl.top_genes(adata),
    "enrich": lambda adata, folder: _enrich(adata),
    "outliers": lambda adata, folder: gs.tl.outliers(adata),
    "cluster": lambda adata, folder: gs.tl.cluster(adata, 2),
    "catalogue": lambda adata, folder: gs.tl.write_catalogue(adata, folder / "programs.tsv"),
    "usages": lambda adata, folder: gs.pl.usages(adata),
    "loadings": lambda adata, folder: gs.pl.loadings(adata),
    "overlap": lambda adata, folder: gs.pl.overlap(adata),
    "biclusters": lambda adata, folder: gs.pl.biclusters(adata),
}


def results(seed: int, folder: Path) -> str:
    """One object with one or two changed slots, read and used in three ways."""
    mpl.use("Agg")
    rng = np.random.default_rng([seed, 71])
    whole, path = folder / "whole.h5ad", folder / f"{seed}.h5ad"
    if not whole.exists():
        _write(whole)
    shutil.copyfile(whole, path)
    done = _change(path, rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adata = gs.io.read(path)
    except CLEAR as error:
        return _refused(error, f"{done}, reading")
    finally:
        path.unlink()
    ends = {_use(str(use), adata, folder, done) for use in rng.choice(list(USES), USED, replace=False)}
    return "used" if "used" in ends else "refused"


def _use(use: str, adata: ad.AnnData, folder: Path, done: list[str]) -> str:
    import matplotlib.pyplot as plt

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            USES[use](adata, folder)
        return "used"
    except CLEAR as error:
        return _refused(error, f"{done}, {use}")
    except Exception as error:
        raise FaultError(f"{done}, {use}: {error!r}"[:900]) from error
    finally:
        plt.close("all")


def _refused(error: Exception, about: str) -> str:
    if not str(error) or len(str(error).splitlines()) != 1:
        raise FaultError(f"{about}: {error!r}"[:900])
    return "refused"


def _change(path: Path, rng: np.random.Generator) -> list[str]:
    """Change slots of the fit in ways that HDF5 allows; what was done."""
    done = []
    with h5py.File(path, "a") as file:
        for _ in range(int(rng.integers(1, 3))):
            names: list[str] = []
            file.visit(names.append)
            names = [name for name in names if "ssnmf" in name]
            if not names:
                break
            name, way = str(pick(rng, names)), str(pick(rng, list(WAYS)))
            with contextlib.suppress(Exception):
                WAYS[way](file, name, rng)
                done.append(f"{name} {way}")
    return done
