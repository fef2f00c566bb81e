"""What is tried at random, and the share of each subject in a campaign."""

from __future__ import annotations

from .campaign import Subject
from .fits import fits
from .means import sparse_kmeans
from .records import records
from .texts import texts

SUBJECTS: dict[str, Subject] = {"fits": fits, "kmeans": sparse_kmeans, "texts": texts, "records": records}
SHARES = {"fits": 80, "kmeans": 4, "texts": 10, "records": 4}
