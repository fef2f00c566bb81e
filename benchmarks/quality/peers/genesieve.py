"""genesieve as it comes: SSNMF's defaults, every cell labelled by the program it uses most."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.peers import ours
from benchmarks.quality.protocol import Cells

TITLE = "genesieve"
GROUP = "genesieve"
missing, versions = ours.missing, ours.versions


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    return ours.ssnmf(data, n_clusters, seed)
