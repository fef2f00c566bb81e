"""Runs tasks (a method, a data set, a start) in parallel, each kept in a small file, so that a rerun resumes."""

from __future__ import annotations

import hashlib
import json
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, cpu_count, delayed  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits

from genesieve._files import write_whole
from genesieve.core.solvers import Factors
from genesieve.paper.fingerprint import code_fingerprint
from genesieve.paper.published import Recipe, random_start

Progress = Callable[[int, int, "Task"], object]  # done, of how many, and the task just done
KEY_LENGTH = 16  # hexadecimal digits of a task's file name


@dataclass(frozen=True)
class Data:
    """A labelled data set, with the numbers that the published runs have for its kind."""

    name: str
    X: Any  # (cells, genes)
    labels: np.ndarray
    recipe: Recipe
    starts: tuple[Factors, ...] = ()  # the published starting points, where they are known
    note: str = ""

    @property
    def rank(self) -> int:
        return len(np.unique(self.labels))

    def start(self, number: int) -> Factors:
        """The starting point with that number: published, or uniform with the number as seed."""
        return self.starts[number] if number < len(self.starts) else random_start(self.X.shape, self.rank, number)

    @cached_property
    def fingerprint(self) -> str:
        """Tells data sets apart that have the same name."""
        digest = hashlib.sha256(repr(self.X.shape).encode())
        for part in (getattr(self.X, "data", self.X), *(factor for start in self.starts for factor in start)):
            digest.update(np.ascontiguousarray(part).tobytes())
        digest.update("\n".join(map(str, self.labels)).encode())
        return digest.hexdigest()[:KEY_LENGTH]


@dataclass(frozen=True)
class Task:
    """One piece of work: ``work(data, task)`` returns plain numbers and lists."""

    work: Callable[[Data, Task], Mapping[str, Any]]
    data: str
    method: str
    start: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def parameters(self, data: Data) -> dict[str, Any]:
        """All that the result depends on."""
        return {
            "work": f"{self.work.__module__}.{self.work.__qualname__}",
            "data": self.data,
            "fingerprint": data.fingerprint,
            "method": self.method,
            "start": self.start,
            "options": dict(self.options),
            "recipe": vars(data.recipe),
            "code": code_fingerprint(self.work.__module__),
        }


class Outcome(NamedTuple):
    """What a task's file holds."""

    result: Mapping[str, Any]
    seconds: float


class Done(NamedTuple):
    """A task with its result."""

    task: Task
    result: Mapping[str, Any]
    seconds: float


def run_tasks(
    tasks: Sequence[Task],
    data: Mapping[str, Data],
    folder: Path,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Done]:
    """Run what has no file in the folder yet; all results, in the order of the tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    parameters = [task.parameters(data[task.data]) for task in tasks]
    files = [folder / _file_name(each) for each in parameters]
    places = {file: index for index, file in enumerate(files)}  # the same task asked for twice runs once
    done = {file: found for file in places if (found := _read(file)) is not None}
    left = [(file, index) for file, index in places.items() if file not in done]
    jobs = (delayed(_run)(tasks[i], data[tasks[i].data], parameters[i], file) for file, i in left)
    for file, outcome in _parallel(jobs, n_jobs, len(left)):
        done[file] = outcome
        if progress is not None:
            progress(len(done), len(places), tasks[places[file]])
    return [Done(task, *done[file]) for task, file in zip(tasks, files, strict=True)]


def _parallel(jobs: Iterable[Any], n_jobs: int | None, n_left: int) -> Iterable[tuple[Path, Outcome]]:
    workers = min(n_jobs or cpu_count(), max(n_left, 1))
    done: Iterable[tuple[Path, Outcome]] = Parallel(n_jobs=workers, return_as="generator_unordered")(jobs)
    return done


def _run(task: Task, data: Data, parameters: dict[str, Any], file: Path) -> tuple[Path, Outcome]:
    # The processes share the cores among them: threads inside each would only get in each other's way.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of runs that stop at the published number of iterations
        began = time.process_time()  # the core's own, whatever else the machine does
        result = dict(task.work(data, task))
        seconds = time.process_time() - began
    record = json.dumps({"task": parameters, "result": result, "seconds": seconds}, default=_plain)
    with write_whole(file) as part:
        part.write(record.encode())
    return file, Outcome(json.loads(record)["result"], seconds)


def _plain(value: Any) -> Any:
    """Arrays and numpy's numbers as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"results must be numbers, texts and lists, got {type(value).__name__}")


def _file_name(parameters: Mapping[str, Any]) -> str:
    text = json.dumps(parameters, sort_keys=True, default=_plain)
    key = hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]
    readable = re.sub(r"[^\w-]+", "_", "-".join(str(parameters[name]) for name in ("data", "method", "start")))
    return f"{readable}-{key}.json"


def _read(file: Path) -> Outcome | None:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        return Outcome(record["result"], record["seconds"])
    except (FileNotFoundError, json.JSONDecodeError, KeyError):
        return None
