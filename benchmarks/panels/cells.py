"""The cells of a data set as every method gets them: counted, sampled, brought to one depth and logged."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.harness.data import DATA, log_normalised
from benchmarks.harness.peers import Missing

if TYPE_CHECKING:
    from anndata import AnnData

SETS = ("pbmc3k", "zeisel", "bladder", "kang", "xin")
CHOSEN_ON = ("pbmc3k", "zeisel", "bladder")  # by which the settings of `gs.tl.panel` were chosen; the others confirm
TYPES = "cell_type"
LOGGED = ("zeisel", "xin")
LEAST_CELLS = 10  # that show a gene
VARIABLE = 1000  # genes that Spapros preselects from, as in its tutorial


@cache
def read(name: str, n_cells: int) -> AnnData:
    """A sample of its cells, the same for every method."""
    import anndata
    from scipy import sparse

    whole = DATA[name].read()
    if TYPES not in whole.obs:
        raise Missing(f"{name} has no types")
    drawn = np.random.default_rng(0).permutation(whole.n_obs)[:n_cells]
    whole = whole[np.sort(drawn)]
    X = sparse.csr_array(whole.X)
    seen = np.asarray((X > 0).sum(axis=0)).ravel() >= LEAST_CELLS
    X = (X if name in LOGGED else log_normalised(X))[:, seen]
    return anndata.AnnData(
        sparse.csr_matrix(X.astype(np.float32)),
        obs=pd.DataFrame({TYPES: pd.Categorical(whole.obs[TYPES].astype(str))}, index=whole.obs_names.astype(str)),
        var=pd.DataFrame(index=whole.var_names[seen].astype(str)),
        uns={"data": name, "n_cells": n_cells},  # as asked for
    )
