"""Colours of programs, clusters and known types, safe for colour-blind readers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Okabe and Ito's colours, safe for all kinds of colour blindness, neighbours unlike; grey stands in for black.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
# Paul Tol's muted colours, safe too, for known annotations: a cell type should not look like one of the programs.
TOL_MUTED = ("#CC6677", "#332288", "#DDCC77", "#117733", "#88CCEE", "#882255", "#44AA99", "#999933", "#AA4499")
# Each goes on to 40 colours. Every further one is the colour that is farthest from all before it to the eye, lightness
# counting most, as seen with three kinds of cones and as seen without the red or the green ones.
FURTHER = {
    OKABE_ITO: (
        "#0000FF #443311 #661155 #112299 #BBDD99 #7766FF #22EEEE #CC4444 #DD9955 #774455 #6699FF #884400"
        " #AA1188 #1155BB #3322CC #EECC66 #88DDBB #007733 #FF4477 #551177 #BB4488 #224433 #44BBCC #6644FF"
        " #11DDFF #2277DD #CCAA77 #889933 #7788CC #88BB99 #88CC33 #880033"
    ),
    TOL_MUTED: (
        "#0000FF #6677FF #CCDD00 #11EEBB #443300 #66AAFF #3311BB #9933BB #0055FF #AABB88 #AA77CC #552266"
        " #88BB00 #AA3300 #DD1144 #995577 #FF88CC #EE8866 #772233 #447755 #FFCC55 #444499 #BB6600 #AA77AA"
        " #BBDD99 #774477 #6688EE #FF6699 #4455DD #FF9955 #5522AA"
    ),
}


def distinct_colors(n: int, hues: Sequence[str] = OKABE_ITO) -> list[str]:
    """Colours for ``n`` categories that colour-blind readers tell apart; after 40 they repeat."""
    further = FURTHER.get(tuple(hues))
    colors = [color.lower() for color in (*hues, *(further.split() if further else ()))]
    return [colors[i % len(colors)] for i in range(n)]


def matching_colors(labels: np.ndarray, n_clusters: int, program_of_cell: np.ndarray, rank: int) -> list[str]:
    """Colours of clusters: that of the program which most of a cluster's cells use most, and else one of its own.

    Where several clusters have the same program, the one with most of its cells has its colour.
    """
    shared = np.zeros((n_clusters, rank), dtype=np.int64)  # cells, by cluster and program
    np.add.at(shared, (labels, program_of_cell), 1)
    mostly = np.where(2 * shared > shared.sum(axis=1, keepdims=True), shared, 0)
    program_of = {int(cells.argmax()): program for program, cells in enumerate(mostly.T) if cells.any()}
    palette, own = distinct_colors(rank + n_clusters), rank
    colors = []
    for cluster in range(n_clusters):
        colors.append(palette[program_of.get(cluster, own)])
        own += cluster not in program_of
    return colors
