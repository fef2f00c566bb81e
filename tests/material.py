"""Where tests find the reference material."""

from __future__ import annotations

from pathlib import Path

import pytest

from genesieve.paper.printed import NAMES

SHARED = Path(__file__).resolve().parents[2] / "shared"
# The methods, as the reference material spells them.
REFERENCE_NAMES = {method: name.replace("_lc0", "_CL0").replace("_l", "_L") for method, name in NAMES.items()}


def shared_file(*parts: str) -> Path:
    """A file of the reference material that stands beside the project, or a skip."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"reference material is not beside the project: {'/'.join(parts)}")
    return path
