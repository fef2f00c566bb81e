"""How far programs are settled before the last step, as a relative decrease of the objective in an iteration."""

from __future__ import annotations

from genesieve.core.solvers import LOW_RANK, fine_tolerance

# Programs settle on leading directions, so it costs little to be thorough: the share of the fit's tolerance to go to.
SETTLE_TOLERANCE = 0.05
# Without a budget of genes: beyond this share, iterations gain a tenth of what starts differ by. From a high rank on
# ever more of them are needed for the same gain, and the share grows with this power of the rank: to all at 64.
PLAIN_SETTLE_TOLERANCE = 0.15
HIGH_RANK, HIGH_RANK_POWER = 32, 2.75
# No finer than this share of the fine tolerance.
PLAIN_LEAST = 0.75


def settle_tolerance(tol: float, rank: int, *, keeps_budget: bool) -> float:
    """What to settle to before X goes to ``tol``: at high ranks X has the more to mend, however fine."""
    fine = fine_tolerance(rank)
    if keeps_budget:
        return SETTLE_TOLERANCE * tol if rank <= LOW_RANK else max(SETTLE_TOLERANCE * tol, min(fine, tol))
    if tol <= fine:
        return tol
    share = PLAIN_SETTLE_TOLERANCE * max(rank / HIGH_RANK, 1.0) ** HIGH_RANK_POWER
    return max(min(share, 1.0) * tol, PLAIN_LEAST * fine)
