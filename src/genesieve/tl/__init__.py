"""The scanpy-style front: AnnData in, results in its slots."""

from genesieve.tl.annotation import annotate
from genesieve.tl.catalogues import read_catalogue, score_catalogue, write_catalogue
from genesieve.tl.clusters import cluster
from genesieve.tl.comparison import compare
from genesieve.tl.enrichment import enrich
from genesieve.tl.fit import ssnmf
from genesieve.tl.matching import match_programs
from genesieve.tl.panel import panel
from genesieve.tl.samples import metaprograms
from genesieve.tl.scores import gene_scores, markers
from genesieve.tl.selection import path, select
from genesieve.tl.tables import biclusters, outliers, top_genes
from genesieve.tl.transfer import project

__all__ = [
    "annotate",
    "biclusters",
    "cluster",
    "compare",
    "enrich",
    "gene_scores",
    "markers",
    "match_programs",
    "metaprograms",
    "outliers",
    "panel",
    "path",
    "project",
    "read_catalogue",
    "score_catalogue",
    "select",
    "ssnmf",
    "top_genes",
    "write_catalogue",
]
