"""The command line: parse, call, print."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import genesieve as gs

DEMO_PROGRAMS = 8
DEMO_GENES = 200
TOP_GENES = 5

app = typer.Typer(
    name="genesieve",
    help="Single-cell programs that use an exact budget of genes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"genesieve {gs.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


@app.command()
def methods() -> None:
    """List the paper's methods by name."""
    for name in gs.METHODS:
        print(name)


@app.command()
def demo() -> None:
    """Find programs and their genes in 700 blood cells that ship with scanpy."""
    adata = gs.datasets.demo()
    model = gs.SSNMF(DEMO_PROGRAMS, n_genes=DEMO_GENES, random_state=0).fit(adata.X)
    known = adata.obs["cell_type"].to_numpy()

    table = Table(title=f"{DEMO_PROGRAMS} programs on {DEMO_GENES} of {adata.n_vars} genes, {adata.n_obs} cells")
    for heading in ("program", "cells", "mostly", "top genes"):
        table.add_column(heading, justify="right" if heading in ("program", "cells") else "left")
    for program, weights in enumerate(model.components_):
        members = known[model.labels_ == program]
        names, counts = np.unique(members, return_counts=True)
        mostly = f"{names[counts.argmax()]} ({counts.max() / len(members):.0%})" if len(members) else "-"
        top = adata.var_names[np.argsort(-weights, kind="stable")[:TOP_GENES]]
        table.add_row(str(program), str(len(members)), mostly, " ".join(top))

    console = Console()
    console.print(table)
    console.print(f"Agreement with the known cell types (NMI): {gs.metrics.nmi(known, model.labels_):.2f}")
