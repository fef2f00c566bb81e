"""The index of the suites; `python -m benchmarks.SUITE` runs one and writes its page, `--help` says how."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    print(f"{__doc__}\n")
    for path in sorted(Path(__file__).parent.glob("*/__main__.py")):
        suite = getattr(import_module(f"benchmarks.{path.parent.name}.__main__"), "SUITE", None)
        if suite is None:
            continue
        about = sys.modules[f"benchmarks.{suite.name}"].__doc__
        print(f"python -m benchmarks.{suite.name:9} docs/{suite.page:15} {about}")


if __name__ == "__main__":
    main()
