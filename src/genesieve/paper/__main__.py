"""``python -m genesieve.paper DIR docs/paper.md`` brings the sections of an output folder into the document."""

import sys
from pathlib import Path

from genesieve.paper.document import fill

if __name__ == "__main__":
    folder, document = map(Path, sys.argv[1:3])
    print("filled:", ", ".join(fill(document, folder)) or "nothing")
