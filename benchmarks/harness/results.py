"""The store of records: one JSON file a job, from which pages are written and runs go on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.harness.peers import Missing

Record = dict[str, Any]


def path_of(records: Path, job: str) -> Path:
    """Where the record of a job is."""
    return records / f"{job.replace('/', '--')}.json"


def write(records: Path, record: Record) -> None:
    """Keep a record."""
    records.mkdir(parents=True, exist_ok=True)
    path_of(records, record["job"]).write_text(json.dumps(record))


def why_not(record: Record) -> str | None:
    """Why a record holds no measurement, if so."""
    if record.get("failed"):
        return f"failed ({record['failed']})"
    return record.get("skipped")


@dataclass(frozen=True)
class Results:
    """Records by the name of their job."""

    records: dict[str, Record]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """All records of a folder."""
        found = {path.stem.replace("--", "/"): path.read_text() for path in sorted(folder.glob("*.json"))}
        return cls({job: json.loads(text) for job, text in found.items()})

    def measured(self, start: str = "", **wanted: Any) -> list[Record]:
        """Records that hold a measurement and have these values, of jobs whose name starts like this."""
        return [
            record
            for job, record in self.records.items()
            if job.startswith(start)
            and not why_not(record)
            and all(record[name] == value for name, value in wanted.items())
        ]

    def get(self, *jobs: str) -> list[Record]:
        """Records of jobs that all hold a measurement; raises Missing with the reasons where one does not."""
        reasons = {job: why_not(self.records[job]) if job in self.records else "not run" for job in jobs}
        told = [f"{job}: {reason}" for job, reason in reasons.items() if reason]
        if told:
            raise Missing("; ".join(told))
        return [self.records[job] for job in jobs]

    def values(self, field: str) -> list[Any]:
        """A field of all records that have it."""
        return [record[field] for record in self.records.values() if field in record]
