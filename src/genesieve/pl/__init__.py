"""Plots of programs and what was found in them: an AnnData in, matplotlib axes out."""

from genesieve.pl.blocks import biclusters, markers
from genesieve.pl.fit import convergence, outliers
from genesieve.pl.heatmaps import loadings, usages
from genesieve.pl.maps import cell_map
from genesieve.pl.matching import match_programs
from genesieve.pl.panel import panel
from genesieve.pl.samples import annotation, compare, metaprograms
from genesieve.pl.selection import path, selection
from genesieve.pl.sets import overlap
from genesieve.pl.tables import enrichment, top_genes

__all__ = [
    "annotation",
    "biclusters",
    "cell_map",
    "compare",
    "convergence",
    "enrichment",
    "loadings",
    "markers",
    "match_programs",
    "metaprograms",
    "outliers",
    "overlap",
    "panel",
    "path",
    "selection",
    "top_genes",
    "usages",
]
