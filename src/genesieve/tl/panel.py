"""Targeted panels: the best k genes of a data set, and what to expect of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from genesieve._anndata import check_unique_genes, own, select_genes
from genesieve._slots.read import Fit, read_column, read_fit
from genesieve._slots.write import write_found
from genesieve.core.cells.threads import single_threaded_blas
from genesieve.core.usages import score_cells
from genesieve.interpret.genes import specificity
from genesieve.interpret.panels import (
    choose_panel,
    gene_model,
    gene_statistics,
    group_cells,
    judge_panel,
    leading_scores,
)
from genesieve.metrics import nmi
from genesieve.tl._panel_cells import PanelCells, Platform
from genesieve.tl._panel_request import Allowed, Limits, Request
from genesieve.tl._panel_tables import (
    confusion_table,
    curve_table,
    direction_names,
    pair_names,
    panel_table,
    summary,
    types_table,
)

if TYPE_CHECKING:
    from anndata import AnnData


def panel(
    adata: AnnData,
    n_genes: int,
    *,
    include_genes: Sequence[str] | None = None,
    exclude_genes: str | Sequence[str] | None = None,
    labels: str | None = None,
    allowed: Allowed = None,
    max_cost: float | None = None,
    expression: tuple[float, float] | None = None,
    max_expression: float | None = None,
    min_per_program: int = 0,
    efficiency: float = 1.0,
    counts: str = "raw",
    key: str = "ssnmf",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Choose a targeted panel of genes, and say how well it does.

    Genes are chosen one by one, each the one that adds most to what those before it show: to the share of the leading
    variation that a linear prediction from the panel explains, and to how well groups of cells are told apart. So the
    first k genes of a panel are the panel of size k. No types need to be known; where they are, ``labels`` names them,
    and it is these that are told apart. Cells are then judged by the panel's genes alone, as in an experiment that
    measures nothing else.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`.
    n_genes
        Size of the panel, genes to include among them.
    include_genes
        Genes that must be in the panel, say those of a base panel to be extended; they come first.
    exclude_genes
        Genes that must not be in the panel: a list of names, or a regular expression such as ``"^MT-|^RP[SL]"``.
    labels
        Column of ``obs`` with known types, to be told apart; ``None`` takes groups of cells that are found for it.
    allowed
        Genes to choose from: names, a series of their costs by gene, or a table with the columns ``gene`` and
        ``cost``. ``None`` allows all genes given to the fit.
    max_cost
        What the genes may cost together.
    expression
        The least and the largest mean expression of a gene, in units of the values before the logarithm.
    max_expression
        What the mean expression of the genes may add up to, in the same units: optical crowding.
    min_per_program
        At least so many genes that speak for each program.
    efficiency
        The share of the molecules in the data that the platform sees. Below 1, counts are thinned to it before genes
        are chosen and judged; what is to be kept is still the variation of the data as they are.
    counts
        Layer with the counts to thin.
    key
        Name of the fit.
    random_state
        Seed of the sample of cells (20,000 of them where there are more), of groups and of the cells held out.
    n_jobs
        Threads; ``None`` or -1 uses every core there is.

    Returns
    -------
    pandas.DataFrame
        One row a gene, in the order of choice: ``gene``, the ``program`` that it speaks for most, its ``weight`` there,
        ``specificity``, that program's share in the gene's weight, its mean ``expression``, what it added when it was
        chosen to the ``variation`` kept and to the ``separation`` of groups, and the ``reason`` in words. Also written
        to ``uns["ssnmf_panel"]``. These are written too:

        ``uns["ssnmf_panel_fit"]``
            Of the whole panel, also in ``attrs`` of the table: ``agreement``, the share of cells with the same program
            as in the fit, and ``nmi`` of the two labellings; ``accuracy``, the mean share of the cells of a type that
            is recognised, ``accuracy_all``, the same with all genes, and ``variation``, the share of the leading
            variation that is kept, both on cells held out.
        ``uns["ssnmf_panel_curve"]``
            ``accuracy`` and ``variation`` of panels of growing size, ``n_genes``.
        ``uns["ssnmf_panel_types"]``
            Of every type, or program where no types are known: ``n_cells``, ``accuracy``, ``accuracy_all``, and the
            type that it is ``confused_with`` most, at which ``share``.
        ``uns["ssnmf_panel_confusion"]``
            The share of the cells of every type that is taken for every other.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 6, 200)
    >>> table = gs.tl.panel(adata, 30)
    >>> table.attrs["agreement"] > 0.9
    True
    """
    fit = read_fit(adata, key)
    adata = own(adata)
    check_unique_genes(adata)
    known = None if labels is None else read_column(adata, labels, "labels must name a column")
    limits = Limits(max_cost, expression, max_expression, min_per_program)
    request = Request.of(adata, fit.given, n_genes, include_genes, exclude_genes, allowed, limits)
    platform = Platform(efficiency, counts)
    platform.check(adata)
    with single_threaded_blas():  # many small products: threads would cost more than they save
        return _designed(adata, fit, request, platform, known, random_state, n_jobs)


def _designed(
    adata: AnnData,
    fit: Fit,
    request: Request,
    platform: Platform,
    known: pd.Series | None,
    random_state: int,
    n_jobs: int | None,
) -> pd.DataFrame:
    """Choose, judge and write."""
    rng = np.random.default_rng(random_state)
    cells = PanelCells.of(adata, fit, request.given, known, rng, n_jobs, platform)
    W, _ = gene_model(cells.X, cells.usages)
    shares = specificity(W)
    rules = request.rules(shares.argmax(axis=1), cells.expression, fit.rank)
    scores = leading_scores(cells.blocks, rng)
    groups = group_cells(scores, random_state) if known is None else cells.large_types
    statistics = gene_statistics(cells.seen_blocks, scores, groups)
    choice = choose_panel(statistics, rules, request.n_genes)
    chosen = choice.genes
    judgement = judge_panel(cells.values_of(chosen), scores, cells.types, len(cells.names), rng)
    kind = "program " if known is None else ""
    table = panel_table(
        fit.genes[request.given][chosen],
        W[chosen],
        shares[chosen],
        cells.expression[chosen],
        choice,
        rules.required[chosen],
        pair_names(statistics.pairs, groups, cells.types, cells.names, kind),
        direction_names(scores, cells.types, cells.names, kind),
    )
    quality = {**_agreement(cells, fit, W, chosen), **summary(judgement)}
    write_found(
        adata,
        fit.key,
        panel=table,
        panel_fit=quality,
        panel_curve=curve_table(judgement),
        panel_types=types_table(judgement, cells.names, cells.sizes),
        panel_confusion=confusion_table(judgement, cells.names),
    )
    table.attrs.update(quality)
    return table


def _agreement(cells: PanelCells, fit: Fit, W: np.ndarray, chosen: np.ndarray) -> dict[str, float]:
    """How well usages by the panel's genes alone give back the programs that cells use most."""
    X = select_genes(cells.seen, chosen)
    H = score_cells(X, W[chosen], scale=fit.scale, penalty=fit.penalty, n_jobs=cells.n_jobs)
    before, after = cells.usages.argmax(axis=1), H.argmax(axis=1)
    return {"agreement": float((before == after).mean()), "nmi": float(nmi(before, after))}
