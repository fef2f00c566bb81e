from __future__ import annotations

import numpy as np

from genesieve.core import starts
from genesieve.core.cells.blocks import Blocks
from genesieve.core.constraints import RowSparse
from genesieve.core.objective import Overlap, gram_of
from genesieve.core.solvers import Problem, continuation, mapalm, orthogonality_error
from genesieve.datasets import synthetic


def test_continuation_makes_usages_orthogonal():
    blocks = Blocks(synthetic(random_state=0).X)
    problem = Problem(blocks, RowSparse(120), Overlap(), max_iter=200, tol=1e-3)
    stages = [Overlap(0.1 * 4.0**stage) for stage in range(12)]
    result = continuation(mapalm, problem, starts.random(blocks, 3, np.random.default_rng(0)), stages, tol=1e-3)
    assert orthogonality_error(gram_of(result.factors.H)) <= 1e-3
    assert result.penalty in stages[1:-1]  # neither at once nor only for want of stages
