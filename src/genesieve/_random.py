"""One source of randomness: whatever a user passes as ``random_state`` becomes a Generator."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_generator(random_state: Any) -> np.random.Generator:
    """A Generator from None, a seed, a Generator (used as it is) or a legacy RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max, size=4))
    return np.random.default_rng(random_state)
