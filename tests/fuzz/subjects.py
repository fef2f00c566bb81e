"""What is tried at random, and the share of each subject in a campaign."""

from __future__ import annotations

from .arguments import arguments
from .campaign import Subject
from .files import files
from .fits import fits
from .means import sparse_kmeans
from .records import records
from .texts import texts

SUBJECTS: dict[str, Subject] = {
    "fits": fits,
    "kmeans": sparse_kmeans,
    "texts": texts,
    "records": records,
    "arguments": arguments,
    "files": files,
}
SHARES = {"fits": 76, "kmeans": 6, "texts": 12, "records": 4, "arguments": 1, "files": 1}
