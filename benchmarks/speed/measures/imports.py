"""How long imports take, each in a fresh interpreter, alternating."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from benchmarks.harness.results import Record

ROUNDS, QUICK_ROUNDS = 9, 1
# Loaded only by those who use them.
HEAVY = ("matplotlib", "anndata", "scanpy", "dask", "pandas")
OURS = f"""
import json, sys, time
began = time.perf_counter()
import genesieve
package = time.perf_counter() - began
heavy = [name for name in {HEAVY!r} if name in sys.modules]
from genesieve import SSNMF
print(json.dumps(dict(genesieve=package, estimator=time.perf_counter() - began, heavy=heavy)))
"""
SKLEARN = """
import json, time
began = time.perf_counter()
import sklearn.decomposition
print(json.dumps(dict(sklearn=time.perf_counter() - began)))
"""


def take(quick: bool) -> Record:
    """Median seconds of every import, and which heavy packages ``import genesieve`` brought along."""
    rounds = [_python(OURS) | _python(SKLEARN) for _ in range(QUICK_ROUNDS if quick else ROUNDS)]
    names = ("genesieve", "estimator", "sklearn")
    return {
        "seconds": {name: statistics.median(each[name] for each in rounds) for name in names},
        "heavy": rounds[0]["heavy"],
    }


def _python(code: str) -> Record:
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
