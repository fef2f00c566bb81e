"""Where records, pages and pictures of the benchmarks go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Places:
    """Where records, the page and its pictures go."""

    records: Path
    document: Path
    images: Path

    @classmethod
    def under(cls, output: Path | None, *, page: str = "benchmarks.md", records: Path = RECORDS) -> Places:
        """In the project, or all in one folder."""
        if output is None:
            return cls(records, ROOT / "docs" / page, ROOT / "docs" / "img")
        return cls(output / "results", output / page, output / "img")

    def record(self, job: str) -> Path:
        return self.records / f"{job.replace('/', '--')}.json"
