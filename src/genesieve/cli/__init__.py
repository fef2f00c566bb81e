"""The command line: each command parses, calls `genesieve.workflow` and prints.

Nothing heavy is imported here: ``genesieve --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from rich.markup import escape

from genesieve.cli._screen import Debug, reporting
from genesieve.cli.demo import demo
from genesieve.cli.methods import methods
from genesieve.cli.panel import panel
from genesieve.cli.reproduce import reproduce
from genesieve.cli.run import run
from genesieve.cli.select import select
from genesieve.cli.transfer import enrich, project

app = typer.Typer(
    name="genesieve",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    run: (
        "run data.h5ad -o results/",
        "run data.h5ad --rank 8 --genes 2000 -o results/",
        "run filtered_feature_bc_matrix/ -r 12 -k 2000 -o results/ --gene-sets sets.gmt",
        "run counts.csv.gz --cells-in columns -r 6 -k 500 -o results/",
        "run atlas.h5ad -r 20 -k 2000 -o results/ --layer counts --labels cell_type",
        "run tpm.h5ad -r 8 -k 2000 -o results/ --preset paper --method onmf_l20",
        "run --from results/run.json -o again/",
    ),
    select: (
        "select data.h5ad",
        "select data.h5ad --ranks 5:20 -o suggestion/",
    ),
    project: (
        "project new.h5ad --model results/",
        "project panel.csv --cells-in rows -m results/ --missing ignore -o scored/",
    ),
    panel: (
        "panel data.h5ad --genes 300 -o panel/",
        "panel data.h5ad -k 400 --include base.txt --exclude banned.txt --labels cell_type -o panel/",
    ),
    enrich: ("enrich results/ --gene-sets hallmark.gmt",),
    methods: ("methods", "run data.h5ad -r 8 -k 2000 -o results/ --method onmf_l20"),
    demo: ("demo", "demo -o somewhere/"),
    reproduce: ("reproduce fig4 -o paper/", "reproduce table2 -o paper/ --data pollen.h5ad --labels cell_type"),
}
for command, lines in EXAMPLES.items():
    # Blank lines keep each example on a line of its own.
    app.command(epilog="\n\n".join(["Examples:", *(escape(f"  genesieve {line}") for line in lines)]))(command)


def main() -> None:
    """Run the command line."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # figures go to files: no display is needed
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show ends no run
    with reporting():
        raise SystemExit(app(standalone_mode=False) or 0)


def _print_version(wanted: bool) -> None:
    if wanted:
        from genesieve import __version__

        print(f"genesieve {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Find gene programs in single cells, on an exact budget of genes.

    Start with `genesieve demo`, then `genesieve run data.h5ad -o results/`.

    Exit codes: 0 done, 2 the request must change, 1 the work failed, 130 stopped with Ctrl-C.
    """
