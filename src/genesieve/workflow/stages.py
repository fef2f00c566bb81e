"""The stages of a run, one function each: taking the data, preparing them, reading the fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve import datasets, pp, tl
from genesieve._checks import listing
from genesieve._matrices import check_all_intact
from genesieve._slots.keys import Keys
from genesieve._slots.read import read_preparation, read_projection
from genesieve.core.cells.streamed import streamed
from genesieve.interpret.genesets import case_note, read_gene_sets
from genesieve.io import FileError, RequestError, open_in_file, read, size_in_memory
from genesieve.metrics import nmi, purity
from genesieve.tl._batches import read_batch_column
from genesieve.tl.fit import given_genes
from genesieve.workflow.cluster import open_on_dask
from genesieve.workflow.outputs import KEY
from genesieve.workflow.provenance import available_memory, fingerprint, sampled_fingerprint
from genesieve.workflow.samples import check_groups, compare_groups
from genesieve.workflow.settings import Resources, Settings, asked_for

if TYPE_CHECKING:
    from anndata import AnnData

Place = str | PathLike[str]

# Data that would take more than this share of the memory there is are left in their file: besides the values as they
# are, the prepared ones have to fit, and their plots.
SHARE_OF_MEMORY = 0.3

DEMO = "genesieve:demo"
"""In place of a file: the cells of `genesieve.datasets.demo`."""


@dataclass(frozen=True)
class Given:
    """Data as they came, and how run.json names them."""

    adata: AnnData
    source: dict[str, Any]


def take(data: Place | AnnData, settings: Settings, resources: Resources) -> Given:
    """Read the data, or leave them in their file, choose the values, and check what was asked against them."""
    adata, path = _open(data, settings, resources)
    name = "the data" if path is None else path
    if settings.use_raw and streamed(adata.X) is None:
        if adata.raw is None:
            raise RequestError(f"use_raw needs .raw in {name}, which has none")
        adata = adata.raw.to_adata()
    _make_names_unique(adata)
    values = _choose(adata, settings, name)
    outside = streamed(values)
    _check_own_columns(settings)
    if settings.known is not None:
        _check_known(adata, settings.known, name)
    if settings.batch is not None:
        _check_batch(adata, settings.batch, name)
    check_groups(adata, settings, name)
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
        check_all_intact(data)
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
    return values


def _check_own_columns(settings: Settings) -> None:
    """Raise about a column that this run would overwrite, and then compare its own result with."""
    for option in ("known", "batch", "groupby", "sample"):
        column = getattr(settings, option)
        if column in Keys(KEY).of_cells:
            raise RequestError(
                f"{option} must not be a column that the result is written to, got {column!r}: rename it"
            )


def _check_known(adata: AnnData, column: str, name: str) -> None:
    if column not in adata.obs:
        raise RequestError(f"known must be a column of obs in {name}, got {column!r}: {_columns(adata)}")
    if adata.obs[column].isna().all():
        raise RequestError(f"known must be a column with the types of some cells, got none in {column!r} of {name}")


def _check_batch(adata: AnnData, column: str, name: str) -> None:
    if column not in adata.obs:
        raise RequestError(f"batch must be a column of obs in {name}, got {column!r}: {_columns(adata)}")
    missing = int(adata.obs[column].isna().sum())
    if missing:
        raise RequestError(f"batch must name the batch of every cell, got {missing} missing in {column!r} of {name}")
    try:
        read_batch_column(adata, column, KEY).check_sizes()
    except ValueError as error:
        raise RequestError(f"batch cannot be used: {error}") from None


def _columns(adata: AnnData) -> str:
    return f"columns are {listing(list(adata.obs))}" if len(adata.obs.columns) else "there are none"


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
                f"{repeated} {kind} name{'s repeat' if repeated > 1 else ' repeats'}, the first of them"
                f" {names[names.duplicated()][0]!r}; numbered them"
            )
            warnings.warn(message, UserWarning, stacklevel=2)


def prepare(adata: AnnData, settings: Settings) -> None:
    """Normalise and log as far as needed, and check what was asked for against what is left."""
    free = next(name for name in ("raw", *(f"raw_{number}" for number in range(1, 1000))) if name not in adata.layers)
    choices: dict[str, Any] = {
        "values": settings.values,
        "min_cells": settings.share_or_cells,
        "preset": settings.preset,
    }
    with asked_for():
        pp.prepare(adata, layer=settings.layer, raw_layer=free, **choices)
        n_genes = int(given_genes(adata, None, settings.exclude_genes, None).sum())
    kept = f"genes that preparing keeps of {read_preparation(adata)['n_genes_given']}"
    limits = {
        "rank": (min(adata.n_obs, n_genes), f"the smaller of {adata.n_obs} cells and {n_genes} {kept}"),
        "genes": (n_genes, kept),
        "clusters": (adata.n_obs, "the cells given"),
    }
    for name, (most, why) in limits.items():
        if settings.number(name) > most:
            raise RequestError(f"{name} must be between 1 and {most} ({why}), got {getattr(settings, name)}")


def interpret(adata: AnnData, settings: Settings, gene_sets: Place | None, markers: Place | None) -> None:
    """Tables of the fit, into its slots."""
    tl.gene_scores(adata, key=KEY)
    tl.markers(adata, key=KEY)
    tl.top_genes(adata, key=KEY)
    tl.biclusters(adata, key=KEY)
    tl.outliers(adata, key=KEY)
    if gene_sets is not None:
        with _not_to_lose_the_fit("enrichment"):
            enrich_object(adata, gene_sets)
    if markers is not None:
        with _not_to_lose_the_fit("names"), about_gene_sets(markers):
            tl.annotate(adata, markers, key=KEY)
    with _not_to_lose_the_fit("comparison"):
        compare_groups(adata, settings)


@contextmanager
def _not_to_lose_the_fit(what: str) -> Iterator[None]:
    """What cannot be found is said, and the run goes on."""
    try:
        yield
    except ValueError as error:
        warnings.warn(f"no {what}: {error}", UserWarning, stacklevel=3)


def enrich_object(adata: AnnData, gene_sets: Place) -> None:
    """Enrichment of the sets in a file."""
    with about_gene_sets(gene_sets):
        tl.enrich(adata, gene_sets, key=KEY)


def usable_gene_sets(gene_sets: Place | None, adata: AnnData) -> Place | None:
    """The file, read and found sound before the fit; None, with a warning, if the data have none of its genes."""
    if gene_sets is None:
        return None
    with about_gene_sets(gene_sets):
        sets = read_gene_sets(gene_sets)
    names = [gene for genes in sets.values() for gene in genes]
    if not adata.var_names.isin(names).any():
        remark = case_note(sets, list(adata.var_names)) or (
            f"names are like {names[0]!r} there, like {adata.var_names[0]!r} in the data"
        )
        message = f"{Path(gene_sets).name} is left out, the data have none of its {len(set(names))} genes: {remark}"
        warnings.warn(message, UserWarning, stacklevel=2)
        return None
    return gene_sets


@contextmanager
def about_gene_sets(gene_sets: Place) -> Iterator[None]:
    """Errors in here name the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise FileError(f"{gene_sets} must be a GMT file in UTF-8, got other bytes") from None
    except (ValueError, OSError) as error:
        raise FileError(f"{gene_sets} cannot be used: {error}") from error


def score(adata: AnnData, column: str | None) -> dict[str, Any]:
    """Agreement of labels, and of clusters, with the known types, over the cells whose type is known."""
    if column is None:
        return {}
    known = adata.obs[column].notna().to_numpy()
    types, cells = adata.obs[column][known].astype(str).to_numpy(), read_projection(adata, KEY)
    scores: dict[str, Any] = {**_agreement(types, cells.of_cells("labels")[known]), "cells": int(known.sum())}
    if cells.has("cluster") and cells.centers is None:  # else labels are the clusters
        scores["clusters"] = _agreement(types, cells.of_cells("cluster")[known])
    return scores


def _agreement(types: np.ndarray, labels: pd.Series) -> dict[str, float]:
    from sklearn.metrics import adjusted_rand_score

    found = labels.astype(str).to_numpy()
    ari = float(adjusted_rand_score(types, found))
    return {"nmi": float(nmi(types, found)), "purity": float(purity(types, found)), "ari": ari}
