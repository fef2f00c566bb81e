"""genesieve from a single start: what the cost of the default fit is compared with."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

from benchmarks.quality.peers import ours
from benchmarks.quality.protocol import Cells

TITLE = "genesieve, one start"
GROUP = "part"
missing, versions = ours.missing, ours.versions


def cluster(data: Cells, n_clusters: int, seed: int) -> np.ndarray:
    from genesieve.core import schedule

    with patch.object(schedule, "PENALISED_STARTS", 1):
        return ours.ssnmf(data, n_clusters, seed)
