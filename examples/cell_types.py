"""From a file of cells to clusters, marker genes and a report: python cell_types.py data.h5ad --rank 8 --genes 2000."""

from __future__ import annotations

import argparse

import genesieve as gs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("data", nargs="?", help="h5ad, zarr, 10x h5 or mtx; without, 700 blood cells")
parser.add_argument("--rank", type=int, default=8, help="number of programs")
parser.add_argument("--genes", type=int, default=200, help="number of genes to keep")
parser.add_argument("--known", help="column of obs with known types, to compare with")
parser.add_argument("--report", default="report.html")
parser.add_argument("--result", default="result.h5ad")
given = parser.parse_args()

adata = gs.io.read(given.data) if given.data else gs.datasets.demo()
gs.pp.prepare(adata, min_cells=None if given.data else 0)  # the blood cells come with few genes: all stay
gs.tl.ssnmf(adata, given.rank, given.genes, random_state=0)
markers = gs.tl.markers(adata, 20)

for program, table in markers.groupby("program", observed=True):
    cells = int((adata.obs["ssnmf"] == str(program)).sum())
    print(f"program {program}: {cells} cells, {' '.join(table['gene'].head(8))}")
if given.known:
    print(f"NMI with {given.known}: {gs.metrics.nmi(adata.obs[given.known], adata.obs['ssnmf']):.3f}")

gs.report(adata, given.report, known=given.known)
adata.write_h5ad(given.result)
