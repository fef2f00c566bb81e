"""The cells of a data set as every method gets them: counted, sampled, brought to one depth and logged."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.harness.data import DATA, log_normalised
from benchmarks.panels.space import Space

if TYPE_CHECKING:
    from anndata import AnnData

SETS = ("pbmc3k", "zeisel", "bladder", "kang", "xin")
DRAWN_SETS = (*SETS, "bmmc")  # in other draws; that one has no types, its clusters by all genes take their place
CLUSTERS = 10
CHOSEN_ON = ("pbmc3k", "zeisel", "bladder")  # by which the settings of `gs.tl.panel` were chosen; the others confirm
TYPES = "cell_type"
LOGGED = ("zeisel", "xin")
LEAST_CELLS = 10  # that show a gene
MOST_OF_A_SET = 0.75  # of its cells in a draw, so that draws of a small set differ
VARIABLE = 1000  # genes that Spapros preselects from, as in its tutorial


@cache
def read(name: str, n_cells: int, draw: int = 0) -> AnnData:
    """A sample of its cells, the same for every method; 0 is the one that the evaluator of Spapros gets."""
    import anndata
    from scipy import sparse

    whole = DATA[name].read()
    most = min(n_cells, int(MOST_OF_A_SET * whole.n_obs)) if draw else n_cells
    drawn = np.random.default_rng(draw).permutation(whole.n_obs)[:most]
    whole = whole[np.sort(drawn)]
    X = sparse.csr_array(whole.X)
    seen = np.asarray((X > 0).sum(axis=0)).ravel() >= LEAST_CELLS
    X = sparse.csr_matrix((X if name in LOGGED else log_normalised(X))[:, seen].astype(np.float32))
    types = whole.obs[TYPES] if TYPES in whole.obs else Space.of(X.toarray()).clusters(CLUSTERS)
    return anndata.AnnData(
        X,
        obs=pd.DataFrame({TYPES: pd.Categorical(np.asarray(types).astype(str))}, index=whole.obs_names.astype(str)),
        var=pd.DataFrame(index=whole.var_names[seen].astype(str)),
        uns={"data": name, "n_cells": n_cells},  # as asked for
    )
