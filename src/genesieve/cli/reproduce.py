"""``genesieve reproduce``: the paper's tables and figures, printed values beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genesieve.cli._screen import if_stopped, say

if TYPE_CHECKING:
    from genesieve.paper.harness import Task

WHAT = "all|fig1|fig2|fig3|fig4|fig5|fig6|table2|table3"


def reproduce(
    what: Annotated[str, typer.Argument(metavar=WHAT, help="The figure or table.", show_default=False)],
    *,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for tables and figures; a rerun goes on in it.")],
    data: Annotated[
        list[Path] | None, typer.Option(help="Labelled data for fig6, table2 and table3; may be given several times.")
    ] = None,
    labels: Annotated[
        list[str] | None, typer.Option(help="Column of obs with the known classes: once, or once for each data set.")
    ] = None,
    values: Annotated[str, typer.Option(help="What the data hold: auto, counts, linear or log.")] = "auto",
    gene_sets: Annotated[Path | None, typer.Option(help="GMT file of gene sets for fig6.")] = None,
    reference: Annotated[
        Path | None, typer.Option(help="The published synthetic data for fig2 to fig4: .npz with X, labels, W0, H0.")
    ] = None,
    starts: Annotated[int, typer.Option(min=1, help="Starts of every method.")] = 10,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Processes; one for each core if not given.")
    ] = None,
) -> None:
    """Run the paper's tables and figures again, printed values beside ours."""
    if_stopped("what is done is kept, the same command goes on from there")
    from genesieve.paper import main

    with _bar() as progress:
        main.reproduce(
            what,
            out,
            data=data or (),
            labels=labels or (),
            values=values,
            gene_sets=gene_sets,
            reference=reference,
            n_starts=starts,
            n_jobs=jobs,
            progress=progress,
            say=say,
        )


@contextmanager
def _bar() -> Iterator[Callable[[int, int, Task], None]]:
    """A progress bar over the tasks of the experiment at work."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        line = bar.add_task("starting", total=None)

        def show(done: int, total: int, task: Task) -> None:
            bar.update(line, completed=done, total=total, description=f"{task.data} {task.method}")

        yield show
