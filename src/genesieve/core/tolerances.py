"""How far programs are settled before the last step, as a relative decrease of the objective in an iteration."""

from __future__ import annotations

from genesieve.core.solvers import LOW_RANK, fine_tolerance

# Programs settle on leading directions, so it costs little to be thorough: the share of the fit's tolerance to go to.
SETTLE_TOLERANCE = 0.05
# Without a budget of genes: beyond this share, iterations gain a tenth of what starts differ by. From a high rank on
# ever more of them are needed for the same gain, and the share grows with the square of the rank.
PLAIN_SETTLE_TOLERANCE = 0.2
HIGH_RANK = 32


def settle_tolerance(tol: float, rank: int, *, keeps_budget: bool) -> float:
    """What to settle to before X goes to ``tol``: at high ranks X has the more to mend, however fine."""
    if keeps_budget and rank <= LOW_RANK:
        return SETTLE_TOLERANCE * tol
    share = SETTLE_TOLERANCE if keeps_budget else PLAIN_SETTLE_TOLERANCE * max(rank / HIGH_RANK, 1.0) ** 2
    return max(min(share, 1.0) * tol, min(fine_tolerance(rank), tol))
