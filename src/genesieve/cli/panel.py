"""``genesieve panel``: the best genes to measure, from file to folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genesieve.cli._screen import (
    LEFT,
    RIGHT,
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
    table,
)

if TYPE_CHECKING:
    from genesieve.workflow import Outcome

LIMITS = "Genes and limits"  # section of the help
SHOWN_GENES = 10
PROGRAM_GENES = 3  # that tell what a program is


def _file(said: str) -> Any:
    """An option that is a file of genes."""
    return typer.Option(metavar="FILE", exists=True, dir_okay=False, help=said, rich_help_panel=LIMITS)


def panel(
    data: Data,
    *,
    genes: Annotated[int, typer.Option("--genes", "-k", min=1, help="Size of the panel.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    labels: Annotated[str | None, typer.Option(metavar="COLUMN", help="Known types to tell apart.")] = None,
    rank: Annotated[int | None, typer.Option("--rank", "-r", min=1, help="Programs of its fit; 10.")] = None,
    include: Annotated[Path | None, _file("Genes that must be in, such as a base panel.")] = None,
    exclude: Annotated[Path | None, _file("Genes that must not be in.")] = None,
    exclude_genes: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="The same, by a pattern: '^MT-|^RP[SL]'.", rich_help_panel=LIMITS),
    ] = None,
    allowed: Annotated[Path | None, _file("Genes to choose from, with columns gene and cost.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="What they may cost together.", rich_help_panel=LIMITS)] = None,
    expression: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LEAST LARGEST", help="Range of a gene's mean expression.", rich_help_panel=LIMITS),
    ] = None,
    max_expression: Annotated[
        float | None, typer.Option(help="Mean expression of all genes together.", rich_help_panel=LIMITS)
    ] = None,
    min_per_program: Annotated[
        int, typer.Option(min=0, help="Genes for each program, at least.", rich_help_panel=LIMITS)
    ] = 0,
    efficiency: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Of the molecules in DATA that the platform sees.", rich_help_panel=LIMITS),
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of the fit.")] = 0,
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
    """Choose a targeted panel: the genes to order, what to expect of them, and which types they confuse."""
    from genesieve import workflow
    from genesieve.cli._result import summary
    from genesieve.cli._screen import watcher

    settings = workflow.Settings(
        rank=rank,
        seed=seed,
        cells_in=cells_in,
        layer=layer,
        use_raw=use_raw,
        known=labels,
        exclude_genes=exclude_genes,
        jobs=jobs,
    )
    asked = workflow.PanelSettings(
        genes=genes,
        include=include,
        exclude=exclude,
        allowed=allowed,
        max_cost=max_cost,
        expression=expression,
        max_expression=max_expression,
        min_per_program=min_per_program,
        efficiency=efficiency,
    )
    outcome = workflow.panel(
        data,
        out,
        asked,
        settings,
        force=force,
        command=["genesieve", *sys.argv[1:]],
        watch=watcher(quiet=quiet),
        resources=workflow.Resources(memory, dask),
    )
    if as_json:
        print_json(summary(outcome))
    elif not quiet:
        _tell(outcome)


def _tell(outcome: Outcome) -> None:
    from genesieve._slots.read import read_fit
    from genesieve.tl._tables import marker_genes

    fit = read_fit(outcome.adata, "ssnmf")
    genes, types, scores = fit.found("panel"), fit.found("panel_types"), outcome.record["scores"]
    rows: list[list[object]] = [
        [row.type, row.n_cells, f"{row.accuracy:.1%}", f"{row.accuracy_all:.1%}", row.confused_with]
        for row in types.itertuples()
    ]
    kind = "type" if outcome.record["settings"]["labels"] else "program"
    headings = {kind: LEFT, "cells": RIGHT, "recognised": RIGHT, "all genes": RIGHT, "taken most for": LEFT}
    if kind == "program":
        headings["leading genes"] = LEFT
        for row, leading in zip(rows, marker_genes(fit, PROGRAM_GENES), strict=True):
            row.append(" ".join(leading))
    table(f"{len(genes)} genes from {outcome.adata.n_obs} cells", headings, rows)
    print(plain(f"first genes: {' '.join(genes['gene'][:SHOWN_GENES])}"))
    kept = f"{scores['accuracy']:.1%} recognised ({scores['accuracy_all']:.1%} with all genes)"
    print(plain(f"{kept}, {scores['variation']:.0%} of the leading variation kept, on cells held out"))
    print(plain(f"to order: {outcome.folder / 'panel.csv'}  report: {outcome.folder / 'report.html'}"))
