"""What tables, goals and pictures ask of the records: medians over seeds, and times to an objective."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.harness.goals import NEVER
from benchmarks.harness.results import Record, Results
from benchmarks.ranks.peers import RIVALS

# Minima that different starts lead to are about this far apart: how near to a rival's objective counts as there.
CLOSE = 1.001


@dataclass(frozen=True)
class Reached:
    """Our fits to the objective of a rival, seed by seed; what is told is the median over seeds."""

    pairs: list[tuple[Record, Record]]  # the rival's run and ours, from one seed

    @property
    def title(self) -> str:
        return str(self.pairs[0][0]["title"])

    @property
    def theirs(self) -> float:
        """The rival's time."""
        return statistics.median(rival["time"] for rival, _ in self.pairs)

    @property
    def seconds(self) -> float:
        """Our time to its objective."""
        return self._median(lambda rival, ours: time_to(ours, rival["objective"]))

    @property
    def close(self) -> float:
        """Our time to within a tenth of a per cent of it."""
        return self._median(lambda rival, ours: time_to(ours, CLOSE * rival["objective"]))

    @property
    def faster(self) -> float:
        """How many times less our time is than the rival's; 0 where we never arrive."""
        return self._median(lambda rival, ours: rival["time"] / time_to(ours, rival["objective"]))

    @property
    def faster_to_close(self) -> float:
        """The same to within a tenth of a per cent."""
        return self._median(lambda rival, ours: rival["time"] / time_to(ours, CLOSE * rival["objective"]))

    def _median(self, of_pair: Callable[[Record, Record], float]) -> float:
        return statistics.median(of_pair(rival, ours) for rival, ours in self.pairs)


def runs(results: Results, data: str, peer: str, rank: int) -> list[Record]:
    """The runs of a peer on a matrix at a rank, one a seed."""
    return results.measured(f"{data}/{peer}/{rank}/")


def reached(results: Results, data: str, rival: str, rank: int) -> Reached | None:
    """Our fits against a rival, from the seeds that both were measured with; None where there are none."""
    theirs, ours = ({run["seed"]: run for run in runs(results, data, peer, rank)} for peer in (rival, "genesieve"))
    pairs = [(theirs[seed], ours[seed]) for seed in theirs if seed in ours]
    return Reached(pairs) if pairs else None


def all_reached(results: Results, data: str, ranks: tuple[int, ...]) -> list[Reached]:
    """Our fits against all rivals at some ranks, where both were measured."""
    found = (reached(results, data, rival, rank) for rank in ranks for rival in RIVALS)
    return [each for each in found if each is not None]


def time_to(run: Record, target: float) -> float:
    """Time until a run is no higher than the target."""
    course = [*run["history"], (run["time"], run["objective"])]
    return next((seconds for seconds, objective in course if objective <= target), NEVER)


def median(records: list[Record], field: str) -> float | None:
    """The median of a field over seeds, if there are any."""
    return statistics.median(record[field] for record in records) if records else None
