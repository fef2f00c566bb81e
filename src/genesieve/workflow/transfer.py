"""What follows a run: scoring new cells with its model, and testing other gene sets on it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genesieve import pp, tl
from genesieve._checks import check_choice
from genesieve.io import FileError, RequestError
from genesieve.tl._tables import cells_table
from genesieve.workflow import outputs
from genesieve.workflow.cluster import connected
from genesieve.workflow.fit import Outcome, describe_file
from genesieve.workflow.folder import is_result, read_record, read_run, staged, write_record
from genesieve.workflow.model import load_model
from genesieve.workflow.outputs import (
    FIGURES,
    KEY,
    OTHER_STEPS,
    RESULT,
    write_figures,
    write_object,
    write_outputs,
    write_tables,
)
from genesieve.workflow.provenance import Log
from genesieve.workflow.settings import Resources, Settings, asked_for
from genesieve.workflow.stages import Given, Place, enrich_object, score, take
from genesieve.workflow.watch import Watcher

if TYPE_CHECKING:
    from anndata import AnnData


def project(
    data: Place | AnnData,
    model: Place,
    out: Place,
    settings: Settings | None = None,
    *,
    missing: str = "error",
    force: bool = False,
    command: Sequence[str] = (),
    watch: Watcher | None = None,
    resources: Resources | None = None,
) -> Outcome:
    """Score new cells with the model of a run, prepared as the run prepared its own.

    Parameters
    ----------
    data
        A file or folder that `genesieve.io.read` reads, or an AnnData (worked on in place).
    model
        The folder of a run.
    out
        The folder to write: ``cells.csv``, ``result.h5ad``, figures and ``run.json``.
    settings
        ``cells_in``, ``layer``, ``use_raw``, ``known``, ``batch`` and ``jobs`` count.
    missing
        About selected genes that the data lack: ``"error"``, ``"zero"`` or ``"ignore"``, as in `genesieve.tl.project`.
    force, command, watch, resources
        As in `run`; there are no checkpoints.
    """
    settings, resources = settings or Settings(), resources or Resources()
    resources.check()
    watch, log = watch or Watcher(), Log()
    with asked_for():
        check_choice("missing", missing, ["error", "zero", "ignore"])
    fitted = load_model(Path(model))
    with connected(resources.dask), staged(Path(out), force=force) as folder, log.listening():
        with watch.stage("read"), log.timed("read"):
            given = take(data, settings, resources)
        with watch.stage("prepare"), log.timed("prepare"), asked_for():
            pp.prepare_like(given.adata, fitted, layer=settings.layer, raw_layer=None)
        with watch.stage("project"), log.timed("project"):
            _check_genes(given, fitted, missing)
            tl.project(given.adata, fitted, key=KEY, missing=missing, batch_key=settings.batch, n_jobs=settings.jobs)
            tl.outliers(given.adata, key=KEY)
            scores = score(given.adata, settings.known)
        record = _record(given, Path(model), settings, missing, scores, command, log)
        with watch.stage("write"), log.timed("write"):
            _write(given.adata, folder, settings.known)
        write_record(folder, record)
    return Outcome(Path(out), record, given.adata)


def _write(adata: AnnData, folder: Path, known: str | None) -> None:
    from genesieve import pl

    write_tables({"cells": cells_table(adata, known=known)}, folder)
    write_figures({"usages": lambda: pl.usages(adata, key=KEY, color=known)}, folder / FIGURES)
    write_object(adata, folder / RESULT)


def _check_genes(given: Given, fitted: AnnData, missing: str) -> None:
    """Raise about genes of the model that the data lack, with what can be done."""
    genes = fitted.var_names
    lacking = genes[~genes.isin(given.adata.var_names)]
    if len(lacking) == len(genes):
        raise FileError(
            f"{given.source['name']} must have the model's genes, got none of its {len(genes)}: the model has names"
            f" like {genes[0]!r}, the data like {given.adata.var_names[0]!r}"
        )
    if len(lacking) and missing == "error":
        raise RequestError(
            f"{given.source['name']} lacks {len(lacking)} of the model's {len(genes)} genes, the first of them"
            f" {lacking[0]!r}; missing='zero': measured and not seen, missing='ignore': not measured"
        )


def _record(
    given: Given,
    model: Path,
    settings: Settings,
    missing: str,
    scores: dict[str, Any],
    command: Sequence[str],
    log: Log,
) -> dict[str, Any]:
    chosen = settings.as_dict()
    about = {
        "settings": {name: chosen[name] for name in ("cells_in", "layer", "use_raw", "labels", "batch", "jobs")}
        | {"missing": missing},
        "model": str(model.resolve()),
        "data": given.source,
        "scores": scores,
    }
    return log.record("projection", command, about)


def _carry_figures(old: Path, new: Path) -> None:
    """Keep the figures that were not drawn anew."""
    for figure in (old / FIGURES).iterdir() if (old / FIGURES).is_dir() else ():
        if figure.suffix in (".png", ".svg") and not (new / FIGURES / figure.name).exists():
            shutil.copy2(figure, new / FIGURES)


def enrich(folder: Place, gene_sets: Place, *, watch: Watcher | None = None) -> Outcome:
    """Test gene sets on the programs of a finished run, and write its folder anew with the enrichment in it.

    Parameters
    ----------
    folder
        The folder of a run. An enrichment that it has is replaced; files that genesieve did not write stay.
    gene_sets
        A GMT file.
    watch
        As in `run`.
    """
    from anndata import read_h5ad

    folder, watch, log = Path(folder), watch or Watcher(), Log()
    if not is_result(folder):
        raise RequestError(f"{folder} must be the folder of a run, got one without a run.json of genesieve")
    kind = read_record(folder).get("kind")
    if kind != "run":
        raise RequestError(f"{folder} must be the folder of a run, got one of a {kind}")
    record = read_run(folder)
    known = Settings.from_dict(record["settings"]).known
    with staged(folder, force=True, carry=True) as new, log.listening():
        with watch.stage("read"), log.timed("read"):
            try:
                adata = read_h5ad(folder / RESULT)
            except (OSError, ValueError, KeyError) as error:
                raise FileError(f"{folder / RESULT} cannot be read: {error}") from error
        with watch.stage("enrich"), log.timed("enrich"):
            enrich_object(adata, gene_sets)
        record |= {"gene_sets": describe_file(gene_sets), "notes": [*record["notes"], *log.notes]}
        record["timings"] |= {"enrich": log.timings["enrich"]}
        with watch.stage("write", OTHER_STEPS + 1) as step:
            # Only this figure has changed; a run without figures gets none.
            drawn = (
                {} if not (folder / FIGURES).is_dir() else outputs.run_figures(adata, known=known, only=["enrichment"])
            )
            write_outputs(adata, new, known=known, record=record, figures=drawn, step=step)
            _carry_figures(folder, new)
            write_record(new, {name: value for name, value in record.items() if name != "files"})
    return Outcome(folder, record, adata)
