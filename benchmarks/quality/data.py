"""The labelled data sets, and which of them the goals are about."""

from __future__ import annotations

from functools import lru_cache

from benchmarks.harness.data import DATA
from benchmarks.quality.cells import Labelled, prepared

# Sets whose labels were looked at when defaults were chosen; all others confirm. Whoever changes a default keeps this
# true. None: nobody has said, and the page says so.
CHOSEN_ON: frozenset[str] | None = frozenset(
    {"pollen", "yan", "deng", "goolam", "pbmc3k", "zeisel", "bladder", "xin", "kang"}
)
GOAL_SETS = ("pollen", "yan", "deng", "goolam", "pbmc3k", "zeisel", "bladder", "xin")
SETS = {name: DATA[name] for name in (*GOAL_SETS, "camp1", "kang")}


@lru_cache(maxsize=1)
def load(name: str) -> Labelled:
    """Prepared cells and their classes."""
    data_set = SETS[name]
    adata = data_set.read()
    return prepared(adata, adata.obs[data_set.classes].astype(str).to_numpy(), min_cells=data_set.min_cells)


def role(name: str) -> str:
    """What a set is for, in a word."""
    if CHOSEN_ON is None:
        return "not declared"
    return "chosen on" if name in CHOSEN_ON else "confirms"
