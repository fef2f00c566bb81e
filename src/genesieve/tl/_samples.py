"""Cells by sample: which cells each sample has, its group and covariates, and means over its cells."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from genesieve._checks import check_different_as_text, listing
from genesieve._slots.read import read_column

if TYPE_CHECKING:
    from anndata import AnnData


class Covariates(NamedTuple):
    """What is held fixed."""

    columns: list[np.ndarray]  # (samples,) each
    strata: np.ndarray  # (samples,): equal where all of them are
    categorical: bool


@dataclass(frozen=True)
class Samples:
    """Samples as rows of a table, and the row of every cell."""

    table: pd.DataFrame  # sample, n_cells, where asked for group, and a column for each covariate
    of_cell: np.ndarray  # (cells,), -1 for a cell that is left out

    @property
    def groups(self) -> list[str]:
        """The groups that samples have, in their order."""
        categories = self.table["group"].astype("category").cat.categories
        return [str(name) for name in categories if (self.table["group"] == name).any()]

    def means(self, values: np.ndarray) -> np.ndarray:
        """Means (samples, columns) of values (cells, columns)."""
        seen = self.of_cell >= 0
        sums = np.zeros((len(self.table), values.shape[1]))
        np.add.at(sums, self.of_cell[seen], values[seen])
        return np.asarray(sums / self.table["n_cells"].to_numpy()[:, None])

    def covariates(self, names: Sequence[str]) -> Covariates:
        """The covariates as columns: a number as it is, categories but the first as zeros and ones."""
        columns, strata, categorical = [], np.zeros(len(self.table), dtype=int), True
        for name in names:
            column = self.table[f"covariate {name}"]
            if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
                columns.append(column.to_numpy(dtype=float) - float(column.mean()))
                categorical = False
                continue
            codes = column.astype(str).astype("category").cat.codes.to_numpy()
            columns += [(codes == code).astype(float) for code in range(1, codes.max() + 1)]
            strata = np.unique(np.stack([strata, codes]), axis=1, return_inverse=True)[1].ravel()
        return Covariates(columns, strata, categorical)


def read_samples(
    adata: AnnData,
    sample_key: str,
    *,
    cells: np.ndarray | None = None,
    groupby: str | None = None,
    groups: Sequence[str] | None = None,
    covariates: Sequence[str] = (),
    min_cells: int = 1,
) -> Samples:
    """The samples of some cells; those with too few are left out, with a warning.

    A sample with cells in several groups is one sample in each if it is also a covariate, else an error.
    """
    mask = np.ones(adata.n_obs, dtype=bool) if cells is None else cells.copy()
    columns = {"sample": read_column(adata, sample_key, "sample_key must name a column")}
    if groupby is not None:
        columns["group"] = read_column(adata, groupby, "groupby must name a column")
    for name in covariates:
        columns[f"covariate {name}"] = read_column(adata, name, "covariates must name columns")
    if groups is not None:
        mask &= _among(columns["group"], [str(group) for group in groups], str(groupby))
    titles = {"sample": sample_key, "group": str(groupby)}
    for name, column in columns.items():
        _check_complete(column[mask], titles.get(name, name.removeprefix("covariate ")))
        if name in titles:
            check_different_as_text(column[mask].to_numpy(dtype=object), f"column {titles[name]!r}")
    frame = pd.DataFrame({name: column.to_numpy() for name, column in columns.items()})
    frame[["sample"]] = frame[["sample"]].astype(str)
    if groupby is not None:
        frame["group"] = _ordered(columns["group"])
    units = ["sample", "group"] if groupby is not None else ["sample"]
    table = _one_row_each(frame[mask], units, titles, sample_key in covariates)
    kept = table[table["n_cells"] >= min_cells].reset_index(drop=True)
    _warn_small(table, kept, min_cells)
    place = {tuple(row): number for number, row in enumerate(kept[units].astype(str).itertuples(index=False))}
    rows = frame[units].astype(str).itertuples(index=False)
    of_cell = np.array([place.get(tuple(row), -1) for row in rows], dtype=int)
    return Samples(kept, np.where(mask, of_cell, -1))


def _one_row_each(frame: pd.DataFrame, units: list[str], titles: dict[str, str], paired: bool) -> pd.DataFrame:
    """One row a sample, or a sample and group."""
    grouped = frame.groupby(units, observed=True, sort=True)
    table = grouped.size().rename("n_cells").reset_index()
    if "group" in units and not paired:
        several = table["sample"][table["sample"].duplicated()].unique()
        if len(several):
            named = titles["sample"]
            raise ValueError(
                f"a sample must have one {titles['group']}, got several for {listing(several)}; if these are pairs,"
                f" covariates={[named]!r} compares within {named}"
            )
    for name in frame.columns.difference(units, sort=False):
        varying = grouped[name].nunique()
        if (varying > 1).any():
            sample = varying.index[varying > 1][0]
            sample = sample[0] if isinstance(sample, tuple) else sample
            title = name.removeprefix("covariate ")
            raise ValueError(f"covariate {title!r} must have one value a sample, got several in sample {sample!r}")
        table[name] = grouped[name].first().to_numpy()
    return table


def _ordered(column: pd.Series) -> pd.Categorical:
    """Groups as text, in the order of their categories."""
    categories = [str(name) for name in column.astype("category").cat.categories]
    return pd.Categorical(column.astype(str), categories=categories)


def _among(column: pd.Series, wanted: list[str], title: str) -> np.ndarray:
    there = set(column.dropna().astype(str))
    missing = [name for name in wanted if name not in there]
    if missing or len(set(wanted)) < 2:
        raise ValueError(f"groups must be at least two of {title}: {listing(sorted(there))}, got {wanted!r}")
    return column.astype(str).isin(wanted).to_numpy()


def _check_complete(column: pd.Series, title: str) -> None:
    missing = int(column.isna().sum())
    if missing:
        raise ValueError(
            f"column {title!r} must have a value for every cell, got {missing} without; leave those out, say with"
            " adata[adata.obs[...].notna()]"
        )


def _warn_small(table: pd.DataFrame, kept: pd.DataFrame, min_cells: int) -> None:
    small = table.loc[table["n_cells"] < min_cells, "sample"]
    if len(small):
        message = f"{len(small)} of {len(table)} samples have fewer than {min_cells} cells and are left out:"
        warnings.warn(f"{message} {listing(list(small))}", UserWarning, stacklevel=4)
