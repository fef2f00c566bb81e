"""What is looked at before numbers are suggested, in steps that can be resumed: directions, errors, replication."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from genesieve.selection.held_out import Errors, Part, errors_of, parts_of
from genesieve.selection.replication import Replication, replication
from genesieve.selection.saved import Arrays, Saved
from genesieve.selection.spectrum import Spectrum, multiply, spectrum

# Ranks beyond the directions that stand out that errors are taken for.
SHOWN_BEYOND = 5


class Step(NamedTuple):
    """What a callback is told."""

    what: str  # comes now
    done: float  # share of the work before it


# The steps, and about what share of the time each takes.
STEPS = {
    "reading a sample of the cells": 0.02,
    "making noise even": 0.08,
    "counting directions that stand out": 0.5,
    "predicting genes and cells held out": 0.08,
    "fitting programs to halves of the cells": 0.26,
    "judging genes": 0.06,
}

Tell = Callable[[Step], object]


def teller(callback: Tell | None) -> Callable[[str], None]:
    """Tells the callback of a step by its name."""
    names, shares = list(STEPS), list(STEPS.values())

    def tell(what: str) -> None:
        if callback is not None:
            callback(Step(what, sum(shares[: names.index(what)]) if what in names else 1.0))

    return tell


@dataclass(frozen=True)
class Evidence:
    """Of standardised cells, all that the rule looks at."""

    spectrum: Spectrum
    parts: list[Part]
    errors: Errors
    replication: Replication | None  # of as many programs as stand out; None where their number is given
    most: int  # programs looked for

    @property
    def width(self) -> int:
        """Ranks with an error."""
        return len(self.errors.error)


def gather(
    R: np.ndarray,
    asked: list[int] | None,
    most: int,
    rng: np.random.Generator,
    *,
    saved: Saved,
    threads: int,
    tell: Callable[[str], None],
) -> Evidence:
    """The evidence of standardised values R (cells, genes), whose noise is made even once more.

    ``asked`` are the ranks that may be suggested, ``most`` the largest that is looked for.
    """
    of_spectrum, of_parts, of_halves = rng.spawn(3)
    most = min(most, *R.shape)
    tell("counting directions that stand out")
    found = _spectrum(R, most, of_spectrum, saved, threads)
    least = min(asked) if asked else 0
    width = max(min(max(least, found.n_above) + SHOWN_BEYOND, most, min(R.shape) // 2), 1)
    tell("predicting genes and cells held out")
    parts = _parts(R, width, of_parts, saved, threads)
    errors = errors_of(R, parts, width)
    halves = None
    if (asked is None or len(asked) > 1) and found.n_above > 1:
        tell("fitting programs to halves of the cells")
        halves = _replication(R, found.n_above, of_halves, saved, threads)
    return Evidence(found, parts, errors, halves, most)


def _spectrum(R: np.ndarray, most: int, rng: np.random.Generator, saved: Saved, threads: int) -> Spectrum:
    looked_at: list[Spectrum] = []

    def take() -> Arrays:
        looked_at.append(spectrum(R, most, rng, threads))
        return {name: np.asarray(value) for name, value in looked_at[0]._asdict().items()}

    stored = saved.step("spectrum", take)
    if looked_at:
        return looked_at[0]
    multiply(R, stored["rows"], stored["columns"])  # as finding it has done
    sizes, end, above = stored["sizes"], float(stored["end_of_noise"]), int(stored["n_above"])
    if not 1 <= above <= most:
        raise ValueError(f"{above} directions must be from 1 to {most}")
    return Spectrum(sizes, end, above, stored["rows"], stored["columns"])


def _parts(R: np.ndarray, width: int, rng: np.random.Generator, saved: Saved, threads: int) -> list[Part]:
    def take() -> Arrays:
        parts = parts_of(R, width, rng, threads)
        return {"genes": np.stack([part.genes for part in parts]), **{str(i): p.basis for i, p in enumerate(parts)}}

    stored = saved.step("parts", take)
    return [Part(genes, stored[str(number)]) for number, genes in enumerate(stored["genes"])]


def _replication(R: np.ndarray, rank: int, rng: np.random.Generator, saved: Saved, threads: int) -> Replication:
    return Replication(**saved.step("halves", lambda: replication(R, rank, rng, threads)._asdict()))
