"""Who selects genes: from cells without labels, the number of programs and a seed to a function that picks k genes."""

from __future__ import annotations

from functools import partial

from benchmarks.genes.selectors import elsewhere
from benchmarks.harness.elsewhere import installed_there
from benchmarks.harness.peers import Peer, packages
from benchmarks.quality.genes import best_of_more, genesieve, panel, sparse_kmeans, variable

PYTHON = elsewhere.PYTHON
OURS, SCANPY = packages("genesieve"), packages("scanpy")

SELECTORS: dict[str, Peer] = {
    "genesieve": Peer("genesieve", "genesieve", genesieve, OURS),
    "more": Peer("genesieve, the best of a fit with 2,000", "more", best_of_more, OURS),
    "panel": Peer("genesieve, `gs.tl.panel`", "panel", panel, OURS),
    "seurat": Peer("scanpy, seurat", "variable", variable, SCANPY),
    "cell_ranger": Peer("scanpy, cell_ranger", "variable", partial(variable, flavor="cell_ranger"), SCANPY),
    "seurat_v3": Peer(
        "scanpy, seurat_v3",
        "variable",
        partial(elsewhere.pick, selector="seurat_v3"),
        installed_there(PYTHON, "scikit-misc", "skmisc.loess"),
    ),
    "l1": Peer("sparse k-means weights (l1)", "peer", sparse_kmeans, OURS),
    "triku": Peer("triku", "peer", partial(elsewhere.pick, selector="triku"), installed_there(PYTHON, "triku")),
    "cosg": Peer(
        "COSG on Leiden clusters", "peer", partial(elsewhere.pick, selector="cosg"), installed_there(PYTHON, "cosg")
    ),
}
