"""How many genes are enough to tell known types apart: python gene_budget.py data.h5ad --known cell_type."""

from __future__ import annotations

import argparse

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import genesieve as gs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("data", nargs="?", help="h5ad, zarr, 10x h5 or mtx; without, 700 blood cells")
parser.add_argument("--known", default="cell_type", help="column of obs with known types")
parser.add_argument("--rank", type=int, default=8, help="number of programs")
parser.add_argument("--budgets", type=int, nargs="+", default=[10, 50, 200], help="numbers of genes to try")
parser.add_argument("--folds", type=int, default=4)
given = parser.parse_args()

adata = gs.io.read(given.data) if given.data else gs.datasets.demo()
gs.pp.prepare(adata, min_cells=None if given.data else 0)
sizes = adata.obs[given.known].value_counts()
adata = adata[adata.obs[given.known].isin(sizes.index[sizes >= 2 * given.folds])]
types = adata.obs[given.known].astype(str).to_numpy()

folds = StratifiedKFold(given.folds, shuffle=True, random_state=0)
for n_genes in given.budgets:
    # Genes are chosen inside the pipeline, from the training cells of each fold alone.
    pipeline = make_pipeline(
        gs.SSNMF(given.rank, n_genes=n_genes, orthogonality=0, random_state=0),
        StandardScaler(),
        LogisticRegression(max_iter=1000, class_weight="balanced"),
    )
    scores = cross_val_score(pipeline, adata.X, types, cv=folds, scoring="balanced_accuracy")
    print(f"{n_genes:>5} genes: balanced accuracy {scores.mean():.3f} (sd {scores.std():.3f})")
