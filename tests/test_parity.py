"""Parity with the published implementation on the paper's synthetic data."""

from __future__ import annotations

import numpy as np
import pytest

import published
from genesieve.metrics import nmi


@pytest.mark.parametrize("name", published.METHODS)
def test_start_0_replays_to_the_published_factors(reference, name):
    result = published.METHODS[name](reference.X, reference.starts[0])
    np.testing.assert_allclose(result.W, reference.results[name].W, rtol=0, atol=1e-8)
    np.testing.assert_allclose(result.H, reference.results[name].H, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", published.METHODS)
def test_all_starts_replay_to_the_published_nmi(reference, name):
    runs = [published.METHODS[name](reference.X, start) for start in reference.starts]
    scores = [nmi(reference.labels, run.H.argmax(axis=1), average="arithmetic") for run in runs]
    np.testing.assert_allclose(scores, reference.nmi[name], atol=1e-6)  # printed to six digits
