"""Sparse k-means: clusters of cells and the genes that tell them apart, the paper's two k-means baselines.

Both penalties maximise the weighted between-cluster dispersion ``sum_j w_j d_j`` over partitions and gene weights, in
turn: k-means on the weighted genes, then the best weights for its clusters. They differ in the weights they allow.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted, validate_data

from genesieve._checks import check_choice, check_integer, check_number, check_two_dimensional, one_line_errors, shown
from genesieve._random import as_generator
from genesieve.core.cells.intact import check_intact
from genesieve.core.weights import Vector, cluster_sums, dispersion, l0_weights, l1_weights
from genesieve.estimators._door import of_fair_size

__all__ = ["SparseKMeans", "dispersion", "l0_weights", "l1_weights"]

Matrix = Any  # (cells, genes), a dense array or scipy's CSR; every operation below works on both
Labels = NDArray[np.int32]
Update = Callable[[Vector], Vector]  # the best weights for a dispersion

# Of sqrt(genes), beyond which the bound is idle. A quarter is 5.6 at 500 genes, as published for the synthetic data.
DEFAULT_BOUND_SHARE = 0.25

# Lloyd's iterations, and the sweeps of single moves after them, always end by themselves; this stops a crawl.
KMEANS_MAX_ITER = 300

# A cell moves only if it saves more than this share of its squared norm: above rounding, so that the moves must end.
MOVE_MARGIN = 1e-12


class SparseKMeans(SelectorMixin, ClusterMixin, BaseEstimator):
    """k-means on few genes: an exact number of them (l0), or weights under a bound (l1).

    As a transformer it keeps the genes with a positive weight.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    penalty
        "l0" keeps exactly ``n_genes`` genes, all with weight 1 (Chang et al. 2018): those with the largest
        between-cluster dispersion. "l1" gives the genes weights with ``||w||_2 <= 1`` and ``||w||_1 <= bound``
        (Witten and Tibshirani 2010).
    n_genes
        For "l0": how many genes to keep. None keeps all, which is plain k-means.
    bound
        For "l1": the largest sum of weights, at least 1; the smaller, the fewer genes. Values above the square root of
        the number of genes have no effect. None means a quarter of that square root, and at least 1.
    init
        Where the first k-means, on all genes, starts: "k-means++", "random", or an array of centres
        (n_clusters x genes).
    n_init
        Number of starts, of which the one with the largest criterion is kept. An array of centres is one start.
    max_iter
        Largest number of rounds (weights, then k-means to convergence) after the first k-means.
    tol
        Stop when the weights change by less than this, relative to their sum.
    random_state
        Seed, `numpy.random.Generator` or `numpy.random.RandomState` for the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (cells,)
        Cluster of every cell, the same as ``predict`` of the training data.
    cluster_centers_ : ndarray of shape (n_clusters, genes)
        Mean of every cluster on all genes, in the units of the data.
    weights_ : ndarray of shape (genes,)
        Weight of every gene in the squared distance between cells.
    criterion_ : float
        The weighted between-cluster dispersion ``weights_ @ dispersion(X, labels_)``; larger is better.
    n_iter_ : int
        Rounds of the start that was kept.

    Notes
    -----
    Each k-means is Lloyd's algorithm followed by single moves of cells as long as one of them lowers the within-cluster
    dispersion (Hartigan's criterion). With many more genes than cells Lloyd's algorithm alone stays close to where
    it started.

    Sparse data are never made dense.

    References
    ----------
    "l1": Witten and Tibshirani (2010), `doi:10.1198/jasa.2010.tm09415 <https://doi.org/10.1198/jasa.2010.tm09415>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> X, classes = gs.datasets.synthetic(mean=3.0, random_state=0)
    >>> model = gs.SparseKMeans(3, n_genes=120, random_state=0).fit(X)
    >>> int(model.get_support().sum())
    120
    >>> gs.metrics.purity(classes, model.labels_)
    1.0
    """

    def __init__(
        self,
        n_clusters: int,
        *,
        penalty: str = "l0",
        n_genes: int | None = None,
        bound: float | None = None,
        init: str | ArrayLike = "k-means++",
        n_init: int = 10,
        max_iter: int = 20,
        tol: float = 1e-4,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.n_genes = n_genes
        self.bound = bound
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the clusters and the genes.

        Parameters
        ----------
        X : array or sparse matrix of shape (cells, genes)
            The data.
        y
            Ignored.

        Returns
        -------
        SparseKMeans
            The fitted estimator.
        """
        X = self._validated(X, reset=True)
        update = self._check_parameters(X)
        best = max((self._fit_from(X, *start, update) for start in self._starts()), key=lambda fit: fit.criterion)
        if not best.settled:
            warnings.warn(f"the gene weights had not settled after {self.max_iter} rounds", ConvergenceWarning, 2)
        self.labels_ = best.labels
        self.weights_ = best.weights.astype(X.dtype)
        self.cluster_centers_ = _Clusters(X, best.labels, self.n_clusters).centres().astype(X.dtype)
        self.criterion_ = best.criterion
        self.n_iter_ = best.n_iter
        return self

    def predict(self, X: Any) -> Labels:
        """Assign cells to the nearest centre under the gene weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (cells, genes)
            The data.

        Returns
        -------
        ndarray of shape (cells,)
            The cluster of every cell.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        select = _selector(self.weights_, X.dtype)
        nearest = pairwise_distances_argmin(X @ select, self.cluster_centers_.astype(X.dtype) @ select)
        return np.asarray(nearest, dtype=np.int32)

    def transform(self, X: Any) -> Any:
        """X (cells x genes) on the genes with a positive weight."""
        check_intact(X)
        return super().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Values on the genes with a positive weight, put back among all genes; the others are 0."""
        check_intact(X)
        return super().inverse_transform(X)

    def _fit_from(self, X: Matrix, init: Any, seed: int, update: Update) -> _Fit:
        """Weights and k-means in turn; the labels that come out are those of k-means under the weights that do."""
        labels = _kmeans(X, self.n_clusters, init, seed=seed)
        weights = update(dispersion(X, labels))
        for n_iter in range(1, self.max_iter + 1):
            Z = X @ _selector(weights, X.dtype)  # (cells, selected genes)
            labels = _kmeans(Z, self.n_clusters, _Clusters(Z, labels, self.n_clusters).centres())
            spread = dispersion(X, labels)
            better = update(spread)
            settled = bool(np.abs(better - weights).sum() <= self.tol * weights.sum())
            if settled or n_iter == self.max_iter:
                break
            weights = better
        return _Fit(labels, weights, float(weights @ spread), n_iter, settled)

    def _starts(self) -> list[tuple[Any, int]]:
        """The starting centres, or the rule to draw them, with a seed each."""
        if not isinstance(self.init, str):
            return [(self.init, 0)]
        given, most = self.random_state, np.iinfo(np.int32).max
        if given is None or isinstance(given, np.random.Generator):
            seeds = as_generator(given).integers(most, size=self.n_init)
        else:  # scikit-learn's own draws, so that a seed gives the starts that it always gave
            seeds = check_random_state(given).randint(most, size=self.n_init)
        return [(self.init, int(seed)) for seed in seeds]

    def _check_parameters(self, X: Matrix) -> Update:
        """Check every parameter against the data; the weight update that they describe."""
        cells, genes = X.shape
        check_choice("penalty", self.penalty, ("l0", "l1"))
        check_integer("n_clusters", self.n_clusters, 1, cells, why=f"the cells given, n_samples={cells}")
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_number("tol", self.tol)
        if isinstance(self.init, str):
            if self.init not in ("k-means++", "random"):
                raise ValueError(f"init must be 'k-means++', 'random' or an array of centres, got {shown(self.init)}")
        elif np.shape(self.init) != (self.n_clusters, genes):
            expected = f"{(self.n_clusters, genes)} (clusters x genes)"
            raise ValueError(f"init must have shape {expected}, got {np.shape(self.init)}")
        return self._update(genes)

    def _update(self, genes: int) -> Update:
        own, other = ("n_genes", "bound") if self.penalty == "l0" else ("bound", "n_genes")
        if getattr(self, other) is not None:
            expected = f"None with penalty={self.penalty!r} ({own} is its parameter)"
            raise ValueError(f"{other} must be {expected}, got {shown(getattr(self, other))}")
        if self.penalty == "l0":
            n_genes = genes if self.n_genes is None else self.n_genes
            check_integer("n_genes", n_genes, 1, genes, why="the genes given")
            return lambda spread: l0_weights(spread, n_genes)
        bound = max(1.0, DEFAULT_BOUND_SHARE * math.sqrt(genes)) if self.bound is None else self.bound
        if not isinstance(bound, Real) or isinstance(bound, bool) or not float(bound) >= 1:
            raise ValueError(f"bound must be a number >= 1, got {shown(bound)}")
        return lambda spread: l1_weights(spread, bound)

    def _validated(self, X: Any, *, reset: bool) -> Matrix:
        check_two_dimensional(X)
        check_intact(X)
        # what scikit-learn's k-means takes: CSR with 32-bit indices
        options = {"accept_sparse": "csr", "accept_large_sparse": False, "dtype": [np.float64, np.float32]}
        with one_line_errors("X"):
            X = validate_data(self, X, reset=reset, **options)
        return of_fair_size(X)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.weights_ > 0

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse input is welcome and that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Fit(NamedTuple):
    labels: Labels
    weights: Vector
    criterion: float
    n_iter: int
    settled: bool


def _selector(weights: NDArray[Any], dtype: np.dtype[Any]) -> sp.csr_array:
    """Matrix that picks the genes with a positive weight and scales them by its root: distances become weighted."""
    support = np.flatnonzero(weights).astype(np.int32)  # k-means takes 32-bit indices only
    columns = np.arange(len(support), dtype=np.int32)
    entries = np.sqrt(weights[support]).astype(dtype)
    return sp.csr_array((entries, (support, columns)), shape=(len(weights), len(support)))


def _kmeans(Z: Matrix, n_clusters: int, init: Any, *, seed: int = 0) -> Labels:
    lloyd = KMeans(n_clusters, init=init, n_init=1, max_iter=KMEANS_MAX_ITER, tol=0.0, random_state=seed).fit(Z)
    return _move_cells(Z, lloyd.labels_, n_clusters)


def _move_cells(Z: Matrix, labels: Labels, n_clusters: int) -> Labels:
    """Move one cell at a time to another cluster while that lowers the within-cluster dispersion.

    Each sweep screens all cells in one product, then takes the promising ones by falling gain, which makes the result
    independent of the order of the cells, and checks each again against the clusters as they are by then.
    """
    labels = labels.astype(np.int32)
    norms = row_norms(Z, squared=True)
    clusters = _Clusters(Z, labels, n_clusters)
    for _ in range(KMEANS_MAX_ITER):
        centres = clusters.centres().astype(Z.dtype)
        squared = norms[:, None] - 2.0 * (Z @ centres.T) + (centres**2).sum(axis=1)  # (cells, clusters)
        _, gain = _moves(squared, labels, clusters.sizes)
        promising = np.flatnonzero(gain > 0)
        moved = False
        for cell in promising[np.argsort(-gain[promising], kind="stable")]:
            row = (np.ones((1, 1)) @ Z[[cell]])[0]  # (genes,), dense and float64 whatever Z is
            target, saved = _moves(clusters.squared_distances(row)[None, :], labels[[cell]], clusters.sizes)
            if saved[0] > MOVE_MARGIN * (row @ row):
                clusters.move(row, labels[cell], target[0])
                labels[cell] = target[0]
                moved = True
        if not moved:
            break
    return labels


class _Clusters:
    """Sums, sizes and squared norms of the sums of the clusters, kept up to date as cells move."""

    def __init__(self, X: Matrix, labels: Labels, n_clusters: int) -> None:
        self.sums, self.sizes = cluster_sums(X, labels, n_clusters)
        self.norms = (self.sums**2).sum(axis=1)

    def centres(self) -> Vector:
        return np.asarray(self.sums / np.maximum(self.sizes, 1.0)[:, None])  # an empty cluster sits at the origin

    def squared_distances(self, row: Vector) -> Vector:
        sizes = np.maximum(self.sizes, 1.0)
        return np.asarray(row @ row - 2.0 * (self.sums @ row) / sizes + self.norms / sizes**2)

    def move(self, row: Vector, source: int, target: int) -> None:
        for cluster, sign in ((source, -1.0), (target, 1.0)):
            self.sums[cluster] += sign * row
            self.sizes[cluster] += sign
            self.norms[cluster] = self.sums[cluster] @ self.sums[cluster]


def _moves(squared: NDArray[Any], labels: Labels, sizes: Vector) -> tuple[NDArray[np.intp], Vector]:
    """Best cluster for every cell when the centres follow the move, and what the move saves (Hartigan 1975)."""
    cells = np.arange(len(labels))
    costs = squared * (sizes / (sizes + 1.0))  # dispersion added by joining; (cells, clusters)
    own = sizes[labels]
    costs[cells, labels] = squared[cells, labels] * own / np.maximum(own - 1.0, 1.0)  # taken away by leaving
    target = costs.argmin(axis=1)
    return target, costs[cells, labels] - costs[cells, target]
