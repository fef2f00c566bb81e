"""The paper's ONMF_l20: maPALM with a growing penalty, argmax of the raw usages."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.peers import ours
from benchmarks.quality.protocol import Cells

TITLE = "ONMF_l20 (paper)"
GROUP = "peer"
missing, versions = ours.missing, ours.versions


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    return ours.published("onmf_l20", data, n_clusters, seed)
