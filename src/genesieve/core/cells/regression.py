"""Least squares of every gene on designs over the cells, with errors that hold where cells scatter unequally.

Two passes over blocks of cells: one for the sums that the coefficients need, one for the squared residuals that their
errors need. A gene has the design that ``which`` names, so that it can be held out of what explains it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from genesieve.core.cells.sources import Source, Sums, add
from genesieve.core.compiled import compiled

# A cell that decides a coefficient by itself has no residual; its leverage counts as no more than this.
MOST_LEVERAGE = 0.99


class Regression(NamedTuple):
    """Coefficients of every gene, in the units of X, beside its mean and spread over the cells as they count."""

    coefficients: np.ndarray  # (genes, columns)
    errors: np.ndarray  # (genes, columns), standard errors, whatever cells scatter by
    pooled_errors: np.ndarray  # (genes, columns), as they were if a gene scattered alike in the cells of all columns
    freedom: np.ndarray  # (designs, columns), degrees of freedom of the errors
    mean: np.ndarray  # (genes,)
    spread: np.ndarray  # (genes,)
    overlap: np.ndarray  # (columns, columns), of the first design: the share of column j that goes along with column i


def regress(source: Source, designs: np.ndarray, which: np.ndarray) -> Regression:
    """Weighted least squares of genes on ``designs`` (cells, designs, columns), gene g on ``designs[:, which[g]]``.

    A cell counts by the number of genes that it shows, as values of cells that show few are mostly noise. Errors are
    those of MacKinnon and White (HC3).
    """
    n_designs, stacked = designs.shape[1], designs.reshape(len(designs), -1)
    cross, sums, squares, total, grams = _total(source, partial(_sums, which, n_designs), stacked)
    inverses = np.array([_inverse(gram) for gram in grams])
    coefficients, variances = np.empty_like(cross), np.empty_like(cross)
    for design, inverse in enumerate(inverses):
        coefficients[which == design] = cross[which == design] @ inverse
    work = partial(_squared_residuals, which, inverses, coefficients)
    products, moments, influence, influence_squares = _total(source, work, stacked)
    for design in range(n_designs):
        B = coefficients[which == design]
        fitted = np.stack([((B @ moment) * B).sum(axis=1) for moment in moments[design]], axis=1)
        variances[which == design] = products[which == design] + fitted
    total = max(total, 1.0)  # no cell shows a gene
    mean = sums / total
    counted = np.divide(influence**2, influence_squares, out=np.ones_like(influence), where=influence > 0)
    variances = np.maximum(variances, 0.0)
    return Regression(
        coefficients=coefficients,
        errors=np.sqrt(variances),
        pooled_errors=np.sqrt(_pooled(variances, influence[which])),
        freedom=np.maximum(counted - 1.0, 1.0),  # from the number of cells that a coefficient rests on
        mean=mean,
        spread=np.sqrt(np.maximum(squares / total - mean**2, 0.0)),
        overlap=_overlap(grams[0]),
    )


def _pooled(variances: np.ndarray, influence: np.ndarray) -> np.ndarray:
    """Variances (genes, columns) from the scatter in the cells of all columns.

    One over its influence is about the number of cells that a coefficient rests on, and a variance times that number
    the scatter of one cell. Residuals of all cells would not do: shallow cells scatter most and count least.
    """
    cells = np.divide(1.0, influence, out=np.zeros_like(influence), where=influence > 0)
    total = cells.sum(axis=1)
    scatter = np.divide((variances * cells**2).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(scatter[:, None] * influence)


def _overlap(gram: np.ndarray) -> np.ndarray:
    """Slopes of columns j on columns i through zero, 1 at most; zero of a column on itself, and on none."""
    own = np.diag(gram)[:, None]
    slopes = np.divide(gram, own, out=np.zeros_like(gram), where=own > 0)
    np.fill_diagonal(slopes, 0.0)
    return np.minimum(slopes, 1.0)


def cross_products(source: Source, H: np.ndarray, change: Callable[[Any], Any]) -> tuple[np.ndarray, ...]:
    """``Y^T H`` (genes, rank), and sums and sums of squares of every gene, where Y is what ``change`` makes of X."""
    return _total(source, partial(_changed_products, change), H)


def _total(source: Source, work: Callable[[Any, Any], Sums], H: np.ndarray) -> Sums:
    return reduce(add, source.each(work, H))


# What is done to a block, as functions of their own that can be sent to a cluster.


def _changed_products(change: Callable[[Any], Any], X: Any, H: np.ndarray) -> Sums:
    X, H = change(X.astype(np.float64)), H.astype(np.float64)
    squares = X.power(2) if sparse.issparse(X) else X**2
    return X.T @ H, np.asarray(X.sum(axis=0)).ravel(), np.asarray(squares.sum(axis=0)).ravel()


def _inverse(gram: np.ndarray) -> np.ndarray:
    """Of the columns that some cell has; zero for the others, where some processors would leave rounding."""
    used = np.diag(gram) > 0
    return np.linalg.pinv(gram, hermitian=True) * np.outer(used, used)


def _sums(which: np.ndarray, n_designs: int, X: Any, stacked: np.ndarray) -> Sums:
    """``X^T D`` of every gene and its own design, sums of the values and their squares, of weights, and ``D^T D``."""
    U, weights = _designs_of(stacked, n_designs), _genes_shown(X)
    UW = U * weights[:, None, None]
    if sparse.issparse(X):
        cross, sums, squares = _add_products(X.data, X.indices, X.indptr, UW, weights, which, X.shape[1])
    else:
        cross, X = np.zeros((X.shape[1], U.shape[2])), X.astype(np.float64)
        for design in range(n_designs):
            cross[which == design] = X[:, which == design].T @ UW[:, design]
        sums, squares = weights @ X, weights @ X**2
    grams = np.stack([U[:, design].T @ UW[:, design] for design in range(n_designs)])
    return cross, sums, squares, weights.sum(), grams


def _squared_residuals(
    which: np.ndarray, inverses: np.ndarray, coefficients: np.ndarray, X: Any, stacked: np.ndarray
) -> Sums:
    """Parts of the errors' squares: ``sum_i q_i (x_i^2 - 2 x_i f_i)``, moments for ``sum_i q_i f_i^2``, and influences.

    f is the fitted value and q the squared influence of a cell on a coefficient, raised by its leverage.
    """
    n_designs = len(inverses)
    U = _designs_of(stacked, n_designs)
    influence = np.einsum("idk,dkj->idj", U * _genes_shown(X)[:, None, None], inverses)
    leverage = (influence * U).sum(axis=2, keepdims=True)
    q = (influence / (1.0 - np.minimum(leverage, MOST_LEVERAGE))) ** 2
    if sparse.issparse(X):
        products = _add_squares(X.data, X.indices, X.indptr, U, q, which, coefficients)
    else:
        products, X = np.zeros(coefficients.shape), X.astype(np.float64)
        for design in range(n_designs):
            genes = which == design
            fitted = U[:, design] @ coefficients[genes].T
            products[genes] = (X[:, genes] * (X[:, genes] - 2.0 * fitted)).T @ q[:, design]
    moments = np.stack([_moments(U[:, design], q[:, design]) for design in range(n_designs)])
    return products, moments, (influence**2).sum(axis=0), (influence**4).sum(axis=0)


def _moments(U: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``sum_i q_ik u_i u_i^T`` (columns, columns, columns), by k."""
    return np.stack([(U * column[:, None]).T @ U for column in q.T])


