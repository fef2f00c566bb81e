"""Some runs killed at random moments; `make kills` does many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_nothing_is_lost_by_kills():
    program = "from tests.fuzz.kills import kill_many; ends = kill_many(6, 1, with_dask=False)"
    program += "; print(sum(times for how, times in ends.items() if not how.startswith('of them')))"
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=quiet, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == ["6"], done.stderr[-2000:]
