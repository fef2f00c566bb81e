"""The published runs, composed from the core's own steps in the published order (W first, then H).

The shared reference README states the recipe. Matrices are tall here: X is cells x genes, W genes x rank, H cells x
rank.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genesieve.core.constraints import Constraint, NonNegative, RowSparse, spectral_norm
from genesieve.core.objective import Overlap, gram_of, half_squared_residual
from genesieve.core.solvers import Factors, orthogonality_error, proximal_step

RIDGE = 1e-4  # of all orthogonal variants
GENES = 120
PLUS = NonNegative().project


def nmf(X: np.ndarray, start: Factors, *, tol: float = 1e-3, max_iter: int = 500) -> Factors:
    """Extrapolated steps with Frobenius norms for L, restarted where the objective rises (Xu and Yin, 2013)."""
    size = np.linalg.norm(X)
    current = Factors(*(factor / np.linalg.norm(factor) * np.sqrt(size) for factor in start))
    point, momentum, objective = current, 1.0, np.inf
    bounds = Factors(1.0, 1.0)
    for iteration in range(1, max_iter + 1):
        gram = gram_of(current.H)
        W = proximal_step(point.W, gram, X.T @ current.H, PLUS, lipschitz=(w_bound := np.linalg.norm(gram)))
        gram = gram_of(W)
        H = proximal_step(point.H, gram, X @ W, PLUS, lipschitz=(h_bound := np.linalg.norm(gram)))
        value = half_squared_residual(size**2, W, X.T @ H, gram_of(H))
        if value >= objective:
            point = current
            continue
        previous, current = current, Factors(H, W)
        last, momentum = momentum, (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        weights = [min((last - 1) / momentum, np.sqrt(b / a)) for b, a in zip(bounds, (h_bound, w_bound), strict=True)]
        point = Factors(
            *(new + w * (new - old) for new, old, w in zip(current, previous, weights, strict=True)),
        )
        bounds, objective = Factors(h_bound, w_bound), value
        if iteration >= 21 and change(current, previous) <= tol:
            break
    return current


def change(current: Factors, previous: Factors) -> float:
    return sum(
        float(np.linalg.norm(new - old) / np.linalg.norm(old)) for new, old in zip(current, previous, strict=True)
    )


def alternate(
    X: np.ndarray, start: Factors, constraint: Constraint, penalty: Overlap, *, at_least: int, max_iter: int = 200
) -> Factors:
    """PALM with W first."""
    current = start
    for iteration in range(1, max_iter + 1):
        W = proximal_step(current.W, gram_of(current.H), X.T @ current.H, constraint.project)
        quadratic = penalty.cell_quadratic(gram_of(W))
        H = proximal_step(current.H, quadratic, X @ W, PLUS, lipschitz=spectral_norm(quadratic))
        previous, current = current, Factors(H, W)
        if iteration >= at_least and change(current, previous) <= 1e-3:
            break
    return current


def continued(X: np.ndarray, start: Factors, constraint: Constraint) -> Factors:
    """Continuation: rho from 0.1, times 4 a stage, until H is orthogonal and the stage changed little."""
    current, rho = start, 0.1
    for _ in range(12):
        previous, current = current, alternate(X, current, constraint, Overlap(rho, RIDGE), at_least=6)
        rho *= 4
        if orthogonality_error(gram_of(current.H)) <= 1e-3 and change(current, previous) <= 1e-3:
            break
    return current


ROWS = RowSparse(GENES)
METHODS: dict[str, Callable[[np.ndarray, Factors], Factors]] = {
    "NMF": nmf,
    "NMF_L20": lambda X, start: alternate(X, nmf(X, start), ROWS, Overlap(), at_least=21),
    "ONMF": lambda X, start: continued(X, start, NonNegative()),
    "ONMF_L20": lambda X, start: continued(X, start, ROWS),
    "ONMF_L20_rho": lambda X, start: alternate(X, nmf(X, start, tol=3e-3), ROWS, Overlap(1.0, RIDGE), at_least=6),
}
