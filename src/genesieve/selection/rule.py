"""The rule: programs count that stand out of the noise and that two halves of the cells agree on.

Where most of the programs that stand out replicate, their number is clear. Where they fade, into noise or into each
other, no number is right, and few are better: programs are counted that add something to what can be predicted of
genes and cells held out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from genesieve.selection.evidence import Evidence

# The share of what can be predicted of genes and cells held out that a program has to add, where programs fade.
LEAST_SHARE = 0.025


def programs(found: Evidence, allowed: Sequence[int] | None) -> int:
    """How many programs to ask for, of the numbers that are allowed."""
    by_signal = signals(found)
    number = by_signal["stand_out" if is_clear(found) else "add"]
    return nearest(number, allowed)


def is_clear(found: Evidence) -> bool:
    """Whether the programs that stand out have an end, and most of them replicate."""
    above, halves = found.spectrum.n_above, found.replication
    return above == 1 or (above < found.most and (halves is None or halves.is_whole))


def signals(found: Evidence) -> dict[str, int]:
    """The number of programs by each signal.

    Those that stand out, that replicate, that add to what can be predicted, and those with the lowest error.
    """
    above, halves = found.spectrum.n_above, found.replication
    saved = 1.0 - found.errors.error[: max(above, 1)]
    return {
        "stand_out": above,
        "replicate": above if halves is None else max(halves.n_found, 1),
        "add": 1 + (int((np.diff(saved) >= LEAST_SHARE * saved.max()).sum()) if saved.max() > 0 else 0),
        "held_out": int(np.argmin(found.errors.error)) + 1,
    }


def nearest(number: int, allowed: Sequence[int] | None, *, upwards: bool = False) -> int:
    """The allowed number nearest to one; ``upwards``, the next that is not below it, if there is one."""
    if allowed is None:
        return number
    above = [size for size in allowed if size >= number]
    return min(above) if upwards and above else min(allowed, key=lambda size: abs(size - number))


def in_words(found: Evidence, count: int, n_genes: int, most_genes: int) -> str:
    """Why, in a sentence; ``count`` genes earn a place, of which at most so many are suggested."""
    by_signal = signals(found)
    said = f"{by_signal['stand_out']} directions of the cells stand out of the noise"
    if found.replication is not None:
        said += f", and {by_signal['replicate']} programs are found again in both halves of the cells"
    if not is_clear(found):
        said += f"; no number is clear, so programs count that add {LEAST_SHARE:.1%} or more each to what can be "
        said += f"predicted of genes and cells held out: {by_signal['add']} do"
    said += f"; of {n_genes:,} genes, {count:,} are predicted better by the other genes than by their mean"
    return f"{said}, and the best {most_genes:,} of them are enough" if count > most_genes else said


def how_sure(by_signal: Mapping[str, int], *, clear: bool) -> str:
    """What the signals together say of the number of programs, in a sentence or two; nothing where there are none."""
    if not by_signal:
        return ""
    if clear:
        return "The number of programs is clear: nearly all that stand out are found again in both halves of the cells."
    said = f"No number of programs is clear: signals range from {min(by_signal.values())} to {max(by_signal.values())}."
    said += " Fewer give coarser programs, more give finer ones that other cells may not confirm."
    return f"{said} If two programs of the fit are much alike, try fewer."
