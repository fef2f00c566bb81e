"""The run: from a file to a folder with everything in it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genesieve import tl
from genesieve._slots.read import read_fit, read_preparation
from genesieve.estimators.ssnmf import SSNMF
from genesieve.io import FileError
from genesieve.pp import describe
from genesieve.workflow import outputs
from genesieve.workflow.cluster import connected
from genesieve.workflow.folder import read_run, staged, write_record
from genesieve.workflow.outputs import KEY, OTHER_STEPS, write_outputs
from genesieve.workflow.provenance import SAMPLED, Log, file_fingerprint, versions
from genesieve.workflow.selection import choose_sizes, chosen_sizes
from genesieve.workflow.settings import Resources, Settings, asked_for
from genesieve.workflow.stages import Given, Place, interpret, prepare, score, take, usable_gene_sets
from genesieve.workflow.watch import Watcher

if TYPE_CHECKING:
    from anndata import AnnData


@dataclass(frozen=True)
class Outcome:
    """A finished run: where it is, what run.json says, and the object."""

    folder: Path
    record: dict[str, Any]
    adata: AnnData


def run(
    data: Place | AnnData,
    out: Place,
    settings: Settings | None = None,
    *,
    gene_sets: Place | None = None,
    markers: Place | None = None,
    force: bool = False,
    command: Sequence[str] = (),
    watch: Watcher | None = None,
    repeats: dict[str, Any] | None = None,
    resources: Resources | None = None,
    figures: bool = True,
    **options: Any,
) -> Outcome:
    """Read, prepare, factorise, interpret, and write a folder with tables, figures, report, model and run.json.

    Parameters
    ----------
    data
        A file or folder that `genesieve.io.read` reads, or an AnnData (worked on in place).
    out
        The folder to write: new, empty, or with ``force`` an earlier result.
    settings
        What to do; ``options`` set or change its fields by name.
    gene_sets
        A GMT file for the enrichment.
    markers
        A GMT file of marker genes, to name the programs by.
    force
        Replace an earlier result.
    command
        The command line, for run.json.
    watch
        Told about stages and iterations; it may end the fit.
    repeats
        The record of an earlier run that this one repeats; the data must have its fingerprint.
    resources
        What the run may use: memory, a Dask cluster, a file for checkpoints. With a limit of memory, and where they
        would not fit, data are left in their file and read in blocks of cells; ``result.h5ad`` is then without X.
    figures
        Whether to draw figures; the report has its own.

    Returns
    -------
    Outcome
        The folder, its record and the object.

    Notes
    -----
    Most is in a call like ``workflow.run("data.h5ad", "results", rank=8, genes=2000, known="cell_type")``.
    """
    settings, resources = (settings or Settings()).changed(**options), resources or Resources()
    watch, log = watch or Watcher(), Log()
    settings.check_data_choices()
    resources.check()
    model = settings.estimator(resources)
    with connected(resources.dask), staged(Path(out), force=force) as folder, log.listening():
        with watch.stage("read"), log.timed("read"):
            given = take(data, settings, resources)
            sets, names = (usable_gene_sets(file, given.adata) for file in (gene_sets, markers))
            if repeats is not None:
                _check_same_data(given, repeats, moved=given.source.get("path") != repeats["data"].get("path"))
        with watch.stage("prepare"), log.timed("prepare"):
            prepare(given.adata, settings)
        watch.say(describe(read_preparation(given.adata)))
        choose_sizes(given.adata, model, settings, watch, log)
        with watch.fit(_most_iterations(model)) as callback, log.timed("fit"), asked_for():
            model.set_params(callback=callback)
            choices: dict[str, Any] = {"batch_key": settings.batch, "exclude_genes": settings.exclude_genes}
            choices["clusters"] = not settings.no_clusters
            tl.ssnmf(given.adata, **model.get_params(), **choices, key_added=KEY)
        with watch.stage("interpret"), log.timed("interpret"):
            interpret(given.adata, settings, sets, names)
            scores = score(given.adata, settings.known)
        files = {"gene_sets": gene_sets, "markers": markers}
        record = _record(given, settings, files, scores, command, log, stopped=watch.stopped)
        drawn = outputs.run_figures(given.adata, known=settings.known) if figures else {}
        with watch.stage("write", OTHER_STEPS + len(drawn)) as step, log.timed("write"):
            write_outputs(given.adata, folder, known=settings.known, record=record, figures=drawn, step=step)
        write_record(folder, record)
    return Outcome(Path(out), record, given.adata)


def _most_iterations(model: SSNMF) -> int | None:
    """Iterations at most; None where nothing bounds them beforehand."""
    return None if model.orthogonality == "exact" else model.max_iter * model.n_restarts


# ------------------------------------------------------------------------------------------------ the record


def _check_same_data(given: Given, repeats: dict[str, Any], *, moved: bool) -> None:
    """Raise if the data are not those of the record; where others were named on purpose, a warning will do."""
    before = repeats["data"]["fingerprint"]
    if given.source["fingerprint"] == before:
        return
    if before.startswith(SAMPLED) != given.source["fingerprint"].startswith(SAMPLED):
        message = f"{given.source['name']} is read from its file this time or was then, so it was not compared"
        warnings.warn(message, UserWarning, stacklevel=2)
        return
    message = f"{given.source['name']} differs from the data of the run to repeat (fingerprint {before[:12]})"
    if not moved:
        raise FileError(f"{message}: it has changed since, got {given.source['fingerprint'][:12]}")
    warnings.warn(f"{message}: this is a new run with its settings", UserWarning, stacklevel=2)


def _record(
    given: Given,
    settings: Settings,
    files: dict[str, Place | None],
    scores: dict[str, Any],
    command: Sequence[str],
    log: Log,
    *,
    stopped: bool,
) -> dict[str, Any]:
    fit = read_fit(given.adata, KEY)
    about = {
        "settings": settings.as_dict(),
        "seed": settings.seed,
        "data": given.source,
        **{name: None if path is None else describe_file(path) for name, path in files.items()},
        "prepared": {name: _plain(value) for name, value in read_preparation(given.adata).items()},
        "fit": {
            "method": fit.record["method"],
            "objective": float(fit.record["objective"]),
            "iterations": len(fit.record["history"]["objective"]),
            "converged": bool(fit.record["converged"]),
            "selected_genes": int(fit.selected.sum()),
        },
        **chosen_sizes(given.adata, settings),
        "scores": scores,
    }
    return log.record("run", command, about, "stopped early" if stopped else "complete")


def describe_file(path: Place) -> dict[str, str]:
    """A file for the record."""
    path = Path(path)
    return {"path": str(path.resolve()), "name": path.name, "sha256": file_fingerprint(path)}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def repeated(path: Place) -> tuple[dict[str, Any], Settings]:
    """The record of an earlier run and its settings, for `run`; differing versions are warned of."""
    record = read_run(Path(path))
    then, now = record["genesieve"], versions()["genesieve"]
    if then != now:
        message = f"{path} is of genesieve {then}, this is {now}: results may differ"
        warnings.warn(message, UserWarning, stacklevel=2)
    return record, Settings.from_dict(record["settings"])
