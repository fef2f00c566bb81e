"""The stages of a run, one function each: checks, taking the data, preparing, reading the fit."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genesieve import datasets, pp, tl
from genesieve._anndata import listing, stored_values
from genesieve._checks import check_choice
from genesieve._slots.read import read_preparation, read_projection
from genesieve.core.cells.streamed import streamed
from genesieve.estimators._parameters import check_parameters, read_memory
from genesieve.estimators.ssnmf import SSNMF
from genesieve.interpret.genesets import read_gene_sets
from genesieve.interpret.labels import RULES
from genesieve.io import FileError, RequestError, open_in_file, read, size_in_memory
from genesieve.metrics import nmi, purity
from genesieve.tl.fit import given_genes
from genesieve.workflow.cluster import open_on_dask
from genesieve.workflow.outputs import KEY
from genesieve.workflow.provenance import available_memory, fingerprint, sampled_fingerprint
from genesieve.workflow.settings import Resources, Settings

if TYPE_CHECKING:
    from anndata import AnnData

Place = str | PathLike[str]

# Data that would take more than this share of the memory there is are left in their file: besides the values as they
# are, the prepared ones have to fit, and their plots.
SHARE_OF_MEMORY = 0.3

UNKNOWN = 2**62  # stands for the size of data that are not read yet: no limit

DEMO = "genesieve:demo"
"""In place of a file: the cells of `genesieve.datasets.demo`."""


@dataclass(frozen=True)
class Given:
    """Data as they came, and how run.json names them."""

    adata: AnnData
    source: dict[str, Any]


def check_settings(settings: Settings) -> None:
    """What can be told before the data are read."""
    for name in ("rank", "genes"):
        value = getattr(settings, name)
        if value is None or value < 1:
            raise RequestError(f"{name} must be at least 1, got {value}")
    if settings.use_raw and settings.layer is not None:
        raise RequestError(f"layer must not be given with use_raw, got {settings.layer!r}")
    with asked_for():
        check_choice("values", settings.values, ["auto", *pp.VALUES])
        check_choice("preset", settings.preset, ["paper", None])
        pp._check_numbers(_share_or_cells(settings.min_cells), None, settings.preset)
        check_choice("label_rule", settings.label_rule, [*RULES, None])
        if settings.clusters is not None and settings.label_rule not in RULES[1:]:
            raise ValueError(f"clusters must come with label_rule kmeans or leiden, got {settings.label_rule!r}")
        _check_pattern(settings.exclude_genes)
        check_fit(settings, (UNKNOWN, UNKNOWN))


def check_resources(resources: Resources) -> None:
    """What can be told before the data are read."""
    with asked_for():
        read_memory(resources.memory)
    if resources.memory is not None and resources.dask is not None:
        raise RequestError(
            f"memory must not be given with dask, whose workers have limits of their own, got {resources.memory!r}"
        )
    if resources.checkpoint is not None and not Path(resources.checkpoint).resolve().parent.is_dir():
        raise RequestError(f"checkpoint must be a file in a folder that is there, got {resources.checkpoint!r}")


def _check_pattern(exclude_genes: str | None) -> None:
    try:
        re.compile(exclude_genes or "")
    except re.error as error:
        raise ValueError(f"exclude_genes must be a regular expression, got {exclude_genes!r}: {error}") from None


def check_fit(settings: Settings, shape: tuple[int, int]) -> None:
    """Raise what the estimator would, for data of this shape, before any work is done."""
    model = SSNMF()
    known = model.get_params()
    chosen = {name: value for name, value in settings.fit_keywords().items() if name in known}
    with asked_for():
        check_parameters(model.set_params(**chosen), shape)


@contextmanager
def asked_for() -> Iterator[None]:
    """Errors in here are about what was asked for."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise RequestError(str(error)) from error


def take(data: Place | AnnData, settings: Settings, resources: Resources | None = None) -> Given:
    """Read the data, or leave them in their file, choose the values, and check what was asked against them."""
    adata, path = _open(data, settings, resources or Resources())
    name = "the data" if path is None else path
    if settings.use_raw and streamed(adata.X) is None:
        if adata.raw is None:
            raise RequestError(f"use_raw needs .raw in {name}, which has none")
        adata = adata.raw.to_adata()
    _make_names_unique(adata)
    values = _choose(adata, settings, name)
    outside = streamed(values)
    if settings.labels is not None:
        _check_labels(adata, settings.labels, name)
    source = {
        "path": path,
        "name": "AnnData" if path is None else Path(path).name,
        "cells": adata.n_obs,
        "genes": adata.n_vars,
        "fingerprint": fingerprint(adata, values) if outside is None else sampled_fingerprint(adata, outside),
    }
    return Given(adata, source)


def _open(data: Place | AnnData, settings: Settings, resources: Resources) -> tuple[AnnData, str | None]:
    """The data, and the full path that they came from."""
    if hasattr(data, "obsm"):
        return data, None
    if str(data) == DEMO:
        return datasets.demo(), DEMO
    path = Path(data)
    if resources.dask is not None:
        return open_on_dask(path, layer=settings.layer, use_raw=settings.use_raw), str(path.resolve())
    if resources.memory is not None or size_in_memory(path) > SHARE_OF_MEMORY * available_memory():
        return open_in_file(path, use_raw=settings.use_raw), str(path.resolve())
    return read(path, cells_in=settings.cells_in), str(path.resolve())


