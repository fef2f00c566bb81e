from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the suite is run from a checkout, it is not installed

from benchmarks.harness import atlas  # noqa: E402
from benchmarks.harness.goals import verdict  # noqa: E402
from benchmarks.harness.meter import Meter  # noqa: E402
from benchmarks.speed import goals, score  # noqa: E402
from benchmarks.speed.__main__ import SUITE, speed_job  # noqa: E402
from benchmarks.speed.results import time_to  # noqa: E402


@pytest.fixture
def factors() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((50, 3)), rng.random((20, 3))


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csr_matrix], ids=["dense", "csr", "matrix"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_score_is_the_explicit_residual(factors, store, dtype, monkeypatch):
    monkeypatch.setattr(score, "CELLS_AT_ONCE", 7)  # several blocks, the last one smaller
    H, W = factors
    X = np.random.default_rng(1).poisson(1.0, (50, 20)).astype(dtype)
    assert score.objective(store(X), H, W) == pytest.approx(0.5 * np.sum((X - H @ W.T) ** 2), rel=1e-12)


def test_score_of_an_exact_product_is_zero(factors):
    H, W = factors
    assert score.objective(H @ W.T, H, W) == pytest.approx(0.0, abs=1e-10)


def test_meter_sees_memory_that_was_freed_again():
    with Meter() as meter:
        np.ones(2**22).sum()  # 32 MiB
    assert meter.peak is None or 2**24 < meter.peak < 2**27
    assert meter.seconds > 0


def test_atlas_is_reproducible_and_as_sparse_as_it_says():
    X = atlas.load(500, 15_000, seed=1)
    assert (atlas.load(500, 15_000, seed=1) != X).nnz == 0
    assert X.dtype == np.float32
    assert X.has_canonical_format
    assert 0.08 < X.nnz / np.prod(X.shape) < 0.11
    np.testing.assert_allclose(np.expm1(X.toarray()).sum(axis=1), atlas.NORMALISED_DEPTH, rtol=1e-4)


def test_time_to_a_target():
    course = [(1.0, 30.0), (2.0, 20.0), (3.0, 10.0)]
    assert time_to(course, 20.0) == 2.0
    assert time_to(course, 5.0) is None


@pytest.mark.parametrize(
    ("value", "bound", "at_least", "starts"),
    [(25.0, 20.0, True, "met"), (10.0, 20.0, True, "missed by a factor of 2.00"), (2.0, 1.0, False, "missed by")],
)
def test_verdicts(value, bound, at_least, starts):
    assert verdict(value, bound, at_least).startswith(starts)


@pytest.mark.slow
def test_the_suite_runs_end_to_end(tmp_path):
    """Without R: its peer is skipped, with the reason in the table."""
    environment = {**os.environ, "PATH": str(tmp_path)}
    command = [sys.executable, "-m", "benchmarks.speed", "--quick", "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "benchmarks.md").read_text()
    assert "skipped: Rscript is not on the path" in page
    assert all(goal.work in page for goal in goals.GOALS)
    records = [json.loads(path.read_text()) for path in (tmp_path / "results").glob("*.json")]
    assert not [record for record in records if "failed" in record]
    assert {path.name for path in (tmp_path / "img").iterdir()} == {
        "bench-atlas-20k-nmf.png",
        "bench-atlas-20k-l20.png",
    }
    assert SUITE.run([speed_job("atlas-20k/palm", True)], tmp_path / "results", fresh=False) == "measured before"
