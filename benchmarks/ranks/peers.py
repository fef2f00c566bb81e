"""Who runs in the sweep: scikit-learn and RcppML for 60 iterations, genesieve to its end, without and with a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.harness.meter import Meter
from benchmarks.harness.peers import Peer
from benchmarks.speed.peers import OURS, SKLEARN, others, rcppml
from benchmarks.speed.protocol import Point, Task

ITERATIONS = 60
# What makes our objective that of the peers.
PLAIN = {"orthogonality": 0.0, "gene_weights": None, "baseline": "zero"}


@dataclass
class Course:
    """Listens to a fit: the time at each objective that it finds on X."""

    elapsed: Callable[[], float]
    points: list[tuple[float, float]] = field(default_factory=list)

    def __call__(self, step: Any) -> None:
        self.points.append((self.elapsed(), step.objective))

    def stands(self, stand: Any) -> None:
        if stand.objective is not None:
            self(stand)


def ours(X: Any, task: Task, **options: Any) -> Iterator[Point]:
    """A fit as it comes by default, with the time at each objective that it finds on X."""
    from genesieve import SSNMF

    (seed,) = task.seeds
    with Meter() as meter:
        course = Course(meter.cpu_elapsed if task.threads == 1 else meter.elapsed)
        model = SSNMF(task.rank, n_jobs=task.threads, random_state=seed, callback=course, **options)
        H = model.fit_transform(X)
    about: dict[str, Any] = {"cpu": meter.cpu, "passes": model.n_passes_, "history": course.points}
    yield Point("default", meter.seconds, H, model.components_.T, model.n_iter_, meter.peak, **about)


def with_budget(X: Any, task: Task) -> Iterator[Point]:
    """A default fit with a budget, whose objective is another one."""
    yield from ours(X, task, n_genes=task.n_genes)


LOOKS = {"iterations": (ITERATIONS,)}
PEERS: dict[str, Peer] = {
    "genesieve": Peer("genesieve", "ours", partial(ours, **PLAIN), OURS),
    "sklearn": Peer("scikit-learn NMF (cd)", "peers", partial(others.coordinate_descent, **LOOKS), SKLEARN),
    "rcppml": Peer("RcppML", "peers", partial(rcppml.run, **LOOKS), rcppml.versions),
    "budget": Peer("genesieve with a budget", "budget", with_budget, OURS),
}
RIVALS = [name for name, peer in PEERS.items() if peer.group == "peers"]
