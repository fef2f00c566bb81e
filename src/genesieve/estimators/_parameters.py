"""The one table of the parameters of `SSNMF`: checks at the door, records, checkpoints, settings and options follow it.

Light to import: the command line makes its options from the table before anything heavy is loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any

STARTS = ("nmf", "random", "nndsvd")
WEIGHTINGS = ("variation", "auto")
BASELINES = ("mean", "zero")
AUTO = "auto"
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
Shape = tuple[int, int]  # cells, genes

# ------------------------------------------------------------------------------------------------ what values may be


class Anything:
    """Any value: it is checked where it is read, or needs no check."""

    option_type: type = str
    metavar: str | None = None

    def check(self, name: str, value: Any, shape: Shape | None) -> None:
        """Raise unless the value is one of these; without a shape, the data are not known yet."""

    def parse(self, name: str, value: Any) -> Any:
        """What a setting stands for; words come from the command line."""
        return value


@dataclass(frozen=True)
class Words(Anything):
    """One of some words; with ``others``, what is no word is checked where it is read."""

    words: tuple[str | None, ...]
    others: bool = False

    @property
    def metavar(self) -> str:  # type: ignore[override]
        """The choices on the command line, where None is a word too."""
        none = ("none",) if self.others else ()
        return "|".join(word or "none" for word in (*self.words, *none))

    def check(self, name: str, value: Any, shape: Shape | None) -> None:
        from genesieve._checks import check_choice

        if isinstance(value, str) or not self.others:
            check_choice(name, value, self.words)

    def parse(self, name: str, value: Any) -> Any:
        return None if value == "none" and (self.others or None in self.words) else value


@dataclass(frozen=True)
class Whole(Anything):
    """A whole number from ``low`` to the size of the data; ``also`` may be None or other numbers."""

    low: int = 1
    up_to: str | None = None  # the cells given, the genes given, or the smaller
    also: tuple[int | None, ...] = ()
    option_type: type = int

    def check(self, name: str, value: Any, shape: Shape | None) -> None:
        from genesieve._checks import check_integer

        if (value is None or isinstance(value, Integral)) and value in self.also:
            return
        high, why = None, ""
        if self.up_to is not None and shape is not None:
            sizes = {"the cells given": shape[0], "the genes given": shape[1]}
            smaller = f"the smaller of n_samples={shape[0]} and n_features={shape[1]}"
            high, why = sizes.get(self.up_to, min(shape)), self.up_to if self.up_to in sizes else smaller
        check_integer(name, value, self.low, high, why=why)


@dataclass(frozen=True)
class WholeOrAuto(Whole):
    """The same, or ``"auto"``: the data decide."""

    option_type: type = str
    metavar: str | None = "INTEGER|auto"

    def check(self, name: str, value: Any, shape: Shape | None) -> None:
        if not isinstance(value, str):
            super().check(name, value, shape)
        elif value != AUTO:
            raise ValueError(f"{name} must be a whole number or 'auto', got {value!r}")

    def parse(self, name: str, value: Any) -> Any:
        if not isinstance(value, str) or value == AUTO:
            return value
        try:
            return int(value)
        except ValueError:
            raise ValueError(f"{name} must be a whole number or 'auto', got {value!r}") from None


@dataclass(frozen=True)
class Number(Anything):
    """A number that is not negative; ``also`` may be None or words."""

    also: tuple[str | None, ...] = ()

    @property
    def metavar(self) -> str:  # type: ignore[override]
        """NUMBER, or a word."""
        return "|".join(["NUMBER", *filter(None, self.also)])

    def check(self, name: str, value: Any, shape: Shape | None) -> None:
        from genesieve._checks import check_number

        if (value is not None and not isinstance(value, str)) or value not in self.also:
            check_number(name, value, or_else=" or ".join(map(repr, filter(None, self.also))))

    def parse(self, name: str, value: Any) -> Any:
        try:
            return float(value) if isinstance(value, str) and value not in self.also else value
        except ValueError:
            expected = " or ".join(map(repr, filter(None, self.also)))
            raise ValueError(f"{name} must be a number, {expected}, got {value!r}") from None


class Flag(Anything):
    """Yes or no."""

    option_type = bool

    def check(self, name: str, value: Any, shape: Shape | None) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, got {value!r}")


class Size(Anything):
    """Bytes, as a number or as words like ``"2GB"``."""

    def check(self, name: str, value: Any, shape: Shape | None) -> None:
        read_memory(value, name)


class File(Anything):
    """The path of a file, or None."""

    def check(self, name: str, value: Any, shape: Shape | None) -> None:
        if value is not None and not isinstance(value, str | os.PathLike):
            raise TypeError(f"{name} must be the path of a file or None, got {type(value).__name__}")


# ------------------------------------------------------------------------------------------------ the table


@dataclass(frozen=True)
class Option:
    """A parameter as a setting of a run, and so on the command line: ``n_restarts`` is ``--restarts`` there."""

    name: str
    help: str
    short: str | None = None
    default: Any = None  # None: the estimator's own
    kind: Anything | None = None  # where a setting may be less than the parameter


@dataclass(frozen=True)
class Parameter:
    """What the rest of the package knows of a parameter."""

    kind: Anything
    option: Option | None = None
    recorded: bool = True  # with a fit, in uns
    decides: bool = True  # where the fit ends: a checkpoint must agree in it
    of_method: bool = False  # set by the methods of the paper


# In the order of the signature.
PARAMETERS: Mapping[str, Parameter] = MappingProxyType(
    {
        "n_components": Parameter(
            WholeOrAuto(up_to="the smaller"), Option("rank", "Number of programs; the data decide if not given.", "-r")
        ),
        "n_genes": Parameter(
            WholeOrAuto(up_to="the genes given", also=(None,)),
            Option("genes", "Gene budget: how many genes to keep; the data decide if not given.", "-k"),
        ),
        "sparsity": Parameter(
            Words(("rows", "columns", "entries", None)), Option("sparsity", "What the budget counts."), of_method=True
        ),
        "orthogonality": Parameter(
            Number(also=("exact", "auto")), Option("orthogonality", "Keep programs apart in cells."), of_method=True
        ),
        "solver": Parameter(Words(("bcd", "mapalm", "palm")), Option("solver", "Algorithm."), of_method=True),
        "init": Parameter(Words(STARTS, others=True), of_method=True),
        "max_iter": Parameter(Whole(), Option("max_iter", "Iterations at most.")),
        "tol": Parameter(Number(also=(None,))),
        "n_restarts": Parameter(Whole(), Option("restarts", "Starts, of which the best is kept.")),
        "consensus": Parameter(Flag(), Option("consensus", "Fit what all starts agree on, not the best of them.")),
        "labels": Parameter(
            Words(("argmax", "kmeans", "leiden")),
            Option("label_rule", "Label cells by their largest program, or by clusters."),
            decides=False,
        ),
        "n_clusters": Parameter(
            Whole(up_to="the cells given", also=(None,)),
            Option("clusters", "Clusters of the cells; as many as programs."),
            decides=False,
        ),
        "resolution": Parameter(Number(also=(None,)), decides=False),
        "gauge": Parameter(Words(("unit", None)), decides=False, of_method=True),
        "gene_weights": Parameter(
            Words(WEIGHTINGS, others=True), Option("gene_weights", "Weigh genes by how they vary, or alike.")
        ),
        "baseline": Parameter(
            Words(BASELINES),
            Option("baseline", "Predict genes outside the budget by their mean, or by zero."),
            of_method=True,
        ),
        "required_genes": Parameter(Anything(), recorded=False),
        "line_search": Parameter(Anything()),
        "n_jobs": Parameter(
            Whole(also=(None, -1)),
            Option("jobs", "Threads; every core there is if not given.", "-j"),
            recorded=False,
            decides=False,
        ),
        "memory": Parameter(Size(), recorded=False, decides=False),
        "callback": Parameter(Anything(), recorded=False, decides=False),
        "checkpoint": Parameter(File(), recorded=False, decides=False),
        "verbose": Parameter(Flag(), recorded=False, decides=False),
        "random_state": Parameter(Anything(), Option("seed", "Seed of the fit.", default=0, kind=Whole(0))),
    }
)
RECORDED = tuple(name for name, parameter in PARAMETERS.items() if parameter.recorded)
DECIDING = tuple(name for name, parameter in PARAMETERS.items() if parameter.decides)
OF_METHOD = tuple(name for name, parameter in PARAMETERS.items() if parameter.of_method)
OPTIONS = {name: parameter.option for name, parameter in PARAMETERS.items() if parameter.option is not None}


def check_parameters(model: Any, shape: Shape | None = None, *, as_settings: bool = False) -> None:
    """Raise unless the parameters fit together and suit data of this shape, if it is known.

    Errors name the estimator's parameters, or the settings of a run that these came from.
    """
    for name, parameter in PARAMETERS.items():
        option = parameter.option if as_settings else None
        kind = option.kind if option is not None and option.kind is not None else parameter.kind
        kind.check(name if option is None else option.name, getattr(model, name), shape)
    if model.n_clusters is not None and model.resolution is not None:
        raise ValueError(f"n_clusters must be None where a resolution is given, got {model.n_clusters!r}")
    if model.resolution is not None and model.labels != "leiden":
        raise ValueError(f"resolution must be None unless labels is 'leiden', got labels={model.labels!r}")
    if model.consensus:
        _check_consensus(model, as_settings=as_settings)
    if model.checkpoint is not None and not isinstance(model.random_state, Integral):
        raise ValueError(
            "random_state must be an integer with a checkpoint, so that a run started again takes the same way,"
            f" got {model.random_state!r}"
        )


def _check_consensus(model: Any, *, as_settings: bool) -> None:
    """Raise unless fits from several starts can be had."""
    for name, only in (("solver", "bcd"), ("init", "nmf")):
        if not (isinstance(getattr(model, name), str) and getattr(model, name) == only):
            raise ValueError(f"{name} must be {only!r} where a consensus is asked for, got {getattr(model, name)!r}")
    if model.n_restarts < 2:
        name = "restarts" if as_settings else "n_restarts"
        raise ValueError(f"{name} must be at least 2 where a consensus is asked for, got {model.n_restarts!r}")


def read_memory(memory: float | str | None, name: str = "memory") -> float | None:
    """Bytes, from a number of them or from words like ``"2GB"``."""
    from genesieve._checks import check_number

    if memory is None:
        return None
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", memory, re.IGNORECASE)
        if found is None:
            raise ValueError(f"{name} must be a size like '2GB' or a number of bytes, got {memory!r}")
        return float(found[1]) * UNITS[found[2].upper()]
    check_number(name, memory, or_else="a size like '2GB'")
    return float(memory)
