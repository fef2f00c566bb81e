"""``genesieve run``: one data set, from file to folder of results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genesieve.cli._screen import (
    KINDS_OF_DATA,
    CellsIn,
    Dask,
    Debug,
    Force,
    Json,
    Layer,
    Memory,
    Quiet,
    UseRaw,
    check_there,
)
from genesieve.estimators._parameters import OPTIONS, PARAMETERS, Anything, WholeOrAuto

if TYPE_CHECKING:
    from genesieve.workflow import Settings

# Sections of the help.
PREPARING, FITTING, OUTPUT = "Preparing", "Fitting", "Output"


def _with_fit_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each parameter of the fit that has one, in place of its ``**fit_options``.

    Typer reads a command's signature, so these are added to it; those with a short name are the main ones.
    """
    own = list(signature(command, eval_str=True).parameters.values())[:-1]
    added = [
        Parameter(
            option.name,
            Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=Annotated[_type_of(name) | None, _typer_option(name)],
        )
        for name, option in OPTIONS.items()
    ]
    by_place = [item for item in own if item.kind is not Parameter.KEYWORD_ONLY]
    command.__signature__ = Signature([*by_place, *added, *own[len(by_place) :]])  # type: ignore[attr-defined]
    return command


def _kind_of(name: str) -> Anything:
    return OPTIONS[name].kind or PARAMETERS[name].kind


def _type_of(name: str) -> Any:
    return _kind_of(name).option_type


def _typer_option(name: str) -> Any:
    option = OPTIONS[name]
    names = [f"--{option.name.replace('_', '-')}", *filter(None, [option.short])]
    panel = None if option.short else FITTING
    return typer.Option(*names, metavar=_kind_of(name).metavar, help=option.help, rich_help_panel=panel)


@_with_fit_options
def run(
    context: typer.Context,
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help=KINDS_OF_DATA)] = None,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder to write.", rich_help_panel=OUTPUT)] = None,
    labels: Annotated[str | None, typer.Option(metavar="COLUMN", help="Score against these known types.")] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Samples or donors of the cells: programs are shared by them.")
    ] = None,
    gene_sets: Annotated[Path | None, typer.Option(metavar="FILE.gmt", help="Test these sets in each program.")] = None,
    groupby: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Compare usage between these groups; needs --sample.")
    ] = None,
    sample: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Samples, say donors: the replicates of --groupby.")
    ] = None,
    markers: Annotated[
        Path | None, typer.Option(metavar="FILE.gmt", help="Name the programs by these marker genes.")
    ] = None,
    cells_in: CellsIn = None,
    layer: Layer = None,
    use_raw: UseRaw = False,
    values: Annotated[
        str, typer.Option(metavar="auto|counts|linear|log", help="What the values are.", rich_help_panel=PREPARING)
    ] = "auto",
    min_cells: Annotated[
        float | None,
        typer.Option(
            help="Drop genes seen in a smaller share (0.3) or number (10) of cells.", rich_help_panel=PREPARING
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="paper", help="Prepare the values as the paper did.", rich_help_panel=PREPARING),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="A method of the paper: genesieve methods.", rich_help_panel=FITTING)
    ] = None,
    exclude_genes: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Leave genes out: '^MT-|^RP[SL]'.", rich_help_panel=FITTING)
    ] = None,
    no_clusters: Annotated[
        bool, typer.Option("--no-clusters", help="Programs alone, no clusters of cells.", rich_help_panel=FITTING)
    ] = False,
    memory: Memory = None,
    dask: Dask = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the fit here as it goes; a run that finds it there goes on from it."),
    ] = None,
    repeat: Annotated[
        Path | None, typer.Option("--from", metavar="run.json", help="Repeat this run; options given change it.")
    ] = None,
    no_figures: Annotated[
        bool, typer.Option("--no-figures", help="Draw no figures; the report has its own.", rich_help_panel=OUTPUT)
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
    **fit_options: Any,  # an option for each, see OPTIONS: the settings are read from the context
) -> None:
    """Find programs and the genes that carry them; write tables, figures, a report and the model."""
    from genesieve import workflow
    from genesieve.cli._result import tell
    from genesieve.cli._screen import watcher

    record, settings = workflow.repeated(repeat) if repeat is not None else (None, workflow.Settings())
    settings = _merged(context, settings, repeating=record is not None)
    data, gene_sets, markers = _inputs(data, gene_sets, markers, record)
    if out is None:
        raise typer.BadParameter("-o must be given", ctx=context)
    watch = watcher(quiet=quiet)
    command = ["genesieve", *sys.argv[1:]]
    resources = workflow.Resources(memory, dask, None if checkpoint is None else str(checkpoint))
    choices: dict[str, Any] = {"gene_sets": gene_sets, "markers": markers, "force": force, "repeats": record}
    choices |= {"resources": resources, "figures": not no_figures}
    tell(workflow.run(data, out, settings, command=command, watch=watch, **choices), quiet=quiet, as_json=as_json)


def _merged(context: typer.Context, settings: Settings, *, repeating: bool) -> Settings:
    """Settings with what the command line says; when repeating, with what it says explicitly."""
    given = {name: context.params[name] for name in settings.as_dict() if not repeating or _typed(context, name)}
    return settings.changed(**{name: _read_size(name, value) for name, value in given.items()})


def _read_size(name: str, value: Any) -> Any:
    """A number of programs or genes, which may also be a word on the command line."""
    kind = next((_kind_of(of) for of, option in OPTIONS.items() if option.name == name), None)
    if not isinstance(kind, WholeOrAuto):
        return value
    try:
        return kind.parse(name, value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _inputs(
    data: Path | None, gene_sets: Path | None, markers: Path | None, record: dict[str, Any] | None
) -> tuple[Path, Path | None, Path | None]:
    """Files to read: those given, or those of the run to repeat."""
    from genesieve.workflow import DEMO

    if record is not None:
        if data is None and record["data"]["path"] is not None:
            data = Path(record["data"]["path"])
        if gene_sets is None and record["gene_sets"] is not None:
            gene_sets = Path(record["gene_sets"]["path"])
        if markers is None and record["markers"] is not None:
            markers = Path(record["markers"]["path"])
    if data is None:
        raise typer.BadParameter("a file or folder with expression data must be given", param_hint="DATA")
    for path, hint in ((data, "DATA"), (gene_sets, "--gene-sets"), (markers, "--markers")):
        if path is not None and str(path) != DEMO:
            check_there(path, hint)
    return data, gene_sets, markers
