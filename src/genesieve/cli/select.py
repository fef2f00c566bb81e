"""``genesieve select``: how many programs and how many genes, before a run."""

from __future__ import annotations

import re
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


def select(
    data: Data,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write the evidence to; nothing is written without.")
    ] = None,
    ranks: Annotated[
        str | None, typer.Option(metavar="2:30|5,8,12", help="Numbers of programs to choose from.")
    ] = None,
    genes: Annotated[str | None, typer.Option(metavar="500,1000,2000", help="Numbers of genes to choose from.")] = None,
    cells_in: CellsIn = None,
    layer: Layer = None,
    use_raw: UseRaw = False,
    min_cells: Annotated[
        float | None, typer.Option(help="Drop genes seen in a smaller share (0.05) or number (10) of cells.")
    ] = None,
    exclude_genes: Annotated[str | None, typer.Option(metavar="REGEX", help="Leave genes out: '^MT-|^RP[SL]'.")] = None,
    batch: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of obs with batches, which are no programs."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample and of chance.")] = 0,
    jobs: Jobs = None,
    memory: Memory = None,
    dask: Dask = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep finished steps in FILE; the same command goes on from it.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Suggest how many programs and how many genes to ask for, and say why."""
    from genesieve import workflow
    from genesieve.cli._result import why
    from genesieve.cli._screen import watcher

    allowed = {"n_components": _numbers("--ranks", ranks), "n_genes": _numbers("--genes", genes)}
    settings = workflow.Settings(
        cells_in=cells_in,
        layer=layer,
        use_raw=use_raw,
        min_cells=min_cells,
        exclude_genes=exclude_genes,
        batch=batch,
        seed=seed,
        jobs=jobs,
    )
    watch = watcher(quiet=quiet or as_json)
    resources = workflow.Resources(memory, dask, None if checkpoint is None else str(checkpoint))
    command = ["genesieve", *sys.argv[1:]]
    chosen = workflow.select(
        data, out, settings, **allowed, force=force, command=command, watch=watch, resources=resources
    )
    if as_json:
        print_json(chosen)
    elif not quiet:
        for line in why(chosen):
            print(plain(line))
        if out is not None:
            print(plain(f"Evidence: {out}"))
        sizes = chosen["suggested"]
        numbers = f"--rank {sizes['n_components']} --genes {sizes['n_genes']}"
        print(plain(f"Next: genesieve run {data} {numbers} -o FOLDER, or with numbers of your own"))


def _numbers(name: str, text: str | None) -> list[int] | None:
    """Whole numbers from ``5,8,12`` or, both ends included, ``2:30``."""
    if text is None:
        return None
    span = re.fullmatch(r"\s*(\d+)\s*:\s*(\d+)\s*", text)
    if span is not None and 1 <= int(span[1]) <= int(span[2]):
        return list(range(int(span[1]), int(span[2]) + 1))
    if not re.fullmatch(r"\s*[1-9]\d*\s*(,\s*[1-9]\d*\s*)*", text):
        raise typer.BadParameter(f"must be numbers like 5,8,12 or a range like 2:30, got {text!r}", param_hint=name)
    return [int(number) for number in text.split(",")]
