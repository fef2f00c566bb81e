"""The rule: programs count that stand out of the noise and that two halves of the cells agree on.

Where most of the programs that stand out replicate, their number is clear. Where they fade, into noise or into each
other, no number is right, and few are better: as many as predict most of what can be predicted, if so many replicate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genesieve.selection.evidence import Evidence

# The share of what can be predicted of genes and cells held out that is enough, where programs fade.
ENOUGH = 0.9
# Signals that differ by no more than this many programs agree.
SAME_NUMBER = 1


def programs(found: Evidence, allowed: Sequence[int] | None) -> int:
    """How many programs to ask for, of the numbers that are allowed."""
    by_signal = signals(found)
    number = by_signal["stand_out"] if is_clear(found) else min(by_signal["replicate"], by_signal["enough"])
    return nearest(number, allowed)


def is_clear(found: Evidence) -> bool:
    """Whether the programs that stand out have an end, and most of them replicate."""
    above, rounds = found.spectrum.n_above, found.replication
    return above == 1 or (above < found.most and (not rounds or rounds[0].is_whole))


def signals(found: Evidence) -> dict[str, int]:
    """The number of programs by each signal.

    Those that stand out, those that replicate, the fewest that predict enough, and those with the lowest error.
    """
    above, rounds = found.spectrum.n_above, found.replication
    saved = 1.0 - found.errors.error[: max(above, 1)]
    return {
        "stand_out": above,
        "replicate": max(rounds[-1].n_found, 1) if rounds else above,
        "enough": int(np.argmax(saved >= ENOUGH * saved.max())) + 1,
        "held_out": int(np.argmin(found.errors.error)) + 1,
    }


def nearest(number: int, allowed: Sequence[int] | None, *, upwards: bool = False) -> int:
    """The allowed number nearest to one; ``upwards``, the next that is not below it, if there is one."""
    if allowed is None:
        return number
    above = [size for size in allowed if size >= number]
    return min(above) if upwards and above else min(allowed, key=lambda size: abs(size - number))


def in_words(found: Evidence, count: int, n_genes: int) -> str:
    """Why, in a sentence."""
    by_signal = signals(found)
    said = f"{by_signal['stand_out']} directions of the cells stand out of the noise"
    if found.replication:
        of = f"{found.replication[0].n_found} of as many programs are found again in halves of the cells"
        faded = f", programs fade, and {by_signal['enough']} predict {ENOUGH:.0%} of what can be predicted"
        said += f", {of}{'' if is_clear(found) else faded}"
    return f"{said}; of {n_genes} genes, {count} are predicted by the others better than by their mean"
