"""A measurement in a process of its own: ``take`` of a suite's module ``job`` makes it, and its record is kept."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness import meter
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Record, path_of, why_not, write


@dataclass(frozen=True)
class Job:
    """One measurement."""

    name: str  # a group, a slash, and what sets it apart
    parameters: dict[str, Any]  # that ``take`` is called with, and that are kept in the record
    inputs: dict[str, str] = field(
        default_factory=dict
    )  # files that ``take`` is told of, too: where they are may change

    def describe(self) -> Record:
        """What is known of a job before it runs."""
        return {"job": self.name, **self.parameters, "threads": meter.available_threads(), "load": os.getloadavg()[0]}

    def finished(self, records: Path) -> bool:
        """Whether there is a record that holds a measurement with these parameters."""
        path = path_of(records, self.name)
        record = json.loads(path.read_text()) if path.exists() else {"skipped": "not run"}
        return why_not(record) is None and all(
            record.get(key, value) == value for key, value in self.parameters.items()
        )


def measured(job: Job, take: Callable[..., Record]) -> Record:
    """The record of a job: its measurement, or why there is none."""
    record = job.describe()
    began = time.perf_counter()
    try:
        record |= take(**job.parameters, **job.inputs)
    except Missing as reason:
        record["skipped"] = str(reason)
    except Exception as error:
        traceback.print_exc()
        record["failed"] = f"{type(error).__name__}: {error}"
    return record | {"total_seconds": time.perf_counter() - began, "process_peak": meter.peak()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", help="its folder")
    parser.add_argument("jobs", type=json.loads, help="jobs that share this process, as JSON")
    parser.add_argument("--records", type=Path, required=True, help="the folder of the JSON files to write")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    take = import_module(f"benchmarks.{given.suite}.job").take
    failed = False
    for job in given.jobs:
        record = measured(Job(**job), take)
        write(given.records, record)
        failed |= "failed" in record
    sys.exit(failed)


if __name__ == "__main__":
    main()
