"""The paper's twelve methods as its authors ran them: factorisations step by step, k-means as the library has it.

Where the runs differ from the paper's text they are followed, not the text: W is updated before H, a small ridge is
added in the orthogonal variants, and three of the l0 and lc0 runs rescale W without compensating H. `genesieve.METHODS`
has the algorithms as the paper writes them. Matrices are tall: X is cells x genes, W genes x rank, H cells x rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genesieve.core.constraints import ColumnSparse, Constraint, EntrySparse, NonNegative, RowSparse, spectral_norm
from genesieve.core.objective import Overlap, gram_of, half_squared_residual
from genesieve.core.solvers import Factors, orthogonality_error, proximal_step
from genesieve.estimators.sparse_kmeans import SparseKMeans

TOLERANCE = 1e-3  # relative change of W plus that of H
LOOSE = 3.0  # times the tolerance: of the NMF that ONMF_l20_rho starts from
RIDGE = 1e-4  # on H, in all orthogonal variants
FIRST_RHO = 0.1
FIXED_RHO = 1.0
NMF_ITERATIONS = 500
PLUS = NonNegative().project


@dataclass(frozen=True)
class Recipe:
    """The numbers of a published run."""

    n_genes: int  # of l20, of each program of lc0, and of k-means l0
    n_entries: int  # of l0, in all
    bound: float  # of k-means l1
    max_iter: int
    growth: float  # of rho, from stage to stage
    stages: int
    centres: str  # of k-means: "start", the columns of the starting W, or "random" cells
    # What is known of the synthetic runs only, and assumed of the others:
    nmf_iterations: int | None = None  # at most, of the NMF that most methods start from
    nmf_tol: float = TOLERANCE  # of the same
    norm: float | None = None  # of W in ONMF_lc0; None: the rank


SYNTHETIC = Recipe(120, n_entries=360, bound=5.6, max_iter=200, growth=4.0, stages=12, centres="start")
REAL = Recipe(2000, n_entries=2000, bound=27.0, max_iter=100, growth=1.5, stages=10, centres="random")


class Stage(NamedTuple):
    """A stage of a run, one unless rho grows: its penalty and where it ended."""

    rho: float
    factors: Factors


def random_start(shape: tuple[int, int], rank: int, seed: int) -> Factors:
    """Uniform factors; the published runs start from such."""
    rng = np.random.default_rng(seed)
    return Factors(rng.random((shape[0], rank)), rng.random((shape[1], rank)))


# ------------------------------------------------------------------------------------------------ factorisations


def nmf(X: Any, start: Factors, *, tol: float = TOLERANCE, max_iter: int | None = None) -> Factors:
    """Extrapolated block steps with Frobenius norms for L, restarted where the objective rises (Xu and Yin, 2013)."""
    size = float(np.sqrt(squared_norm(X)))
    current = Factors(*(factor / np.linalg.norm(factor) * np.sqrt(size) for factor in start))
    point, momentum, objective = current, 1.0, np.inf
    bounds = (1.0, 1.0)
    for iteration in range(1, (max_iter or NMF_ITERATIONS) + 1):
        gram = gram_of(current.H)
        W = proximal_step(point.W, gram, X.T @ current.H, PLUS, lipschitz=(w_bound := float(np.linalg.norm(gram))))
        gram = gram_of(W)
        H = proximal_step(point.H, gram, X @ W, PLUS, lipschitz=(h_bound := float(np.linalg.norm(gram))))
        value = half_squared_residual(size**2, W, X.T @ H, gram_of(H))
        if value >= objective:
            point = current
            continue
        previous, current = current, Factors(H, W)
        last, momentum = momentum, (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        new_bounds = (h_bound, w_bound)
        weights = [min((last - 1) / momentum, np.sqrt(b / a)) for b, a in zip(bounds, new_bounds, strict=True)]
        point = Factors(*(new + w * (new - old) for new, old, w in zip(current, previous, weights, strict=True)))
        bounds, objective = new_bounds, value
        if iteration >= 21 and change(current, previous) <= tol:
            break
    return current


def squared_norm(X: Any) -> float:
    """Sum of squares, of dense or sparse values."""
    return float((X.multiply(X) if hasattr(X, "multiply") else X * X).sum())


def change(current: Factors, previous: Factors) -> float:
    """Relative change of W plus that of H."""
    pairs = zip(current, previous, strict=True)
    return sum(float(np.linalg.norm(new - old) / np.linalg.norm(old)) for new, old in pairs)


class Fit(NamedTuple):
    """What is scored."""

    labels: NDArray[np.integer]  # (cells,)
    n_genes: int  # in use
    stages: Sequence[Stage] = ()  # of a factorisation; the last is its result


@dataclass(frozen=True)
class Factorisation:
    """A published factorisation: the NMF that it starts from, then steps on W and H in turn until they settle."""

    constraint: Callable[[Recipe], Constraint] | None = None  # on W; None leaves it at the NMF
    at_least: int = 0  # iterations
    rho: float | None = 0.0  # None: it grows from stage to stage
    start_tol: float | None = 1.0  # of the NMF, in units of the recipe's; None begins without one
    # Of W after every step, given the rank. H is left as it is: published for l0 and lc0, and no descent.
    norm: Callable[[Recipe, int], float] | None = None

    def __call__(self, X: Any, start: Factors, recipe: Recipe, seed: int) -> Fit:
        """The run from a starting point; the seed is for clusterings."""
        stages = list(self._stages(X, start, recipe))
        H, W = stages[-1].factors
        return Fit(H.argmax(axis=1), int(W.any(axis=1).sum()), stages)

    def _stages(self, X: Any, current: Factors, recipe: Recipe) -> Iterator[Stage]:
        """One stage, or continuation: rho grows until H is orthogonal and a stage changes little."""
        if self.start_tol is not None:
            current = nmf(X, current, tol=self.start_tol * recipe.nmf_tol, max_iter=recipe.nmf_iterations)
        if self.constraint is None:
            yield Stage(0.0, current)
            return
        growing = [FIRST_RHO * recipe.growth**stage for stage in range(recipe.stages)]
        for rho in growing if self.rho is None else [self.rho]:
            previous, current = current, self._alternate(X, current, recipe, Overlap(rho, RIDGE if rho else 0.0))
            yield Stage(rho, current)
            if orthogonality_error(gram_of(current.H)) <= TOLERANCE and change(current, previous) <= TOLERANCE:
                break

    def _alternate(self, X: Any, current: Factors, recipe: Recipe, penalty: Overlap) -> Factors:
        assert self.constraint is not None
        project = self.constraint(recipe).project
        for iteration in range(1, recipe.max_iter + 1):
            W = proximal_step(current.W, gram_of(current.H), X.T @ current.H, project)
            if self.norm is not None:
                W = W * (self.norm(recipe, W.shape[1]) / np.linalg.norm(W))
            quadratic = penalty.cell_quadratic(gram_of(W))
            H = proximal_step(current.H, quadratic, X @ W, PLUS, lipschitz=spectral_norm(quadratic))
            previous, current = current, Factors(H, W)
            if iteration >= self.at_least and change(current, previous) <= TOLERANCE:
                break
        return current


@dataclass(frozen=True)
class Clustering:
    """k-means by the library, from the published centres: no replay of the runs in R, so single starts end elsewhere.

    R's k-means is Hartigan and Wong's, and by a slip the published l0 runs do one iteration of it a round; here every
    round runs to convergence.
    """

    penalty: str = "l0"
    keeps_all: bool = False

    def __call__(self, X: Any, start: Factors, recipe: Recipe, seed: int) -> Fit:
        """The run from the columns of the starting W, or from cells that the seed draws."""
        centres = start.W.T if recipe.centres == "start" else "random"
        n_genes = None if self.keeps_all or self.penalty == "l1" else recipe.n_genes
        bound = recipe.bound if self.penalty == "l1" else None
        options: dict[str, Any] = {"penalty": self.penalty, "n_genes": n_genes, "bound": bound, "init": centres}
        model = SparseKMeans(start.W.shape[1], n_init=1, random_state=seed, **options).fit(X)
        return Fit(model.labels_, int((model.weights_ > 0).sum()))


def _none(recipe: Recipe) -> Constraint:
    return NonNegative()


def _rows(recipe: Recipe) -> Constraint:
    return RowSparse(recipe.n_genes)


def _columns(recipe: Recipe) -> Constraint:
    return ColumnSparse(recipe.n_genes)


def _entries(recipe: Recipe) -> Constraint:
    return EntrySparse(recipe.n_entries)


def _one(recipe: Recipe, rank: int) -> float:
    return 1.0


def _assumed(recipe: Recipe, rank: int) -> float:
    return float(rank) if recipe.norm is None else recipe.norm


METHODS: Mapping[str, Callable[[Any, Factors, Recipe, int], Fit]] = {
    "nmf": Factorisation(),
    "nmf_l20": Factorisation(_rows, 21),
    "nmf_lc0": Factorisation(_columns, 21, norm=_one),
    "nmf_l0": Factorisation(_entries, 11, norm=_one),
    "onmf": Factorisation(_none, 6, rho=None, start_tol=None),
    "onmf_l20": Factorisation(_rows, 6, rho=None, start_tol=None),
    "onmf_l20_rho": Factorisation(_rows, 6, rho=FIXED_RHO, start_tol=LOOSE),
    "onmf_lc0": Factorisation(_columns, 11, rho=None, norm=_assumed),
    "onmf_l0": Factorisation(_entries, 11, rho=None),
    "kmeans": Clustering(keeps_all=True),
    "kmeans_l0": Clustering(),
    "kmeans_l1": Clustering("l1"),
}
