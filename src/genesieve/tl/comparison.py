"""Where programs differ: usage between groups, with samples as replicates."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from genesieve._anndata import own
from genesieve._checks import check_choice, check_integer, listing
from genesieve._random import as_generator
from genesieve._slots.read import Projection, read_column, read_projection
from genesieve._slots.write import write_found
from genesieve.interpret.compare import TESTS, Design, compare_values
from genesieve.tl._samples import Samples, read_samples

if TYPE_CHECKING:
    from anndata import AnnData

VALUES = ("share", "usage")
MIN_CELLS = 10  # of a sample whose mean counts
MIN_SAMPLES = 2  # of a group: with one, what is the group and what is the sample cannot be told apart


def compare(
    adata: AnnData,
    groupby: str,
    sample_key: str,
    *,
    covariates: str | Sequence[str] | None = None,
    reference: str | None = None,
    groups: Sequence[str] | None = None,
    within: str | None = None,
    cells: Sequence[bool] | np.ndarray | None = None,
    values: str = "share",
    test: str = "auto",
    n_permutations: int = 9999,
    min_cells: int = MIN_CELLS,
    interval: float = 0.95,
    key: str = "ssnmf",
    random_state: Any = 0,
) -> pd.DataFrame:
    """Compare the usage of every program between groups, with samples, not cells, as replicates.

    Cells of one sample are alike for reasons that have nothing to do with its group, so that a test over cells finds
    differences everywhere. Here a sample counts once: by its mean usage, in a linear model with the covariates.

    Parameters
    ----------
    adata
        Data with usages, from `genesieve.tl.ssnmf`, `genesieve.tl.project` or `genesieve.tl.metaprograms`.
    groupby
        Column of ``obs`` with the groups, say conditions.
    sample_key
        Column of ``obs`` with the samples, say donors. Where a donor has cells in several groups, name the column in
        ``covariates`` too: groups are then compared within donors.
    covariates
        Columns of ``obs`` to hold fixed, one value a sample: categories, or numbers.
    reference
        The group that others are compared with; ``None`` takes the first.
    groups
        The groups to compare; ``None`` takes all. Cells of others are left out.
    within
        Column of ``obs``, say cell types: groups are compared within each of its categories by itself.
    cells
        Mask of the cells to take; ``None`` takes all.
    values
        ``"share"``: usages as shares of a cell. ``"usage"``: as they are, in the units of the data.
    test
        ``"linear"``: t and F of the linear model. ``"permutation"``: the share of arrangements of the samples with
        statistics as large, all of them where there are at most ``n_permutations``. Samples change groups only with
        those that have the same covariates; with a covariate that is a number, residuals are exchanged (Freedman and
        Lane). ``"auto"``: permutations where there are enough to call one program different at 5 %, else the linear
        model, as with three against three no permutation could.
    n_permutations
        Arrangements to look at, at most.
    min_cells
        Samples with fewer cells are left out, with a warning.
    interval
        Coverage of the intervals of the effects.
    key
        Name of the fit.
    random_state
        Seed of the permutations.

    Returns
    -------
    pandas.DataFrame
        One row a program and group beside the reference: ``program``, ``group``, ``reference``, ``mean`` and
        ``reference_mean`` of their samples, ``effect`` (the difference with covariates held fixed), its interval
        ``low`` to ``high``, ``standardised`` (the effect in standard deviations of the samples), ``statistic``,
        ``p_value``, ``p_adjusted`` (Benjamini-Hochberg over the programs), ``p_overall`` (of any difference between
        groups), ``n_samples``, ``n_reference`` and ``test``; with ``within`` its category first. Also written to
        ``uns["ssnmf_compare"]``; the means of the samples are in ``uns["ssnmf_compare_samples"]``.

    Raises
    ------
    ValueError
        If a group has one sample, if a sample has several groups and is not among the covariates, if the groups cannot
        be told from the covariates, and if values are missing.

    References
    ----------
    Why samples and not cells: Squair et al. (2021), `doi:10.1038/s41467-021-25960-2
    <https://doi.org/10.1038/s41467-021-25960-2>`__. Permutations of residuals: Freedman and Lane (1983),
    `doi:10.1080/07350015.1983.10509354 <https://doi.org/10.1080/07350015.1983.10509354>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> adata.obs["donor"] = [f"donor {number % 6}" for number in range(adata.n_obs)]
    >>> adata.obs["arm"] = ["treated" if number % 6 < 3 else "control" for number in range(adata.n_obs)]
    >>> gs.tl.ssnmf(adata, 4, 100)
    >>> table = gs.tl.compare(adata, "arm", "donor")
    >>> table["n_samples"].tolist(), table["reference"].unique().tolist()
    ([3, 3, 3, 3], ['control'])
    """
    check_choice("values", values, VALUES)
    check_choice("test", test, TESTS)
    check_integer("n_permutations", n_permutations, 19)
    check_integer("min_cells", min_cells, 1)
    if not 0.0 < float(interval) < 1.0:
        raise ValueError(f"interval must be between 0 and 1, got {interval!r}")
    fit, named = read_projection(adata, key), _names(covariates)
    _check_batches(adata, fit.record.get("params", {}).get("batch_key"), groupby)
    how = {"test": test, "n_permutations": int(n_permutations), "interval": float(interval)}
    tables, points = [], []
    for category, mask in _parts(adata, within, cells):
        samples = read_samples(
            adata, sample_key, cells=mask, groupby=groupby, groups=groups, covariates=named, min_cells=min_cells
        )
        usages = samples.means(_values(fit, values))
        question = _Question(samples, usages, groupby, named, reference)
        label = {} if within is None else {within: category}
        try:
            tables.append(_table(question, label, how, as_generator(random_state)))
        except ValueError as error:
            raise ValueError(str(error) if within is None else f"within {within} {category!r}: {error}") from None
        points.append(_points(question, label))
    table, means = pd.concat(tables, ignore_index=True), pd.concat(points, ignore_index=True)
    write_found(own(adata), key, compare=table, compare_samples=means)
    return table


def check_comparison(
    adata: AnnData,
    groupby: str,
    sample_key: str,
    *,
    covariates: Sequence[str] = (),
    min_cells: int = MIN_CELLS,
    batch_key: str | None = None,
) -> None:
    """Raise as `compare` would, before there are usages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of samples that are left out and of batches; the comparison says so
        samples = read_samples(adata, sample_key, groupby=groupby, covariates=covariates, min_cells=min_cells)
        _check_batches(adata, batch_key, groupby)
    _check_samples(_Question(samples, np.zeros((len(samples.table), 0)), groupby, list(covariates), None))


@dataclass(frozen=True)
class _Question:
    """Means of samples, and what is asked of them."""

    samples: Samples
    usages: np.ndarray  # (samples, programs)
    groupby: str
    covariates: list[str]
    reference: str | None

    @property
    def groups(self) -> list[str]:
        """The groups, the reference first."""
        names = self.samples.groups
        if self.reference is None:
            return names
        if self.reference not in names:
            raise ValueError(f"reference must be one of {self.groupby}: {listing(names)}, got {self.reference!r}")
        return [self.reference, *(name for name in names if name != self.reference)]

    def design(self, asked: list[str], others: list[str]) -> Design:
        """The groups ``asked`` about beside the reference, with other groups and the covariates held fixed."""
        group, covariates = self.samples.table["group"].to_numpy(), self.samples.covariates(self.covariates)
        columns = {name: (group == name).astype(float) for name in (*asked, *others)}
        fixed = [np.ones(len(group)), *(columns[name] for name in others), *covariates.columns]
        # Samples of other groups stay where they are: each is a stratum of its own.
        alone = np.where(np.isin(group, others), np.arange(len(group)) + 1, 0)
        strata = np.unique(np.stack([covariates.strata, alone]), axis=1, return_inverse=True)[1].ravel()
        return Design(
            np.column_stack(fixed), np.column_stack([columns[name] for name in asked]), strata, covariates.categorical
        )


def _table(question: _Question, label: dict[str, str], how: dict[str, Any], rng: np.random.Generator) -> pd.DataFrame:
    """One row a group and program."""
    groups, usages = question.groups, question.usages
    _check_samples(question)
    overall = compare_values(usages, question.design(groups[1:], []), **how, rng=rng) if len(groups) > 2 else None
    group, rows = question.samples.table["group"].to_numpy(), []
    for name in groups[1:]:
        others = [other for other in groups[1:] if other != name]
        found = compare_values(usages, question.design([name], others), **how, rng=rng)
        columns = {
            **label,
            "program": np.arange(usages.shape[1]),
            "group": name,
            "reference": groups[0],
            "mean": usages[group == name].mean(axis=0),
            "reference_mean": usages[group == groups[0]].mean(axis=0),
            "effect": found.effect,
            "low": found.low,
            "high": found.high,
            "standardised": found.standardised,
            "statistic": found.statistic,
            "p_value": found.p_value,
            "p_adjusted": false_discovery_control(found.p_value),
            "p_overall": (overall or found).p_value,
            "n_samples": int((group == name).sum()),
            "n_reference": int((group == groups[0]).sum()),
            "test": found.test,
        }
        rows.append(pd.DataFrame(columns))
    return pd.concat(rows, ignore_index=True)


def _points(question: _Question, label: dict[str, str]) -> pd.DataFrame:
    """One row a sample and program."""
    table, n_programs = question.samples.table, question.usages.shape[1]
    return pd.DataFrame(
        {
            **label,
            "program": np.tile(np.arange(n_programs), len(table)),
            "sample": np.repeat(table["sample"].to_numpy(dtype=object), n_programs),
            "group": np.repeat(table["group"].to_numpy(dtype=object), n_programs),
            "n_cells": np.repeat(table["n_cells"].to_numpy(), n_programs),
            "usage": question.usages.ravel(),
        }
    )


def _check_samples(question: _Question) -> None:
    """Raise unless there are groups, samples in each, and a way to tell them from the covariates."""
    groups, table = question.groups, question.samples.table
    if len(groups) < 2:
        told = f"{listing(groups) or 'none'} (samples of too few cells do not count)"
        raise ValueError(f"{question.groupby} must have at least two groups, got {told}")
    sizes = {name: int((table["group"] == name).sum()) for name in groups}
    few = [name for name, size in sizes.items() if size < MIN_SAMPLES]
    if few:
        told = ", ".join(f"{name!r} {size}" for name, size in sizes.items())
        raise ValueError(
            f"every group must have at least {MIN_SAMPLES} samples, as cells of one sample are no replicates,"
            f" got {told}"
        )
    design = question.design(groups[1:], [])
    if design.confounded:
        raise ValueError(
            f"{question.groupby} must differ between samples with the same covariates, got"
            f" {listing(question.covariates)}, from which it cannot be told: what is the group's and what is theirs"
            " cannot be said"
        )
    if design.freedom < 1:
        raise ValueError(
            f"there must be more samples than groups and covariates have columns, got {len(table)} samples and"
            f" {design.fixed.shape[1] + design.asked.shape[1]} columns"
        )


def _check_batches(adata: AnnData, batch_key: str | None, groupby: str) -> None:
    """Raise if a fit takes its batches to be alike, and they are the groups."""
    if batch_key is None:
        return
    batches, groups = (read_column(adata, name, "must name a column").astype(str) for name in (batch_key, groupby))
    pairs = pd.DataFrame({"batch": batches.to_numpy(), "group": groups.to_numpy()}).drop_duplicates()
    nested = len(pairs) == pairs["batch"].nunique() and pairs["group"].nunique() > 1
    if nested and len(pairs) == pairs["group"].nunique():
        raise ValueError(
            f"{groupby} must not be what the batches of the fit are: the batches of {str(batch_key)!r} are made alike,"
            " and the groups with them; fit without batches, or with some that have cells of several groups"
        )
    if nested:
        message = (
            f"every batch of the fit ({batch_key}) has cells of one {groupby} only: what {groupby} changes in all cells"
            " alike was taken off with the batches, and only what it changes in some of them is left to be found"
        )
        warnings.warn(message, UserWarning, stacklevel=3)


def _values(fit: Projection, values: str) -> np.ndarray:
    """Usages (cells, programs) as they are to be averaged."""
    H = fit.usages.astype(np.float64)
    if values == "usage":
        return H
    totals = H.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(H, totals, out=np.zeros_like(H), where=totals > 0))


def _names(covariates: str | Sequence[str] | None) -> list[str]:
    if covariates is None:
        return []
    return [covariates] if isinstance(covariates, str) else [str(name) for name in covariates]


def _parts(adata: AnnData, within: str | None, cells: Any) -> list[tuple[str, np.ndarray]]:
    """The cells to compare, by category of ``within``."""
    mask = np.ones(adata.n_obs, dtype=bool)
    if cells is not None:
        mask = np.asarray(cells)
        if mask.dtype != bool or mask.shape != (adata.n_obs,):
            raise ValueError(
                f"cells must be {adata.n_obs} booleans (the cells of adata), got {mask.dtype} of shape {mask.shape}"
            )
    if not mask.any():
        raise ValueError("cells must leave some cells, got none")
    if within is None:
        return [("", mask)]
    column = read_column(adata, within, "within must name a column")
    names = [str(name) for name in column[mask].dropna().astype("category").cat.categories]
    return [(name, mask & (column.astype(str) == name).to_numpy()) for name in names]
