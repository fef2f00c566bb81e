"""``python -m tests.fuzz [SUBJECT ...] --cases N --seed S --log FILE``: long campaigns; see docs/reliability.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .campaign import run
from .subjects import SHARES, SUBJECTS


def main() -> int:
    """Run the campaigns; 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)}; all if none is named"
    )
    parser.add_argument("--cases", type=int, default=4000, help="in all, shared out among the subjects")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--log", type=Path, help="a file to add counts and faults to")
    asked = parser.parse_args()
    names = asked.subjects or list(SUBJECTS)
    shares = {name: SHARES[name] / sum(SHARES[each] for each in names) for name in names}
    return tried({name: max(round(asked.cases * share), 1) for name, share in shares.items()}, asked.seed, asked.log)


def tried(counts: dict[str, int], first: int = 0, log: Path | None = None) -> int:
    """Try so many cases of each subject; 1 if there was a fault."""
    with tempfile.TemporaryDirectory() as folder:
        return int(run(SUBJECTS, counts, first, Path(folder), log) > 0)


if __name__ == "__main__":
    sys.exit(main())
