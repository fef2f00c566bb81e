"""Fit one data set and label the cells of another by its programs: python new_cells.py reference.h5ad new.h5ad."""

from __future__ import annotations

import argparse

import genesieve as gs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("reference", nargs="?", help="cells to fit; without, blood cells, every second of them")
parser.add_argument("new", nargs="?", help="cells to label; without, the others")
parser.add_argument("--rank", type=int, default=8, help="number of programs")
parser.add_argument("--genes", type=int, default=200, help="number of genes to keep")
parser.add_argument("--out", default="labels.csv")
given = parser.parse_args()
if given.reference and not given.new:
    parser.error("a second file must be given: the cells to label")

if given.reference:
    reference, new = gs.io.read(given.reference), gs.io.read(given.new)
else:
    cells = gs.datasets.demo()
    reference, new = cells[::2].copy(), cells[1::2].copy()

gs.pp.prepare(reference, min_cells=None if given.reference else 0)
gs.tl.ssnmf(reference, given.rank, given.genes, random_state=0)

gs.pp.prepare_like(new, reference)  # exactly as the cells of the fit
gs.tl.project(new, reference)  # needs the selected genes only

table = new.obs[["ssnmf", "ssnmf_confidence"]]
table.to_csv(given.out)
print(table.groupby("ssnmf", observed=True)["ssnmf_confidence"].agg(cells="size", confidence="median").round(2))
