"""The selection of genes judged: how much of the classes k genes keep, whoever selected them.

A selector is given cells without labels. What it keeps is judged by (a) k-means in the principal components of the k
genes and (b) a classifier by nearest centroid, cross-validated, on the k genes themselves. Nothing in them is tuned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.harness.peers import Missing, Peer, packages
from benchmarks.quality.cells import Cells, Labelled

COUNTS = (100, 250, 500, 1000, 2000)
LARGEST_PANEL = 200
N_PCS = 30
STARTS = 10  # single starts of k-means, over which NMI is averaged
FOLDS = 3  # the rarest class of the sets has three cells

Pick = Callable[[int], np.ndarray]
"""Picks so many genes."""


def genesieve(cells: Cells, n_clusters: int, seed: int) -> Pick:
    """A default fit for each budget."""
    import genesieve as gs

    return lambda k: gs.SSNMF(n_clusters, n_genes=k, random_state=seed).fit(cells.X).get_support(indices=True)


def panel(cells: Cells, n_clusters: int, seed: int) -> Pick:
    """The first genes of a targeted panel; it is made for few genes, and not asked for many."""
    import genesieve as gs

    adata = cells.adata()
    gs.tl.ssnmf(adata, n_clusters, cells.budget(), random_state=seed)
    chosen = gs.tl.panel(adata, min(LARGEST_PANEL, adata.n_vars), random_state=seed)["gene"]
    order = adata.var_names.get_indexer(chosen)

    def pick(k: int) -> np.ndarray:
        if k > LARGEST_PANEL:
            raise Missing(f"panels have at most {LARGEST_PANEL} genes here")
        return order[:k]

    return pick


def best_of_more(cells: Cells, n_clusters: int, seed: int) -> Pick:
    """One default fit with many genes; of all genes, those of which its usages explain most beyond their mean."""
    import genesieve as gs
    from genesieve.core.weights import variation_weights

    H = gs.SSNMF(n_clusters, n_genes=cells.budget(), random_state=seed).fit_transform(cells.X)  # (cells, rank)
    X = cells.dense()
    design = np.column_stack([H / np.linalg.norm(H, axis=0).clip(min=np.finfo(float).tiny), np.ones(len(H))])
    residual = X - design @ np.linalg.lstsq(design, X, rcond=None)[0]
    gain = variation_weights(X.mean(axis=0), X.var(axis=0), baseline="mean") ** 2 * (
        X.var(axis=0) - residual.var(axis=0)
    )
    order = np.argsort(-gain, kind="stable")
    return lambda k: order[:k]


def variable(cells: Cells, n_clusters: int, seed: int, *, flavor: str = "seurat") -> Pick:
    """Highly variable genes of logged data as scanpy finds them (flavour seurat is its default)."""
    import scanpy as sc

    def pick(k: int) -> np.ndarray:
        adata = cells.adata()
        sc.pp.highly_variable_genes(adata, n_top_genes=k, flavor=flavor)
        return np.flatnonzero(adata.var["highly_variable"])

    return pick


def sparse_kmeans(cells: Cells, n_clusters: int, seed: int) -> Pick:
    """The largest weights of sparse k-means (l1), as in sparcl.

    Its weights are the soft-thresholded dispersion of its clusters. Their order is that of the dispersion, which goes
    on where the weights are zero.
    """
    import genesieve as gs
    from genesieve.estimators.sparse_kmeans import dispersion

    model = gs.SparseKMeans(n_clusters, penalty="l1", random_state=seed).fit(cells.X)
    order = np.argsort(-dispersion(cells.X, model.labels_), kind="stable")
    return lambda k: order[:k]


def everything(cells: Cells, n_clusters: int, seed: int) -> Pick:
    """All genes, whatever the number asked for."""
    return lambda k: np.arange(cells.X.shape[1])


# Who selects: from cells, the number of clusters and a seed to a function that picks k genes.
SELECTORS: dict[str, Peer] = {
    "genes_genesieve": Peer("genesieve", "genes", genesieve, packages("genesieve")),
    "genes_variable": Peer("scanpy's variable genes", "genes", variable, packages("scanpy")),
    "genes_l1": Peer("sparse k-means weights (l1)", "genes", sparse_kmeans, packages("genesieve")),
    "genes_all": Peer("all genes", "genes", everything, packages()),
}


def judged(labelled: Labelled, selector: Peer, seed: int) -> list[dict[str, float]]:
    """Scores at every count that leaves a choice."""
    cells = labelled.cells
    pick = selector.run(cells, labelled.n_classes, seed)
    picked = {k: pick(k) for k in COUNTS if k < cells.X.shape[1]}
    distinct = {tuple(chosen): chosen for chosen in picked.values()}  # all genes are the same at every count
    scores = {key: judge(labelled, chosen, seed) for key, chosen in distinct.items()}
    return [{"k": k, **scores[tuple(chosen)]} for k, chosen in picked.items()]


def judge(labelled: Labelled, genes: np.ndarray, seed: int) -> dict[str, float]:
    """What some genes keep of the classes."""
    Z = labelled.cells.dense(genes)  # (cells, k)
    return {
        "n_genes": len(genes),
        "nmi": clusters(Z, labelled.classes, seed),
        "balanced_accuracy": classifier(Z, labelled.classes, seed),
    }


def clusters(Z: np.ndarray, classes: np.ndarray, seed: int) -> float:
    """Mean NMI of k-means from several single starts, in principal components."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    from genesieve.metrics import nmi

    n_pcs = min(N_PCS, *(size - 1 for size in Z.shape))
    scores = PCA(n_pcs, random_state=seed).fit_transform(Z)  # (cells, components)
    seeds = np.random.default_rng(seed).integers(2**31, size=STARTS)
    starts = [KMeans(len(np.unique(classes)), n_init=1, random_state=int(start)).fit(scores) for start in seeds]
    return float(np.mean([nmi(classes, start.labels_) for start in starts]))


def classifier(Z: np.ndarray, classes: np.ndarray, seed: int) -> float:
    """Balanced accuracy of the nearest centroid, cross-validated."""
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.neighbors import NearestCentroid

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    predicted = cross_val_predict(NearestCentroid(), Z, classes, cv=folds)
    return float(balanced_accuracy_score(classes, predicted))
