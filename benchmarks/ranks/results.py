"""What tables, goals and pictures ask of the records: medians over seeds, and times to an objective."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from benchmarks.harness.goals import NEVER
from benchmarks.harness.results import Record, Results
from benchmarks.ranks.peers import RIVALS

# Minima that different starts lead to are about this far apart: how near to a rival's objective counts as there.
CLOSE = 1.001


@dataclass(frozen=True)
class Reached:
    """Processor seconds of our fits to the objective of a rival, in the median over seeds."""

    rival: Record
    seconds: float
    close: float  # to within a tenth of a per cent of it

    @property
    def faster(self) -> float:
        """How many times less than the rival's."""
        return self.rival["cpu"] / self.seconds

    @property
    def faster_to_close(self) -> float:
        """The same to within a tenth of a per cent."""
        return self.rival["cpu"] / self.close


def runs(results: Results, data: str, peer: str, rank: int) -> list[Record]:
    """The runs of a peer on a matrix at a rank, one a seed."""
    return results.measured(f"{data}/{peer}/{rank}/")


def reached(results: Results, data: str, rival: str, rank: int) -> Reached | None:
    """Our fits against a rival; None where one of them was not measured."""
    theirs, ours = (runs(results, data, peer, rank) for peer in (rival, "genesieve"))
    if not theirs or not ours:
        return None
    target = theirs[0]["objective"]
    to_it, close = (statistics.median(time_to(run, each) for run in ours) for each in (target, CLOSE * target))
    return Reached(theirs[0], to_it, close)


def all_reached(results: Results, data: str, ranks: tuple[int, ...]) -> list[Reached]:
    """Our fits against all rivals at some ranks, where both were measured."""
    found = (reached(results, data, rival, rank) for rank in ranks for rival in RIVALS)
    return [each for each in found if each is not None]


def time_to(run: Record, target: float) -> float:
    """Processor seconds until a run is no higher than the target."""
    course = [*run["history"], (run["cpu"], run["objective"])]
    return next((seconds for seconds, objective in course if objective <= target), NEVER)


def median(records: list[Record], field: str) -> float | None:
    """The median of a field over seeds, if there are any."""
    return statistics.median(record[field] for record in records) if records else None
