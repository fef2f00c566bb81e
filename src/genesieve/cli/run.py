"""``genesieve run``: one data set, from file to folder of results."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genesieve.cli._screen import DATA, CellsIn, Dask, Debug, Force, Jobs, Json, Layer, Memory, Quiet, UseRaw

if TYPE_CHECKING:
    from genesieve.workflow import Settings

# Sections of the help.
PREPARING, FITTING, OUTPUT = "Preparing", "Fitting", "Output"


def run(
    context: typer.Context,
    data: Annotated[Path | None, DATA] = None,
    rank: Annotated[int | None, typer.Option("--rank", "-r", help="Number of programs.")] = None,
    genes: Annotated[int | None, typer.Option("--genes", "-k", help="Gene budget: how many genes to keep.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder to write.", rich_help_panel=OUTPUT)] = None,
    *,
    labels: Annotated[str | None, typer.Option(metavar="COLUMN", help="Score against these known types.")] = None,
    gene_sets: Annotated[Path | None, typer.Option(metavar="FILE.gmt", help="Test these sets in each program.")] = None,
    cells_in: CellsIn = None,
    layer: Layer = None,
    use_raw: UseRaw = False,
    values: Annotated[
        str, typer.Option(metavar="auto|counts|linear|log", help="What the values are.", rich_help_panel=PREPARING)
    ] = "auto",
    min_cells: Annotated[
        float | None,
        typer.Option(
            help="Drop genes seen in a smaller share (0.05) or number (10) of cells.", rich_help_panel=PREPARING
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="paper", help="Prepare the values as the paper did.", rich_help_panel=PREPARING),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="A method of the paper: genesieve methods.", rich_help_panel=FITTING)
    ] = None,
    orthogonality: Annotated[
        str | None,
        typer.Option(metavar="NUMBER|exact|auto", help="Keep programs apart in cells.", rich_help_panel=FITTING),
    ] = None,
    sparsity: Annotated[
        str | None,
        typer.Option(metavar="rows|columns|entries", help="What the budget counts.", rich_help_panel=FITTING),
    ] = None,
    solver: Annotated[
        str | None, typer.Option(metavar="bcd|mapalm|palm", help="Algorithm.", rich_help_panel=FITTING)
    ] = None,
    gene_weights: Annotated[
        str | None,
        typer.Option(
            metavar="auto|variation|none", help="Weigh genes by how they vary, or alike.", rich_help_panel=FITTING
        ),
    ] = None,
    label_rule: Annotated[
        str | None,
        typer.Option(
            metavar="argmax|kmeans|leiden",
            help="Label cells by their largest program, or by clusters.",
            rich_help_panel=FITTING,
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, help="Clusters of kmeans or leiden; as many as programs.", rich_help_panel=FITTING),
    ] = None,
    exclude_genes: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Leave genes out: '^MT-|^RP[SL]'.", rich_help_panel=FITTING)
    ] = None,
    restarts: Annotated[
        int | None, typer.Option(min=1, help="Starts, of which the best is kept.", rich_help_panel=FITTING)
    ] = None,
    max_iter: Annotated[int | None, typer.Option(min=1, help="Iterations at most.", rich_help_panel=FITTING)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the fit.", rich_help_panel=FITTING)] = 0,
    jobs: Jobs = None,
    memory: Memory = None,
    dask: Dask = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the fit here as it goes; a run that finds it there goes on from it."),
    ] = None,
    repeat: Annotated[
        Path | None, typer.Option("--from", metavar="run.json", help="Repeat this run; options given change it.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Find programs and the genes that carry them; write tables, figures, a report and the model."""
    from genesieve import workflow
    from genesieve.cli._result import tell
    from genesieve.cli._screen import watcher

    record, settings = workflow.repeated(repeat) if repeat is not None else (None, workflow.Settings())
    settings = _merged(context, settings, repeating=record is not None)
    data, gene_sets = _inputs(data, gene_sets, record)
    missing = [
        name for name, value in (("--rank", settings.rank), ("--genes", settings.genes), ("-o", out)) if value is None
    ]
    if missing:
        raise typer.BadParameter(f"{', '.join(missing)} must be given", ctx=context)
    assert out is not None
    watch = watcher(quiet=quiet)
    command = ["genesieve", *sys.argv[1:]]
    resources = workflow.Resources(memory, dask, None if checkpoint is None else str(checkpoint))
    choices: dict[str, Any] = {"gene_sets": gene_sets, "force": force, "repeats": record, "resources": resources}
    tell(workflow.run(data, out, settings, command=command, watch=watch, **choices), quiet=quiet, as_json=as_json)


def _merged(context: typer.Context, settings: Settings, *, repeating: bool) -> Settings:
    """Settings with what the command line says; when repeating, with what it says explicitly."""
    given = {item.name: context.params[item.name] for item in fields(settings)}
    if repeating:
        given = {name: value for name, value in given.items() if _typed(context, name)}
    return settings.changed(**given)


def _typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _inputs(data: Path | None, gene_sets: Path | None, record: dict[str, Any] | None) -> tuple[Path, Path | None]:
    """Files to read: those given, or those of the run to repeat."""
    from genesieve.workflow import DEMO

    if record is not None:
        if data is None and record["data"]["path"] is not None:
            data = Path(record["data"]["path"])
        if gene_sets is None and record["gene_sets"] is not None:
            gene_sets = Path(record["gene_sets"]["path"])
    if data is None:
        raise typer.BadParameter("a file or folder with expression data must be given", param_hint="DATA")
    for path, hint in ((data, "DATA"), (gene_sets, "--gene-sets")):
        if path is not None and str(path) != DEMO and not path.exists():
            raise typer.BadParameter(f"{path} does not exist", param_hint=hint)
    return data, gene_sets