def _choose(adata: AnnData, settings: Settings, name: str) -> Any:
    """The matrix that will be worked on."""
    if settings.layer is not None and settings.layer not in adata.layers:
        layers = [layer for layer in adata.layers if layer is not None]
        there = f"layers are {listing(layers)}" if layers else "there are no layers"
        raise RequestError(f"layer must be one of {name}, got {settings.layer!r}: {there}")
    values = adata.X if settings.layer is None else adata.layers[settings.layer]
    if values is None:
        raise FileError(f"{name} must hold values in X, got none; name a layer: {listing(list(adata.layers))}")
    if streamed(values) is None and adata.raw is not None and stored_values(values).min(initial=0) < 0:
        raise RequestError(f"{name} must not have negative values, got scaled ones; --use-raw takes those of .raw")
    return values


def _check_labels(adata: AnnData, column: str, name: str) -> None:
    if column not in adata.obs:
        there = f"columns are {listing(list(adata.obs))}" if len(adata.obs.columns) else "there are none"
        raise RequestError(f"labels must be a column of obs in {name}, got {column!r}: {there}")
    if adata.obs[column].isna().all():
        raise RequestError(f"labels must be known for some cells, got none in column {column!r} of {name}")


def _make_names_unique(adata: AnnData) -> None:
    for kind, names, make in (
        ("gene", adata.var_names, adata.var_names_make_unique),
        ("cell", adata.obs_names, adata.obs_names_make_unique),
    ):
        repeated = int(names.duplicated().sum())
        if repeated:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make()
            message = (
                f"{repeated} {kind} names repeat, the first of them {names[names.duplicated()][0]!r}; numbered them"
            )
            warnings.warn(message, UserWarning, stacklevel=2)


def prepare(adata: AnnData, settings: Settings) -> None:
    """Normalise and log as far as needed, and check rank and genes against what is left."""
    free = next(name for name in ("raw", *(f"raw_{number}" for number in range(1, 1000))) if name not in adata.layers)
    choices: dict[str, Any] = {
        "values": settings.values,
        "min_cells": _share_or_cells(settings.min_cells),
        "preset": settings.preset,
    }
    pp.prepare(adata, layer=settings.layer, raw_layer=free, **choices)
    done = read_preparation(adata)
    with asked_for():
        n_genes = int(given_genes(adata, None, settings.exclude_genes, None).sum())
    kept = f"genes seen in at least {done['min_cells']:g} of the cells, of {done['n_genes_given']} given"
    limits = {
        "rank": (min(adata.n_obs, n_genes), f"the smaller of {adata.n_obs} cells and {n_genes} {kept}"),
        "genes": (n_genes, kept),
    }
    for name, (most, why) in limits.items():
        if getattr(settings, name) > most:
            raise RequestError(f"{name} must be between 1 and {most} ({why}), got {getattr(settings, name)}")
    check_fit(settings, (adata.n_obs, n_genes))


def _share_or_cells(number: float | None) -> float | None:
    """Above 1 a number is of cells, which `genesieve.pp.prepare` tells from a share by its type."""
    return number if number is None or number <= 1 or number != int(number) else int(number)


def interpret(adata: AnnData, gene_sets: Place | None) -> None:
    """Tables of the fit, into its slots."""
    tl.gene_scores(adata, key=KEY)
    tl.markers(adata, key=KEY)
    tl.top_genes(adata, key=KEY)
    tl.biclusters(adata, key=KEY)
    tl.outliers(adata, key=KEY)
    if gene_sets is not None:
        enrich_object(adata, gene_sets)


def enrich_object(adata: AnnData, gene_sets: Place) -> None:
    """Enrichment of the sets in a file."""
    with about_gene_sets(gene_sets):
        tl.enrich(adata, gene_sets, key=KEY)


def check_gene_sets(gene_sets: Place | None) -> None:
    """Raise if the file cannot be read: better now than after the fit."""
    if gene_sets is not None:
        with about_gene_sets(gene_sets):
            read_gene_sets(gene_sets)


@contextmanager
def about_gene_sets(gene_sets: Place) -> Iterator[None]:
    """Errors in here name the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise FileError(f"{gene_sets} must be a GMT file in UTF-8, got other bytes") from None
    except (ValueError, OSError) as error:
        raise FileError(f"{gene_sets} cannot be used: {error}") from error


def score(adata: AnnData, labels: str | None) -> dict[str, float]:
    """Agreement of the programs with the known types, over the cells whose type is known."""
    if labels is None:
        return {}
    from sklearn.metrics import adjusted_rand_score

    known = adata.obs[labels].notna().to_numpy()
    types = adata.obs[labels][known].astype(str).to_numpy()
    found = read_projection(adata, KEY).of_cells("labels")[known].astype(str).to_numpy()
    return {
        "nmi": float(nmi(types, found)),
        "purity": float(purity(types, found)),
        "ari": float(adjusted_rand_score(types, found)),
        "cells": int(known.sum()),
    }
