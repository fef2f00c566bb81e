"""SSNMF, structured sparse NMF as a scikit-learn estimator."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from genesieve._random import as_generator
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.streamed import as_source
from genesieve.core.solvers import SOLVERS, Callback
from genesieve.core.usages import score_cells, usages_of
from genesieve.estimators._batches import note_levels, read_batches, scaled_by_batch, scaling_of
from genesieve.estimators._door import check_sums, read_cells, read_new_cells
from genesieve.estimators._fitting import fit_starts, label, publish
from genesieve.estimators._parameters import check_parameters, read_memory
from genesieve.estimators._progress import watched
from genesieve.estimators._reading import read_choices, read_sizes
from genesieve.selection.choose import MOST_PROGRAMS


class SSNMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Factorise cells x genes into a few non-negative programs that use an exact budget of genes.

    Finds usages H (cells x programs) and gene weights W (genes x programs), both non-negative, with ``X`` close to
    ``H @ W.T`` and at most ``n_genes`` genes in use. Cells are clustered by the program they use most.

    Parameters
    ----------
    n_components
        Number of programs; ``"auto"``: what `genesieve.tl.select` suggests.
    n_genes
        Gene budget; ``None`` keeps all genes, ``"auto"`` as many as `genesieve.tl.select` suggests. Fewer than 500 are
        chosen by programs that were found with more genes, so that few genes do not choose themselves.
    sparsity
        What the budget counts: ``"rows"``, genes in all (l2,0); ``"columns"``, genes of each program (lc,0);
        ``"entries"``, ``n_genes * n_components`` weights in all (l0); ``None``, no budget.
    orthogonality
        How strongly programs are kept from sharing cells. ``0.0``: not at all. A number: a fixed penalty; with
        ``"bcd"`` it has no scale (to a cell, any two programs look more alike by that cosine, 1 makes the assignment
        hard), with ``"palm"`` and ``"mapalm"`` it is the paper's rho. ``"exact"``: a growing penalty, and with
        ``"bcd"`` at last exactly one program a cell. ``"auto"``: 0.05 where ``"bcd"`` keeps a budget of genes and
        labels are programs, else 0.
    solver
        ``"bcd"``, exact blocks with the exact choice of genes; ``"mapalm"`` or ``"palm"``, the paper's algorithms.
    init
        ``"nmf"``, ``"random"``, ``"nndsvd"``, or a pair ``(H0, W0)`` of shapes cells x programs and genes x programs.
    max_iter
        Iterations at most (of each stage, where ``orthogonality="exact"``).
    tol
        Tolerance: the relative decrease of the objective that a W step offers for ``"bcd"``, the relative change of
        both factors for the others. ``None``: 1e-6 for ``"bcd"`` on up to 2,000 cells (10,000 with a budget of genes)
        and 2e-5 on more, where a pass costs more than it gains; 1e-3, the paper's, for the others.
    n_restarts
        Fits from different starts, of which the one with the lowest objective is kept.
    consensus
        Take what ``n_restarts`` fits agree on instead: plain fits, on a sample where cells are many, whose programs are
        clustered; one fit then sets out from the medians, with the penalty and the exact budget. ``stability_`` says
        how many of them have each program.
    labels
        How cells are labelled: ``"argmax"``, by their most used program; ``"kmeans"``, by clusters of their usages;
        ``"leiden"``, by clusters on a graph of neighbours in usages and in the selected genes.
    n_clusters
        Clusters of ``"kmeans"`` and ``"leiden"``; ``None``: as many as programs.
    resolution
        Resolution of ``"leiden"``, instead of a number of clusters.
    gauge
        ``"unit"`` gives every program's gene vector unit length, so that usages carry the scale of the data, and puts
        the programs that cells use most in all first; ``None`` leaves the factors as the solver ended.
    gene_weights
        A positive weight for each gene in the fit; ``components_`` stays on the scale of the data. ``"variation"``:
        the gene's coefficient of variation, so that the budget goes to genes that vary, not to abundant ones.
        ``"auto"``: that where ``"bcd"`` keeps a budget of genes, else ``None``, all alike.
    baseline
        What a gene outside the budget is predicted by, and so what a gene in it has to beat: ``"mean"``, its mean at
        the size of each cell, so that the budget goes to genes that programs explain; ``"zero"``, as in the paper.
        It applies where ``"bcd"`` keeps a budget of genes (``sparsity="rows"``); elsewhere it is zero.
    required_genes
        Mask or indices of genes that are sure of a place in the budget (``sparsity="rows"``).
    line_search
        Find the steps of ``"palm"`` and ``"mapalm"`` by backtracking instead of from the Lipschitz constant.
    n_jobs
        Threads; ``None`` or -1 uses every core there is. That is not what ``None`` means in scikit-learn, one: threads
        here share the data, and results do not depend on their number. Where many fits run side by side, as in a grid
        search with ``n_jobs``, pass 1.
    memory
        What a fit from a file may take, in bytes or as ``"2GB"``: it decides how much is read at once. ``None``: pieces
        of some hundred megabytes. It has no effect on data in memory.
    callback
        Called after every iteration with a ``Progress`` (iteration, objective, passes, seconds). If it returns
        ``True``, the fit ends there with what it has. One that has a method ``stands``, too, is told by it where the
        fit stands before and between iterations (stage, parts done, seconds).
    checkpoint
        A file to keep the fit in after every iteration. A fit that finds it there goes on from the last iteration and
        ends where it would have ended without interruption; it needs the same parameters, an integer as
        ``random_state``, and the same data, wherever they are.
    verbose
        Show a bar, with an estimate of the time left.
    random_state
        Seed, ``numpy.random.Generator`` or ``RandomState``.

    Attributes
    ----------
    components_ : (n_components, n_features) array
        Gene weights of every program.
    n_components_ : int
        Number of programs.
    n_genes_ : int or None
        The gene budget.
    selection_ : Selection or None
        What led to these numbers where they were ``"auto"``.
    labels_ : (n_samples,) array
        The program that each cell uses most, or its cluster.
    confidence_ : (n_samples,) array
        How sure each label is, 0 to 1: the share by which a cell's largest usage exceeds the second, or for clusters by
        which the nearest other centre is further away than its own.
    cluster_centers_ : (n_clusters, n_components) array or None
        Mean usages of the clusters, each cell's at unit length.
    objective_, history_, n_iter_, n_passes_, converged_
        The objective that the solver lowered, its course (objective, seconds and passes after every iteration),
        iterations, passes over all of X, and whether the tolerance was met.
    reconstruction_err_ : float
        Frobenius norm of ``X - H @ components_``.
    explained_ : float
        The share of the sum of squares of X that the programs explain; what the baseline predicts is no part of it.
    explained_variation_ : float
        The share of the selected genes' variation around their means that the programs explain.
    stability_ : (n_components,) array or None
        The share of the fits of a consensus that have each program; ``None`` without one.
    penalty_, gauge_scale_, gene_weights_
        What ``transform`` solves with: the penalty of the fit, the factor that takes each program from the public
        gauge to the solver's, and the weight of every gene or ``None``.
    orthogonality_ : float or "exact"
        The penalty that ``"auto"`` stood for.
    baseline_ : str
        The baseline, ``"zero"`` where it does not apply.
    batches_ : array of str or None
        Names of the batches.
    batch_scales_ : (batches, n_features) array or None
        The scale of every gene in every batch, by which its values there were divided.
    gene_levels_ : (n_features,) array or None
        With batches, the sum of each gene over the sum that the programs predict: what a new batch is measured by.

    References
    ----------
    The model, its constraints and the solvers ``"palm"`` and ``"mapalm"``: Min, Xu, Wan and Chang (2021),
    `arXiv:2104.13171 <https://arxiv.org/abs/2104.13171>`__.

    Exact blocks: Xu and Yin (2013), `doi:10.1137/120887795 <https://doi.org/10.1137/120887795>`__.

    Programs and usages in single cells: Kotliar et al. (2019), `doi:10.7554/eLife.43803
    <https://doi.org/10.7554/eLife.43803>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> X = gs.datasets.demo().X  # logged expression of 700 cells on 765 genes
    >>> model = gs.SSNMF(6, n_genes=200, random_state=0)
    >>> model.fit_transform(X).shape
    (700, 6)
    >>> model.components_.shape, int(model.get_support().sum())
    ((6, 765), 200)
    >>> model.transform(X[:10]).shape
    (10, 6)
    """

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        n_genes: int | str | None = None,
        sparsity: str | None = "rows",
        orthogonality: float | str = "auto",
        solver: str = "bcd",
        init: str | tuple[np.ndarray, np.ndarray] = "nmf",
        max_iter: int = 200,
        tol: float | None = None,
        n_restarts: int = 1,
        consensus: bool = False,
        labels: str = "argmax",
        n_clusters: int | None = None,
        resolution: float | None = None,
        gauge: str | None = "unit",
        gene_weights: np.ndarray | str | None = "auto",
        baseline: str = "mean",
        required_genes: np.ndarray | None = None,
        line_search: bool = False,
        n_jobs: int | None = None,
        memory: float | str | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_genes = n_genes
        self.sparsity = sparsity
        self.orthogonality = orthogonality
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_restarts = n_restarts
        self.consensus = consensus
        self.labels = labels
        self.n_clusters = n_clusters
        self.resolution = resolution
        self.gauge = gauge
        self.gene_weights = gene_weights
        self.baseline = baseline
        self.required_genes = required_genes
        self.line_search = line_search
        self.n_jobs = n_jobs
        self.memory = memory
        self.callback = callback
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: object = None, *, batches: Any = None) -> Self:
        """Fit the programs to cells x genes ``X``, dense or sparse.

        ``batches`` are labels of the samples, donors or conditions that the cells come from: each then has a scale of
        its own for every gene, so that programs are shared and genes that only tell batches apart gain nothing.

        X may also be in an open file (the values of a backed AnnData, an array of HDF5 or zarr), or a Dask array of
        blocks of cells: it is then read block by block in every pass, and never as a whole. A Dask array is worked on
        where the current ``dask.distributed`` client says, or without one on Dask's own threads.
        """
        self._fit(X, batches)
        return self

    def fit_transform(self, X: Any, y: object = None, *, batches: Any = None) -> np.ndarray:
        """Fit, and return the usages of the cells (cells x programs)."""
        return self._fit(X, batches)

    def fit_predict(self, X: Any, y: object = None, *, batches: Any = None) -> np.ndarray:
        """Fit, and return the labels of the cells."""
        return self.fit(X, batches=batches).labels_

    def transform(self, X: Any, *, selected_only: bool = False, batches: Any = None) -> np.ndarray:
        """Usages of new cells, with the fitted programs and penalty.

        ``batches`` are labels as in `fit`. Batches of the fit have their scales from there, those of a new batch are
        found from its cells; without labels, values are taken as they are.

        Only the selected genes are needed: a table with named columns may hold just those, in any order. A plain array
        has all genes of the fit, or with ``selected_only=True`` the selected ones in their order.
        """
        check_is_fitted(self)
        X, genes = read_new_cells(self, X, selected_only=selected_only)
        return score_cells(
            X,
            self.components_[:, genes].T,
            scale=self.gauge_scale_,
            penalty=self.penalty_,
            gene_weights=None if self.gene_weights_ is None else self.gene_weights_[genes],
            scaling=scaling_of(self, batches, X.shape[0], genes),
            n_jobs=self.n_jobs,
        )

    def inverse_transform(self, X: np.ndarray) -> np.ndarray:
        """Expression (cells x genes) that usages ``X`` stand for."""
        check_is_fitted(self)
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != len(self.components_):
            raise ValueError(f"usages must have {len(self.components_)} columns (the programs), got shape {X.shape}")
        return X @ self.components_

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Mask (or indices) of the selected genes."""
        check_is_fitted(self)
        mask = np.any(self.components_ > 0, axis=0)
        return np.flatnonzero(mask) if indices else mask

    @property
    def n_components_(self) -> int:
        """Number of programs of the fit."""
        return len(self.components_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _fit(self, X: Any, batches: Any = None) -> np.ndarray:
        with watched(self.callback, self.verbose) as monitor:
            return self._fit_watched(X, batches, monitor)

    def _fit_watched(self, X: Any, batches: Any, monitor: Callback | None) -> np.ndarray:
        X = read_cells(self, X, reset=True)
        check_parameters(self, X.shape)
        of_batch = None if batches is None else read_batches(batches, X.shape[0])
        rank = MOST_PROGRAMS if isinstance(self.n_components, str) else self.n_components
        source = as_source(X, n_jobs=self.n_jobs, memory=read_memory(self.memory), rank=rank)
        batch = None if of_batch is None else of_batch.of_cell
        self.rank_, self.n_genes_, self.selection_ = read_sizes(self, source, batch, getattr(monitor, "chooses", None))
        if SOLVERS[self.solver].needs_usages and not source.holds_usages:
            raise ValueError(f"solver must be 'bcd' for a Dask array, got {self.solver!r}")
        rng = as_generator(self.random_state)
        *starts, of_scales = rng.spawn(self.n_restarts + 1)
        blocks = Blocks(scaled_by_batch(self, source, of_batch, of_scales), n_jobs=self.n_jobs)
        self.baseline_, self.orthogonality_, self.gene_weights_ = read_choices(self, blocks)
        blocks = blocks.weighted(self.gene_weights_, baseline=self.baseline_)
        check_sums(blocks)
        best = fit_starts(self, blocks, starts[:1] if self.consensus else starts, monitor)
        H = publish(self, best, usages_of(blocks, best), blocks)
        note_levels(self, blocks, H)
        label(self, blocks, H, seed=int(rng.integers(2**31)))
        return H
