"""How many programs and how many genes, from an AnnData."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from genesieve._anndata import check_unique_genes, own, read_values, select_genes
from genesieve._checks import check_integer
from genesieve._random import as_generator
from genesieve._slots.write import write_path, write_selection
from genesieve.estimators._progress import watched_choice, watched_fits
from genesieve.estimators.ssnmf import SSNMF
from genesieve.selection.choose import select as choose
from genesieve.selection.evidence import Step
from genesieve.selection.path import Fitted, budgets_for
from genesieve.selection.path import path as fit_path
from genesieve.tl._batches import read_batch_column
from genesieve.tl.fit import given_genes

if TYPE_CHECKING:
    from anndata import AnnData


def select(
    adata: AnnData,
    n_components: int | Iterable[int] | None = None,
    n_genes: int | Iterable[int] | None = None,
    *,
    layer: str | None = None,
    use_raw: bool = False,
    mask_var: str | Sequence[bool] | np.ndarray | None = None,
    exclude_genes: str | Sequence[str] | None = None,
    batch_key: str | None = None,
    key_added: str = "ssnmf",
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callable[[Step], object] | None = None,
    random_state: Any = 0,
    copy: bool = False,
    verbose: bool | None = None,
) -> AnnData | None:
    """Suggest how many programs and how many genes to ask `genesieve.tl.ssnmf` for, and keep the evidence.

    Two signals decide on the number of programs. As many are fitted as there are directions of the cells that stand
    out of the noise, once it is even over cells and genes. If most of them are found again in two disjoint halves of
    the cells, that is their number; if not, programs fade, and those are counted that add to what can be predicted of
    genes and cells held out. The number of genes is how many are predicted by the other genes better than
    by their mean at the depth of each cell, after correction for multiple testing. Values may be logged: where they
    are logarithms of counts at some depth, this is undone first. Of many cells a sample is looked at.

    Parameters
    ----------
    adata
        The cells as `genesieve.tl.ssnmf` would get them. Values may be outside memory.
    n_components, n_genes
        What may be suggested: numbers to choose from such as ``range(2, 31)``, or ``None`` for all.
    layer, use_raw, mask_var, exclude_genes
        As in `genesieve.tl.ssnmf`.
    batch_key
        Column of ``obs`` with batches: what tells them apart is taken out first and is no program.
    key_added
        Name of the slot, before ``_select``.
    n_jobs
        Threads; ``None`` or -1 uses every core there is.
    checkpoint
        A file to keep finished steps in: called again with the same data and choices, it goes on from there.
    callback
        Called before every step with ``what`` comes and the share of the work that is ``done``.
    random_state
        Seed of the sample, and of the signs and parts that stand for chance.
    copy
        Return a copy with the result instead of working in place.
    verbose
        Show a bar; ``None``: where it takes more than some seconds, on a terminal or in a notebook.

    Returns
    -------
    AnnData or None
        The copy with ``copy=True``. ``uns["ssnmf_select"]`` is set:

        ``suggested``
            ``{"n_components", "n_genes"}``.
        ``table``
            A row for each number of programs: ``size`` of its last direction over the end of the noise, whether that
            ``stands_out``, the ``agreement`` of two halves of the cells on a program, the best first, and
            ``held_out_error``, the error on genes and cells held out over that of one program.
        ``genes``
            A row for each gene, those that clearly earn a place first: ``gain``, the share of its variation that the
            others predict, its ``standard_error``, ``p_adjusted`` and whether it ``earns`` a place.
        ``signals``
            The number of programs by each: ``stand_out``, ``replicate``, ``add`` (to what can be predicted) and
            ``held_out`` (the lowest error).
        ``clear``
            Whether the number of programs is well defined; else they fade, and few are suggested.
        ``reason``, ``values``, ``n_cells``
            Why, in a sentence; what the values were found to be; how many cells were looked at.

    References
    ----------
    Random signs: Hong, Sheng and Dobriban (2020), `arXiv:2012.02985 <https://arxiv.org/abs/2012.02985>`__. Genes and
    cells held out together: Owen and Perry (2009), `doi:10.1214/08-AOAS227 <https://doi.org/10.1214/08-AOAS227>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.programs("easy", n_cells=300, n_genes=600, n_types=4, n_activities=0)
    >>> gs.tl.select(adata)
    >>> adata.uns["ssnmf_select"]["suggested"]["n_components"]
    4
    """
    adata = own(adata, copy=copy)
    check_unique_genes(adata)
    given = given_genes(adata, mask_var, exclude_genes, None)
    allowed = _allowed(n_components, min(adata.n_obs, int(given.sum())), "n_components")
    budgets = _allowed(n_genes, int(given.sum()), "n_genes")
    X = read_values(adata, layer=layer, use_raw=use_raw)
    X = X if given.all() else select_genes(X, given)
    batch = None if batch_key is None else read_batch_column(adata, batch_key).of_cell
    about: dict[str, Any] = {"batch": batch, "n_jobs": n_jobs, "checkpoint": checkpoint}
    with watched_choice(callback, verbose) as tell:
        rng = as_generator(random_state)
        found = choose(X, n_components=allowed, n_genes=budgets, rng=rng, callback=tell, **about)
    write_selection(adata, key_added, found, adata.var_names[given])
    return adata if copy else None


def path(
    adata: AnnData,
    n_components: int,
    n_genes: Iterable[int] | None = None,
    *,
    layer: str | None = None,
    use_raw: bool = False,
    key_added: str = "ssnmf",
    random_state: Any = 0,
    copy: bool = False,
    verbose: bool | None = None,
    **solver_options: Any,
) -> AnnData | None:
    """Fit many budgets of genes with one number of programs, each from the fit with the next larger budget.

    Parameters
    ----------
    adata
        The cells as `genesieve.tl.ssnmf` would get them.
    n_components
        Number of programs.
    n_genes
        Budgets; ``None``: eight, evenly spaced by their logarithm, from five genes a program to all genes.
    layer, use_raw
        As in `genesieve.tl.ssnmf`.
    key_added
        Name of the slot, before ``_path``.
    random_state
        Seed of the first fit.
    copy
        Return a copy with the result instead of working in place.
    verbose
        Show a bar; ``None``: where it takes more than some seconds, on a terminal or in a notebook.
    **solver_options
        Further options of `genesieve.SSNMF`.

    Returns
    -------
    AnnData or None
        The copy with ``copy=True``. ``uns["ssnmf_path"]`` is set, a table with a row for each budget: ``n_genes``,
        ``explained`` (the share of the sum of squares), ``labels_kept`` (NMI of the labels with those of the largest
        budget) and ``genes_kept`` (the share of the genes that the next larger budget has, too).

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.path(adata, 4, [50, 100, 200])
    >>> list(adata.uns["ssnmf_path"]["n_genes"])
    [50, 100, 200]
    """
    adata = own(adata, copy=copy)
    check_unique_genes(adata)
    given = given_genes(adata, None, None, None)
    X = read_values(adata, layer=layer, use_raw=use_raw)
    X = X if given.all() else select_genes(X, given)
    most = int(given.sum())
    check_integer("n_components", n_components, 1, min(adata.n_obs, most))
    budgets = _allowed(n_genes, most, "n_genes") or budgets_for(n_components, most)

    with watched_fits(len(budgets), verbose) as tell:

        def fit(budget: int, start: Any) -> Fitted:
            tell(f"fitting with {budget} genes")
            options = {"init": start, "random_state": random_state, **solver_options}
            model = SSNMF(n_components, n_genes=budget, **options)
            H = model.fit_transform(X)
            return Fitted(H, model.components_.T, model.labels_, model.explained_)

        write_path(adata, key_added, fit_path(fit, budgets))
    return adata if copy else None


def _allowed(numbers: int | Iterable[int] | None, most: int, name: str) -> list[int] | None:
    """The numbers to choose from, each possible for the data."""
    if numbers is None:
        return None
    each = list(numbers) if isinstance(numbers, Iterable) and not isinstance(numbers, str) else [numbers]
    if not each:
        raise ValueError(f"{name} must have numbers to choose from, got none")
    for number in each:
        check_integer(name, number, 1)
    possible = sorted({int(number) for number in each if int(number) <= most})
    if not possible:
        raise ValueError(f"{name} must have numbers up to {most} (the data given), got {min(each)} and more")
    return possible
