"""The numerical tests again, as on other processors: ``python tests/portable.py [--quick] [--seed N] [of pytest]``.

What a processor changes is the last digits: which vector instructions NumPy takes, which kernels OpenBLAS takes, what
numba compiles for, and how many threads add up. Each simulated machine sets these for a run of its own, in an order of
tests and with a hash seed drawn anew; what is printed repeats a run that failed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

try:
    from numpy._core import _multiarray_umath as numpy_core
except ImportError:  # NumPy 1
    from numpy.core import _multiarray_umath as numpy_core

NUMERICAL = [
    "tests/core", "tests/estimators", "tests/interpret", "tests/tl", "tests/test_metrics.py", "tests/test_pp.py",
]  # fmt: skip
# What a few minutes allow: the laws of the core, the estimators, and the replay of the published runs.
QUICK = [
    "tests/core/test_constraints.py", "tests/core/test_nnls.py", "tests/core/test_objective.py",
    "tests/core/test_starts.py", "tests/core/solvers", "tests/core/cells/test_blocks.py",
    "tests/core/cells/test_low_rank.py", "tests/core/cells/test_transform.py", "tests/estimators/test_parity.py",
    "tests/estimators/test_sparse_kmeans.py", "tests/estimators/test_ssnmf.py", "tests/interpret",
]  # fmt: skip
# Kernels of OpenBLAS, and the instructions without which they cannot run (as NumPy calls them).
KERNELS = {"Nehalem": "SSE42", "Haswell": "AVX2", "SkylakeX": "AVX512_SKX"}

Environment = dict[str, str]


def machines() -> dict[str, Environment]:
    """Environments that stand for other processors, as far as this one can play them."""
    here = numpy_core.__cpu_features__
    vectors = [
        name for name in numpy_core.__cpu_dispatch__ if here.get(name)
    ]  # naming one that is not here is an error
    widest = [name for name in vectors if "AVX512" in name or name == "X86_V4"]
    found = {
        "oldest": {**numpy_without(vectors), "OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "generic", **threads(1)},
        "Haswell": {**numpy_without(widest), "OPENBLAS_CORETYPE": "Haswell", **threads(2)},
        "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX", **threads(2)},
        "NumPy without vectors": {**numpy_without(vectors), **threads(2)},
        "generic numba": {"NUMBA_CPU_NAME": "generic", **threads(1)},
        "Nehalem kernels": {"OPENBLAS_CORETYPE": "Nehalem", **threads(2)},
    }
    return {
        name: environment
        for name, environment in found.items()
        if here.get(KERNELS.get(environment.get("OPENBLAS_CORETYPE", ""), ""), "OPENBLAS_CORETYPE" not in environment)
    }


def numpy_without(features: list[str]) -> Environment:
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(features)} if features else {}


def threads(number: int) -> Environment:
    return dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), str(number))


def passes(name: str, environment: Environment, arguments: list[str], seed: int) -> bool:
    environment = {**environment, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-m", "pytest", "-q", "--shuffle", str(seed), *arguments]
    settings = " ".join(f"{key}='{value}'" for key, value in environment.items())
    print(f"\n=== {name}\n{settings} {' '.join(command)}", flush=True)
    root = Path(__file__).resolve().parents[1]
    return subprocess.run(command, env={**os.environ, **environment}, cwd=root, check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two machines and the laws of the core")
    parser.add_argument("--machine", action="append", help="only this one; may be given again")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="of the order and of hashes")
    given, options = parser.parse_known_args()
    chosen = given.machine or (["oldest", "Haswell"] if given.quick else list(machines()))
    absent = [name for name in chosen if name not in machines()]
    print(f"Seed {given.seed}. This processor cannot play: {', '.join(absent) or 'none left out'}")
    arguments = [*(QUICK if given.quick else NUMERICAL), *(options or ["-n", "auto", "--dist", "loadfile"])]
    ran = {name: machines()[name] for name in chosen if name not in absent}
    failed = [name for name, environment in ran.items() if not passes(name, environment, arguments, given.seed)]
    sys.exit(f"Failed as on: {', '.join(failed)}" if failed else None)


if __name__ == "__main__":
    main()
