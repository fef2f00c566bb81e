"""One data set fitted on one simulated machine; what it found is kept beside the record."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.data import DATA

# The demo's programs and genes; the others have as many programs as classes, or so many.
DEMO_RANK, DEMO_GENES = 8, 200
RANK, GENES = 12, 2000


@lru_cache(maxsize=1)  # every rule of labels asks for the same
def prepared(data: str) -> tuple[Any, int, int]:
    """The cells of a set, the number of programs and that of genes."""
    import genesieve as gs

    if data == "demo":
        return gs.datasets.demo(), DEMO_RANK, DEMO_GENES
    adata, column = DATA[data].read(), DATA[data].classes
    gs.pp.prepare(adata)
    rank = adata.obs[column].nunique() if column in adata.obs else RANK
    return adata, rank, min(GENES, adata.n_vars)


def take(data: str, machine: str, labels: str, found: str) -> dict[str, Any]:
    """Fit with the default options and the given rule of labels."""
    import genesieve as gs

    adata, rank, n_genes = prepared(data)
    model = gs.SSNMF(rank, n_genes=n_genes, labels=labels, random_state=0).fit(adata.X)
    Path(found).parent.mkdir(parents=True, exist_ok=True)
    np.savez(found, labels=model.labels_, genes=model.get_support(), programs=model.components_)
    return {"objective": model.objective_}
