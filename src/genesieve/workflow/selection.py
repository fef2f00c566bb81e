"""How many programs and genes: as a stage of a run, and by itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genesieve import tl
from genesieve._slots.read import read_selection
from genesieve.estimators._parameters import AUTO
from genesieve.estimators.ssnmf import SSNMF
from genesieve.workflow.cluster import connected
from genesieve.workflow.folder import staged, write_record
from genesieve.workflow.outputs import FIGURES, KEY, write_figures, write_tables
from genesieve.workflow.provenance import Log
from genesieve.workflow.settings import Resources, Settings, asked_for
from genesieve.workflow.stages import Place, prepare, take
from genesieve.workflow.watch import Watcher

if TYPE_CHECKING:
    from anndata import AnnData


def choose_sizes(adata: AnnData, model: SSNMF, settings: Settings, watch: Watcher, log: Log) -> None:
    """Give the estimator the numbers of programs and genes that were left to the data."""
    if AUTO not in (model.n_components, model.n_genes):
        return
    with watch.select() as callback, log.timed("select"), asked_for():
        given = {name: getattr(model, name) for name in ("n_components", "n_genes") if getattr(model, name) != AUTO}
        _suggest(adata, settings, callback=callback, **given)
    model.set_params(**{**read_selection(adata, KEY)["suggested"], **given})


def chosen_sizes(adata: AnnData, settings: Settings) -> dict[str, Any]:
    """What run.json says of the choice, where there was one."""
    if settings.number("rank") and settings.number("genes"):
        return {}
    return {"selection": _summary(adata)}


def select(
    data: Place | AnnData,
    out: Place | None = None,
    settings: Settings | None = None,
    *,
    n_components: Sequence[int] | None = None,
    n_genes: Sequence[int] | None = None,
    force: bool = False,
    command: Sequence[str] = (),
    watch: Watcher | None = None,
    resources: Resources | None = None,
) -> dict[str, Any]:
    """Suggest numbers of programs and genes for data that are prepared as a run would; write the evidence to ``out``.

    Parameters
    ----------
    data
        A file or folder that `genesieve.io.read` reads, or an AnnData (worked on in place).
    out
        The folder to write: ``selection.csv``, ``genes.csv``, figures and ``run.json``; ``None`` writes nothing.
    settings
        Those of reading and preparing count, and the seed.
    n_components, n_genes
        What may be suggested.
    force, command, watch, resources
        As in `run`; the file for checkpoints keeps finished steps of the choice.

    Returns
    -------
    dict
        ``suggested`` and ``reason``, what the values were found to be, and how many cells were looked at.
    """
    settings, resources, watch, log = settings or Settings(), resources or Resources(), watch or Watcher(), Log()
    settings.check_data_choices()
    resources.check()
    with connected(resources.dask), log.listening():
        with watch.stage("read"), log.timed("read"):
            given = take(data, settings, resources)
        with watch.stage("prepare"), log.timed("prepare"):
            prepare(given.adata, settings)
        with watch.select() as callback, log.timed("select"), asked_for():
            sizes = {"n_components": n_components, "n_genes": n_genes}
            _suggest(given.adata, settings, callback=callback, checkpoint=resources.checkpoint, **sizes)
    summary = _summary(given.adata)
    if out is not None:
        about = {"settings": settings.as_dict(), "data": given.source, "selection": summary}
        with staged(Path(out), force=force) as folder:
            _write(given.adata, folder)
            write_record(folder, log.record("selection", command, about))
    return summary


def _suggest(adata: AnnData, settings: Settings, **choices: Any) -> None:
    about: dict[str, Any] = {"exclude_genes": settings.exclude_genes, "batch_key": settings.batch, "verbose": False}
    tl.select(adata, **choices, **about, key_added=KEY, random_state=settings.seed, n_jobs=settings.jobs)


def _summary(adata: AnnData) -> dict[str, Any]:
    """Plain types, for run.json and the screen."""
    found = read_selection(adata, KEY)
    suggested = {name: int(size) for name, size in found["suggested"].items()}
    return {
        "suggested": suggested,
        "signals": {name: int(number) for name, number in found.get("signals", {}).items()},
        "clear": bool(found.get("clear", False)),
        "reason": str(found["reason"]),
        "values": str(found["values"]),
        "n_cells": int(found["n_cells"]),
    }


def _write(adata: AnnData, folder: Path) -> None:
    from genesieve import pl
    from genesieve.pl.selection import VIEWS

    found = read_selection(adata, KEY)
    write_tables({"selection": found["table"], "genes": found["genes"]}, folder)
    drawn: dict[str, Any] = {f"selection_{view}": partial(pl.selection, adata, view=view, key=KEY) for view in VIEWS}
    write_figures(drawn, folder / FIGURES)
