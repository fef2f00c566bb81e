"""Fitting: the factorisation of an AnnData."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from genesieve._anndata import (
    check_unique_genes,
    find_genes,
    kept_genes,
    kind_of_values,
    own,
    read_values,
    select_genes,
)
from genesieve._checks import check_number, listing
from genesieve._slots.read import read_fit, table_of
from genesieve._slots.write import write_clusters, write_fit, write_selection, write_usual_fit
from genesieve.core.cells.streamed import as_source
from genesieve.estimators._parameters import WEIGHTINGS, read_memory
from genesieve.estimators._progress import watched
from genesieve.estimators.ssnmf import SSNMF
from genesieve.interpret.cell_fit import evenly_spread, explained_by_cell, usual_fit
from genesieve.interpret.graph import Clusters
from genesieve.interpret.programs import DUPLICATE_COSINE, near_duplicates, tiny_programs
from genesieve.tl._batches import read_batch_column
from genesieve.tl._clustering import find_clusters

if TYPE_CHECKING:
    from anndata import AnnData


SHOWN_PAIRS = 5  # of programs that are alike, in a warning


def ssnmf(
    adata: AnnData,
    n_components: int | str,
    n_genes: int | str | None = None,
    *,
    batch_key: str | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    mask_var: str | Sequence[bool] | np.ndarray | None = None,
    include_genes: Sequence[str] | None = None,
    exclude_genes: str | Sequence[str] | None = None,
    clusters: bool = True,
    key_added: str = "ssnmf",
    random_state: Any = 0,
    copy: bool = False,
    verbose: bool | None = None,
    **solver_options: Any,
) -> AnnData | None:
    """Factorise cells x genes into a few non-negative programs that use an exact budget of genes.

    Parameters
    ----------
    adata
        Logged expression, say from `genesieve.pp.prepare`. Values may be outside memory, in a backed or lazy AnnData:
        every pass then reads them in blocks of cells.
    n_components
        Number of programs; ``"auto"``: what `genesieve.tl.select` suggests.
    n_genes
        Gene budget; ``None`` keeps all genes, ``"auto"`` as many as `genesieve.tl.select` suggests.
    batch_key
        Column of ``obs`` with the samples, donors or conditions that cells come from. Every batch then has a scale of
        its own for each gene, estimated with the programs, so that these are shared, and genes that only tell batches
        apart do not take the budget.
    layer
        Layer to factorise; ``None`` takes ``X``.
    use_raw
        Factorise the values of ``adata.raw``, on the genes of ``adata``. For all genes of ``raw``, start from
        ``adata.raw.to_adata()``.
    mask_var
        Genes that the model may choose from: a mask, or the name of a boolean column of ``var``.
    include_genes
        Genes that are sure of a place in the budget, whatever ``mask_var`` and ``exclude_genes`` say. They need
        ``n_genes`` and ``sparsity="rows"``. A gene that no cell expresses still carries no weight.
    exclude_genes
        Genes to leave out: a list of names, or a regular expression such as ``"^MT-|^RP[SL]"``.
    clusters
        Cluster the cells, too, as `genesieve.tl.cluster` does: ``n_clusters`` or ``resolution`` say how finely, by
        default there are as many clusters as programs.
    key_added
        Name of all slots together.
    random_state
        Seed of the fit.
    copy
        Return a copy with the result instead of working in place.
    verbose
        Show a bar, with an estimate of the time left. ``None``: where the fit takes more than some seconds, on a
        terminal or in a notebook.
    **solver_options
        Further options of `genesieve.SSNMF`, among them ``labels`` (``"argmax"``, ``"kmeans"`` or ``"leiden"``),
        ``orthogonality``, ``sparsity``, ``solver``, ``n_restarts`` (the fit with the lowest objective is kept) and
        ``consensus`` (what they agree on is fitted). ``gene_weights`` and the second part of an ``init`` pair go by the
        genes of ``adata``; ``gene_weights`` may also name a column of ``var``.

    Returns
    -------
    AnnData or None
        The copy with ``copy=True``. These slots are set:

        ``obsm["X_ssnmf"]``
            Usages (cells x programs).
        ``varm["ssnmf"]``
            Gene weights (genes x programs), zero for genes that were dropped.
        ``obs["ssnmf"]``
            The program that each cell uses most, or its cluster: categorical, ``"0"``, ``"1"``, ...
        ``obs["ssnmf_confidence"]``
            How sure the label is, 0 to 1 (see ``confidence_`` of `genesieve.SSNMF`).
        ``obs["ssnmf_cluster"]``, ``obs["ssnmf_cluster_confidence"]``
            The cluster of each cell on a graph of neighbours, and how sure it is; where ``labels`` asks for clusters,
            the same as the label.
        ``var["ssnmf_selected"]``, ``var["ssnmf_given"]``
            Genes that carry a weight, and genes that could have.
        ``varm["ssnmf_batch_scales"]``
            With ``batch_key``, the scale of every gene in every batch (genes x batches), in the order of
            ``uns["ssnmf"]["batches"]``.
        ``uns["ssnmf"]``
            ``params``, ``objective``, ``history`` and ``method``; ``stability`` of the programs of a consensus.
        ``uns["ssnmf_select"]``
            With ``"auto"``, what led to the numbers, as `genesieve.tl.select` keeps it.

    Warns
    -----
    UserWarning
        If the values look like counts or linear values, and if there seem to be too many programs: two have nearly
        the same genes, or one is used most by hardly any cell.

    References
    ----------
    The model: Min, Xu, Wan and Chang (2021), `arXiv:2104.13171 <https://arxiv.org/abs/2104.13171>`__.
    Graph labels (Leiden): Traag, Waltman and van Eck (2019), `doi:10.1038/s41598-019-41695-z
    <https://doi.org/10.1038/s41598-019-41695-z>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 6, 200, exclude_genes="^MT-|^RP[SL]")
    >>> int(adata.var["ssnmf_selected"].sum())
    200
    """
    adata = own(adata, copy=copy)
    check_unique_genes(adata)
    batches = None if batch_key is None else read_batch_column(adata, batch_key, key_added)
    X = read_values(adata, layer=layer, use_raw=use_raw)
    values = _check_logged(X)
    included = None if include_genes is None else find_genes(adata, include_genes, "include_genes")
    given = given_genes(adata, mask_var, exclude_genes, included)
    options = {**solver_options, **_align(adata, given, solver_options)}
    if included is not None:
        options["required_genes"] = included[given]
    resolution = _resolution_of_clusters(options) if clusters else None
    model = SSNMF(n_components, n_genes=n_genes, random_state=random_state, **options)
    with watched(model.callback, verbose) as monitor:
        model.set_params(callback=monitor)
        H = model.fit_transform(X if given.all() else select_genes(X, given), batches=batches)
    named = {"layer": layer, "batch_key": batch_key}
    source = {name: value for name, value in named.items() if value is not None}
    write_fit(adata, key_added, model, H, given, {**source, "use_raw": use_raw, "values": values})
    if batches is None:  # values would have to be scaled first
        write_usual_fit(adata, key_added, _usual_fit(X, H, model, given))
    if model.selection_ is not None:
        write_selection(adata, key_added, model.selection_, adata.var_names[given])
    if clusters:
        _cluster(adata, key_added, model, resolution)
    _warn_spare(model, H)
    return adata if copy else None


def _resolution_of_clusters(options: dict[str, Any]) -> float | None:
    """The resolution of the clusters beside programs, taken from the options: the estimator has no use for it."""
    if options.get("labels", "argmax") == "leiden" or options.get("resolution") is None:
        return None
    if options.get("n_clusters") is not None:
        raise ValueError(f"n_clusters must be None where a resolution is given, got {options['n_clusters']!r}")
    check_number("resolution", options["resolution"])
    return float(options.pop("resolution"))


def _cluster(adata: AnnData, key: str, model: SSNMF, resolution: float | None) -> None:
    """Clusters of the cells: those that labels are, or new ones on a graph."""
    known = None if model.cluster_centers_ is None else Clusters(model.labels_, model.confidence_)
    if known is not None and model.labels != "leiden":  # new cells go by the centres
        write_clusters(adata, key, known)
        return
    find_clusters(
        adata,
        read_fit(adata, key),
        model.n_clusters,
        resolution,
        known=known,
        random_state=model.random_state,
        n_jobs=model.n_jobs,
        memory=read_memory(model.memory),
    )


def given_genes(
    adata: AnnData,
    mask_var: str | Sequence[bool] | np.ndarray | None,
    exclude_genes: str | Sequence[str] | None,
    included: np.ndarray | None,
) -> np.ndarray:
    """Mask of the genes that the model may choose from."""
    given = kept_genes(adata)
    if mask_var is not None:
        given &= _read_mask(adata, mask_var)
    if exclude_genes is not None:
        given &= ~_excluded(adata, exclude_genes)
    if included is not None:
        given |= included
    if not given.any():
        raise ValueError("mask_var and exclude_genes must leave genes to choose from, got none left")
    return given


def _read_mask(adata: AnnData, mask_var: str | Sequence[bool] | np.ndarray) -> np.ndarray:
    if isinstance(mask_var, str):
        columns = table_of(adata.var)
        if mask_var not in columns:
            raise KeyError(f"mask_var {mask_var!r} is not in adata.var; columns there are: {listing(list(columns))}")
        mask_var = columns[mask_var].to_numpy()
    mask = np.array(mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var must be {adata.n_vars} booleans (the genes of adata), got {mask.dtype} of shape {mask.shape}"
        )
    return mask


def _excluded(adata: AnnData, exclude_genes: str | Sequence[str]) -> np.ndarray:
    if not isinstance(exclude_genes, str):
        return np.asarray(adata.var_names.isin([str(gene) for gene in exclude_genes]))
    try:
        pattern = re.compile(exclude_genes)
    except re.error as error:
        raise ValueError(
            f"exclude_genes must be names or a regular expression, got {exclude_genes!r}: {error}"
        ) from None
    matching = np.array([pattern.search(str(gene)) is not None for gene in adata.var_names])
    if not matching.any():
        warnings.warn(f"exclude_genes {exclude_genes!r} matches no gene", UserWarning, stacklevel=2)
    return matching


def _align(adata: AnnData, given: np.ndarray, options: dict[str, Any]) -> dict[str, Any]:
    """The options that go by gene, on the genes given."""
    aligned: dict[str, Any] = {}
    weights = options.get("gene_weights")
    if isinstance(weights, str) and weights not in WEIGHTINGS:
        columns = table_of(adata.var)
        if weights not in columns:
            raise KeyError(f"gene_weights {weights!r} is not in adata.var; columns: {listing(list(columns))}")
        weights = columns[weights].to_numpy()
    if weights is not None and not isinstance(weights, str):
        aligned["gene_weights"] = _of_given("gene_weights", weights, given)
    if isinstance(options.get("init"), tuple | list) and len(options["init"]) == 2:
        H, W = options["init"]
        aligned["init"] = (H, _of_given("init W0", W, given))
    return aligned


def _of_given(name: str, rows: Any, given: np.ndarray) -> np.ndarray:
    array = np.asarray(rows)
    if array.ndim == 0 or len(array) != len(given):
        raise ValueError(f"{name} must have {len(given)} rows (the genes of adata), got shape {array.shape}")
    return array[given]


def _check_logged(X: Any) -> str:
    """The kind of the values; a warning unless they look logged."""
    values = kind_of_values(X)
    if values != "log":
        looks = "raw counts" if values == "counts" else "linear values"
        message = f"the values look like {looks}, and logged ones are expected: run gs.pp.prepare first, or pass layer="
        warnings.warn(message, UserWarning, stacklevel=3)
    return values


def _usual_fit(X: Any, H: np.ndarray, model: SSNMF, given: np.ndarray) -> dict[str, float]:
    """How well programs describe some of the cells of the fit, by the genes selected."""
    support = model.get_support()
    cells, genes = evenly_spread(len(H)), np.flatnonzero(given)[support]
    rows = as_source(select_genes(X, genes)).rows(cells)
    weights = None if model.gene_weights_ is None else model.gene_weights_[support]
    return usual_fit(explained_by_cell(as_source(rows), model.components_.T[support], H[cells], weights))


def _warn_spare(model: SSNMF, H: np.ndarray) -> None:
    """Warn of programs that there are too many of: near copies, and those that hardly any cell uses most."""
    W = model.components_.T
    pairs = near_duplicates(W if model.gene_weights_ is None else W * model.gene_weights_[:, None])
    tiny = tiny_programs(H.argmax(axis=1), H.shape[1])
    said = []
    if pairs:
        named = ", ".join(f"{a} and {b} ({cosine:.2f})" for a, b, cosine in pairs[:SHOWN_PAIRS])
        named += f" and {len(pairs) - SHOWN_PAIRS} more pairs" if len(pairs) > SHOWN_PAIRS else ""
        said.append(f"programs have nearly the same genes (cosine above {DUPLICATE_COSINE}): {named}")
    if tiny:
        named = ", ".join(f"{program} ({n})" for program, n in tiny[:SHOWN_PAIRS])
        named += f" and {len(tiny) - SHOWN_PAIRS} more" if len(tiny) > SHOWN_PAIRS else ""
        said.append(f"programs are used most by hardly any cell: {named}")
    if said:
        warnings.warn(f"{'; '.join(said)}; ask for fewer programs", UserWarning, stacklevel=3)
