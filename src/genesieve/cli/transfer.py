"""``genesieve project`` and ``genesieve enrich``: what follows a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from genesieve.cli._screen import (
    CellsIn,
    Dask,
    Data,
    Debug,
    Force,
    Jobs,
    Json,
    Layer,
    Memory,
    Quiet,
    UseRaw,
    plain,
    print_json,
)


def project(
    data: Data,
    model: Annotated[Path, typer.Option("--model", "-m", metavar="OUTDIR", exists=True, help="Folder of a run.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write; DATA-projected here if not given.")
    ] = None,
    *,
    missing: Annotated[
        str,
        typer.Option(
            metavar="error|zero|ignore",
            help="Model genes that DATA lacks: refuse, take as measured and not seen (zero), or as not measured.",
        ),
    ] = "error",
    labels: Annotated[str | None, typer.Option(metavar="COLUMN", help="Score against these known types.")] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Batches of the cells, known to the run or new.")
    ] = None,
    cells_in: CellsIn = None,
    layer: Layer = None,
    use_raw: UseRaw = False,
    jobs: Jobs = None,
    memory: Memory = None,
    dask: Dask = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Score new cells with the programs of a run; they are prepared as its own were."""
    from genesieve import workflow
    from genesieve.cli._result import agreement, described, summary
    from genesieve.cli._screen import watcher

    settings = workflow.Settings().changed(
        cells_in=cells_in, layer=layer, use_raw=use_raw, known=labels, batch=batch, jobs=jobs
    )
    out = out or Path(f"{data.resolve().name.partition('.')[0]}-projected")
    command, watch = ["genesieve", *sys.argv[1:]], watcher(quiet=quiet)
    outcome = workflow.project(
        data,
        model,
        out,
        settings,
        missing=missing,
        force=force,
        command=command,
        watch=watch,
        resources=workflow.Resources(memory, dask),
    )
    if as_json:
        print_json(summary(outcome))
    elif not quiet:
        if outcome.record["scores"]:
            print(agreement(outcome.record["scores"]))
        print(plain(f"{outcome.adata.n_obs} cells scored{described(outcome)}: {out / 'cells.csv'}"))


def enrich(
    folder: Annotated[Path, typer.Argument(metavar="OUTDIR", exists=True, file_okay=False, help="Folder of a run.")],
    gene_sets: Annotated[
        Path, typer.Option("--gene-sets", metavar="FILE.gmt", exists=True, dir_okay=False, help="Sets to test.")
    ],
    *,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Test gene sets on the programs of a finished run, and put the result into its folder and report."""
    from genesieve import workflow
    from genesieve.cli._result import summary, tell_enrichment
    from genesieve.cli._screen import watcher

    outcome = workflow.enrich(folder, gene_sets, watch=watcher(quiet=quiet))
    if as_json:
        print_json(summary(outcome))
    elif not quiet:
        tell_enrichment(outcome)
