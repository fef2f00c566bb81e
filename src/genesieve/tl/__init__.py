"""The scanpy-style front: AnnData in, results in its slots."""

from genesieve.tl.enrichment import enrich
from genesieve.tl.fit import ssnmf
from genesieve.tl.scores import gene_scores, markers
from genesieve.tl.selection import select
from genesieve.tl.tables import biclusters, outliers, top_genes
from genesieve.tl.transfer import panel, project

__all__ = [
    "biclusters",
    "enrich",
    "gene_scores",
    "markers",
    "outliers",
    "panel",
    "project",
    "select",
    "ssnmf",
    "top_genes",
]
