"""What a run is asked to do: one record, from which the command line, the fit and run.json all read, and its door."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

from genesieve import pp
from genesieve._checks import first_few, shown
from genesieve.estimators._parameters import AUTO, OF_METHOD, OPTIONS, PARAMETERS, check_parameters, read_memory
from genesieve.estimators.methods import METHODS, Factorisation
from genesieve.estimators.ssnmf import SSNMF
from genesieve.io import RequestError

# Settings that run.json and the command line call otherwise: there, "labels" are the types known beforehand.
WRITTEN = {"known": "labels"}
READ = {written: name for name, written in WRITTEN.items()}

# The parameters of the estimator that are settings, under their names as such; None is the estimator's own choice.
_OfFit: Any = make_dataclass(
    "_OfFit", [(option.name, Any, option.default) for option in OPTIONS.values()], frozen=True, kw_only=True
)


@dataclass(frozen=True, kw_only=True)
class Settings(_OfFit):  # type: ignore[misc]  # its base is made from the table
    """Everything that decides a run's result, besides the data and the gene sets.

    Besides the fields below, those parameters of `genesieve.SSNMF` that have a name on the command line, by that name:
    ``rank``, ``genes``, ``seed``, ``jobs`` and so on.

    Examples
    --------
    >>> from genesieve.workflow import Settings
    >>> Settings(rank=8, genes=200, known="cell_type").estimator()
    SSNMF(n_components=8, n_genes=200, random_state=0)
    """

    cells_in: str | None = None  # rows or columns, of a csv or tsv table
    layer: str | None = None
    use_raw: bool = False
    values: str = "auto"
    min_cells: float | None = None
    preset: str | None = None
    known: str | None = None  # column of obs with the known types
    batch: str | None = None  # column of obs with the batches
    groupby: str | None = None  # column of obs with groups to compare, with the samples as replicates
    sample: str | None = None  # column of obs with the samples
    method: str | None = None  # one of the paper's factorisations
    exclude_genes: str | None = None
    no_clusters: bool = False  # programs alone

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """The settings that `as_dict` wrote."""
        return cls().changed(**values)

    def as_dict(self) -> dict[str, Any]:
        """Plain types, for run.json."""
        return {WRITTEN.get(name, name): value for name, value in asdict(self).items()}

    def changed(self, **values: Any) -> Settings:
        """The same with other values, under their names here or in run.json."""
        names = [item.name for item in fields(self)]
        unknown = sorted(set(values) - {*names, *READ})
        if unknown:
            raise RequestError(
                f"settings must be among {', '.join(sorted(names))}, got {first_few(map(shown, unknown))}"
            )
        return replace(self, **{READ.get(name, name): value for name, value in values.items()})

    def fit_keywords(self) -> dict[str, Any]:
        """Parameters of the estimator: those of the method, then those set one by one."""
        keywords = _of_method(self.method)
        for name, option in OPTIONS.items():
            if getattr(self, option.name) is not None:
                with asked_for():
                    keywords[name] = PARAMETERS[name].kind.parse(option.name, getattr(self, option.name))
        return keywords

    def estimator(self, resources: Resources | None = None) -> SSNMF:
        """The estimator of the run, or an error about what was asked for; the data are not needed for it."""
        resources = resources or Resources()
        sizes = {"n_components": AUTO, "n_genes": AUTO}  # where none are given
        model = SSNMF(**{**sizes, **self.fit_keywords()}, memory=resources.memory, checkpoint=resources.checkpoint)
        with asked_for():
            check_parameters(model, as_settings=True)
            if self.clusters is not None and model.labels == "argmax" and self.no_clusters:
                raise ValueError(f"clusters must not be given with no_clusters, got {self.clusters!r}")
        return model

    def number(self, name: str) -> int:
        """A size that was asked for, 0 where the data are to decide."""
        kind = PARAMETERS[next(of for of, option in OPTIONS.items() if option.name == name)].kind
        with asked_for():
            size = kind.parse(name, getattr(self, name))
        return size if isinstance(size, int) else 0

    def check_data_choices(self) -> None:
        """Raise about choices of values and genes that no data could suit."""
        if self.use_raw and self.layer is not None:
            raise RequestError(f"layer must not be given with use_raw, got {self.layer!r}")
        with asked_for():
            pp.check_choices(self.values, self.share_or_cells, None, self.preset)
        try:
            re.compile(self.exclude_genes or "")
        except re.error as error:
            message = f"exclude_genes must be a regular expression, got {self.exclude_genes!r}: {error}"
            raise RequestError(message) from None

    @property
    def share_or_cells(self) -> float | None:
        """``min_cells``: above 1 a number is of cells, which `genesieve.pp.prepare` tells from a share by its type."""
        number = self.min_cells
        return number if number is None or number <= 1 or number != int(number) else int(number)


@dataclass(frozen=True)
class Resources:
    """What a run may use, which has no say in its result."""

    memory: str | None = None  # read the data from their file, within so much memory
    dask: str | None = None  # address of a Dask scheduler
    checkpoint: str | None = None  # file to keep the fit in as it goes

    def check(self) -> None:
        """Raise about what no data could suit."""
        with asked_for():
            read_memory(self.memory)
        if self.memory is not None and self.dask is not None:
            raise RequestError(
                f"memory must not be given with dask, whose workers have limits of their own, got {self.memory!r}"
            )
        if self.checkpoint is not None and not Path(self.checkpoint).resolve().parent.is_dir():
            raise RequestError(f"checkpoint must be a file in a folder that is there, got {self.checkpoint!r}")


def _of_method(name: str | None) -> dict[str, Any]:
    """Parameters of a factorisation of the paper."""
    if name is None:
        return {}
    factorisations = {known: recipe for known, recipe in METHODS.items() if isinstance(recipe, Factorisation)}
    if name not in factorisations:
        raise RequestError(f"method must be one of {', '.join(factorisations)}, got {name!r}")
    model = factorisations[name](2)
    return {parameter: getattr(model, parameter) for parameter in OF_METHOD}


# ------------------------------------------------------------------------------------------------ errors

# Settings of a panel.
OF_PANEL = (
    "include",
    "exclude",
    "allowed",
    "max_cost",
    "expression",
    "max_expression",
    "min_per_program",
    "efficiency",
)
NAMES = (
    *(item.name for item in (*fields(Settings), *fields(Resources))),
    "missing",
    "gene_sets",
    "markers",
    "force",
    *OF_PANEL,
)
# A setting in an error: what it begins with, a name that is no English word (nor part of a path), or one with a value.
NAMED = re.compile(
    rf"^({'|'.join(NAMES)})(?= )|(?<![\w/.'])({'|'.join(name for name in NAMES if '_' in name)})(?![\w/.'=])"
    rf"|\b({'|'.join(NAMES)})=('[^']*'|\w+)"
)


@contextmanager
def asked_for() -> Iterator[None]:
    """Errors in here that name a setting are about what was asked for."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if NAMED.search(str(error)) is None:
            raise
        raise RequestError(str(error)) from error
