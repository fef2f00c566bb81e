"""What is tried at random, and the share of each subject in a campaign."""

from __future__ import annotations

from .analyses import analyses
from .arguments import arguments
from .campaign import Subject
from .crafted import crafted
from .files import files
from .fits import fits, large_fits
from .means import sparse_kmeans
from .outside import outside
from .records import records
from .results import results
from .texts import texts

SUBJECTS: dict[str, Subject] = {
    "fits": fits,
    "large": large_fits,
    "outside": outside,
    "analyses": analyses,
    "kmeans": sparse_kmeans,
    "texts": texts,
    "records": records,
    "arguments": arguments,
    "files": files,
    "crafted": crafted,
    "results": results,
}
SHARES = {
    "fits": 71,
    "large": 1,
    "outside": 2,
    "analyses": 1,
    "kmeans": 6,
    "texts": 10,
    "records": 4,
    "arguments": 1,
    "files": 1,
    "crafted": 2,
    "results": 1,
}
