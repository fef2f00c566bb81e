"""``python -m benchmarks.paper DIR docs/paper.md`` fills the document with the sections of an output folder."""

import sys
from pathlib import Path

from benchmarks.paper.document import fill

if __name__ == "__main__":
    folder, document = map(Path, sys.argv[1:3])
    print("filled:", ", ".join(fill(document, folder)) or "nothing")
