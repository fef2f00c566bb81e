"""The parts of a run about samples and names: what is asked for is checked before the fit, and done after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from genesieve import tl
from genesieve._checks import listing
from genesieve.io import RequestError
from genesieve.tl.comparison import check_comparison
from genesieve.workflow.outputs import KEY
from genesieve.workflow.settings import Settings

if TYPE_CHECKING:
    from anndata import AnnData


def check_groups(adata: AnnData, settings: Settings, name: str) -> None:
    """Raise if the groups cannot be compared: better now than after the fit."""
    if settings.groupby is None and settings.sample is None:
        return
    for option in ("groupby", "sample"):
        column = getattr(settings, option)
        if column is None:
            raise RequestError(f"{option} must be given too, to compare groups with samples as replicates")
        if column not in adata.obs:
            columns = listing(list(adata.obs)) or "none"
            raise RequestError(f"{option} must be a column of obs in {name}, got {column!r}: columns are {columns}")
    try:
        pairs = _pairs(adata, settings)
        check_comparison(adata, *_question(settings), covariates=pairs, batch_key=settings.batch)
    except ValueError as error:
        raise RequestError(f"groupby cannot be compared: {error}") from None


def compare_groups(adata: AnnData, settings: Settings) -> None:
    """Usage between groups, within samples that have cells in several."""
    if settings.groupby is not None:
        tl.compare(adata, *_question(settings), covariates=_pairs(adata, settings), key=KEY)


def _question(settings: Settings) -> tuple[str, str]:
    return str(settings.groupby), str(settings.sample)


def _pairs(adata: AnnData, settings: Settings) -> list[str]:
    """The samples as a covariate, where any has cells in several groups."""
    groups = adata.obs[settings.groupby].astype(str).groupby(adata.obs[settings.sample].astype(str)).nunique()
    return [str(settings.sample)] if (groups > 1).any() else []
