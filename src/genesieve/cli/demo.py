"""``genesieve demo``: a first run, on the cells that come with scanpy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from genesieve.cli._screen import Debug, Jobs, Json, Quiet

PROGRAMS = 8
GENES = 200


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder to write; an earlier result in it is replaced.")
    ] = Path("genesieve-demo"),
    *,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the fit.")] = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Do a whole run on 700 blood cells that ship with scanpy, and say where the report is."""
    from genesieve import workflow
    from genesieve.cli._result import tell
    from genesieve.cli._screen import watcher

    settings = workflow.Settings().changed(
        rank=PROGRAMS, genes=GENES, min_cells=0, known="cell_type", seed=seed, jobs=jobs
    )
    command = ["genesieve", *sys.argv[1:]]
    watch = watcher(quiet=quiet)
    outcome = workflow.run(workflow.DEMO, out, settings, force=True, command=command, watch=watch)
    tell(outcome, quiet=quiet, as_json=as_json)
