"""Runs the experiments asked for and writes what they found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from genesieve.io import RequestError
from genesieve.paper import fig1, fig2, fig3, fig4, fig5, fig6, table2, table3
from genesieve.paper.harness import Progress
from genesieve.paper.report import Section, write
from genesieve.paper.study import Study, read_labelled, read_reference

MODULES = (fig1, fig2, fig3, fig4, fig5, fig6, table2, table3)
EXPERIMENTS: dict[str, Callable[[Study], Section]] = {each.__name__.rpartition(".")[2]: each.run for each in MODULES}
NEED_DATA = ("fig6", "table2", "table3")
ALL = "all"
NO_DATA = "it needs labelled data: --data FILE --labels COLUMN"


def reproduce(
    what: str,
    folder: Path,
    *,
    data: Sequence[Path] = (),
    labels: Sequence[str] = (),
    values: str = "auto",
    gene_sets: Path | None = None,
    reference: Path | None = None,
    n_starts: int = 10,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    say: Callable[[str], object] = print,
) -> list[Path]:
    """Run one experiment or all; the Markdown files written. ``say`` hears of each, and of what was left out."""
    columns = _check(what, data, labels, n_starts)
    study = Study(folder, n_starts, n_jobs, progress=progress, gene_sets=gene_sets)
    study.reference = read_reference(reference) if reference is not None else None
    study.labelled = [read_labelled(path, column, values=values) for path, column in zip(data, columns, strict=True)]
    written = []
    for name in EXPERIMENTS if what == ALL else (what,):
        if name in NEED_DATA and not study.labelled:
            say(f"{name} is left out: {NO_DATA}")
            continue
        written.append(write(EXPERIMENTS[name](study), folder))
        say(f"{name}: {written[-1]}")
    return written


def _check(what: str, data: Sequence[Path], labels: Sequence[str], n_starts: int) -> list[str]:
    """Check the request; the column of classes of each data set."""
    if what != ALL and what not in EXPERIMENTS:
        raise RequestError(f"what must be one of {[ALL, *EXPERIMENTS]}, got {what!r}")
    if n_starts < 1:
        raise RequestError(f"starts must be at least 1, got {n_starts}")
    if what in NEED_DATA and not data:
        raise RequestError(f"{what} must have labelled data, got none: give --data FILE --labels COLUMN")
    if len(labels) not in (1, len(data)) or (labels and not data):
        raise RequestError(f"labels must be given once, or once for each data set, got {len(labels)} for {len(data)}")
    return list(labels) * len(data) if len(labels) == 1 else list(labels)