def _designs_of(stacked: np.ndarray, n_designs: int) -> np.ndarray:
    return np.asarray(stacked, dtype=np.float64).reshape(len(stacked), n_designs, -1)


def _genes_shown(X: Any) -> np.ndarray:
    """Genes above zero in every cell."""
    if sparse.issparse(X):
        return np.bincount(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[X.data > 0], minlength=X.shape[0]) * 1.0
    return np.count_nonzero(X > 0, axis=1).astype(np.float64)


@compiled
def _add_products(data, indices, indptr, UW, weights, which, n_genes):  # type: ignore[no-untyped-def]
    cross, sums, squares = np.zeros((n_genes, UW.shape[2])), np.zeros(n_genes), np.zeros(n_genes)
    for i in range(indptr.size - 1):
        for j in range(indptr[i], indptr[i + 1]):
            gene, value = indices[j], np.float64(data[j])
            sums[gene] += weights[i] * value
            squares[gene] += weights[i] * value * value
            for k in range(UW.shape[2]):
                cross[gene, k] += value * UW[i, which[gene], k]
    return cross, sums, squares


@compiled
def _add_squares(data, indices, indptr, U, q, which, coefficients):  # type: ignore[no-untyped-def]
    total = np.zeros(coefficients.shape)
    for i in range(indptr.size - 1):
        for j in range(indptr[i], indptr[i + 1]):
            gene, value = indices[j], np.float64(data[j])
            design, fitted = which[gene], 0.0
            for k in range(U.shape[2]):
                fitted += U[i, design, k] * coefficients[gene, k]
            value *= value - 2.0 * fitted
            for k in range(U.shape[2]):
                total[gene, k] += value * q[i, design, k]
    return total
