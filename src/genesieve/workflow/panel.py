"""A panel, from a file to a folder: the table to order from, its curve, what it confuses, and a page about it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from genesieve import tl
from genesieve._anndata import unknown_genes
from genesieve._checks import listing, shown
from genesieve._damage import check_text
from genesieve._report.panel import panel_page
from genesieve._slots.read import read_fit
from genesieve._spreadsheets import plain_name
from genesieve.io import FileError, RequestError
from genesieve.tl._panel_request import check_request
from genesieve.tl.fit import given_genes
from genesieve.workflow.cluster import connected
from genesieve.workflow.fit import Outcome, describe_file
from genesieve.workflow.folder import staged, write_record
from genesieve.workflow.outputs import FIGURES, KEY, REPORT, write_figures, write_tables
from genesieve.workflow.provenance import Log
from genesieve.workflow.settings import Resources, Settings
from genesieve.workflow.stages import Given, Place, prepare, take
from genesieve.workflow.watch import Watcher

if TYPE_CHECKING:
    from anndata import AnnData

# Programs of the fit that a panel is explained by, and its budget, where nothing else is asked for.
RANK, FIT_GENES = 10, 2000
# Arguments of `genesieve.tl.panel` by their names as settings.
NAMES = {"n_genes": "genes", "include_genes": "include", "exclude_genes": "exclude"}


@dataclass(frozen=True, kw_only=True)
class PanelSettings:
    """What a panel is asked to be; files are named by their paths."""

    genes: int
    include: Place | None = None  # one gene a line, or a CSV with a column "gene"
    exclude: Place | None = None
    allowed: Place | None = None  # with costs in a column "cost"
    max_cost: float | None = None
    expression: tuple[float, float] | None = None
    max_expression: float | None = None
    min_per_program: int = 0
    efficiency: float = 1.0  # share of the molecules that the platform sees

    def arguments(self) -> dict[str, Any]:
        """Arguments of `genesieve.tl.panel`, the files read."""
        return {
            "include_genes": None if self.include is None else read_genes(self.include)["gene"].tolist(),
            "exclude_genes": None if self.exclude is None else read_genes(self.exclude)["gene"].tolist(),
            "allowed": None if self.allowed is None else read_genes(self.allowed),
            "max_cost": self.max_cost,
            "expression": self.expression,
            "max_expression": self.max_expression,
            "min_per_program": self.min_per_program,
        }


def panel(
    data: Place | AnnData,
    out: Place,
    panel_settings: PanelSettings,
    settings: Settings | None = None,
    *,
    force: bool = False,
    command: Sequence[str] = (),
    watch: Watcher | None = None,
    resources: Resources | None = None,
) -> Outcome:
    """Choose a targeted panel from a data set, and write a folder with what to order and what to expect of it.

    Parameters
    ----------
    data
        A file or folder that `genesieve.io.read` reads, or an AnnData (worked on in place).
    out
        The folder to write: ``panel.csv``, ``curve.csv``, ``types.csv``, ``confusion.csv``, figures, ``report.html``
        and ``run.json``.
    panel_settings
        The size of the panel, and genes and limits.
    settings
        How data are read, prepared and fitted; ``known`` names the types to tell apart.
    force, command, watch, resources
        As in `run`.
    """
    settings, resources = settings or Settings(), resources or Resources()
    watch, log = watch or Watcher(), Log()
    settings = settings.changed(rank=settings.rank or RANK)
    settings.check_data_choices()
    resources.check()
    arguments = panel_settings.arguments()
    with connected(resources.dask), staged(Path(out), force=force) as folder, log.listening():
        with watch.stage("read"), log.timed("read"):
            given = take(data, settings, resources)
        with watch.stage("prepare"), log.timed("prepare"):
            prepare(given.adata, settings)
            arguments["exclude_genes"] = _left_out(given.adata, arguments["exclude_genes"], settings.exclude_genes)
            with _asked_for():
                check_request(given.adata, panel_settings.genes, **arguments)
        n_given = int(given_genes(given.adata, None, settings.exclude_genes, None).sum())
        fitted = settings.changed(genes=settings.genes or min(FIT_GENES, n_given))
        model = fitted.estimator(resources)
        with watch.fit(model.max_iter * model.n_restarts) as callback, log.timed("fit"):
            options = model.set_params(callback=callback).get_params()
            tl.ssnmf(given.adata, **options, exclude_genes=settings.exclude_genes, clusters=False, key_added=KEY)
        with watch.stage("panel"), log.timed("panel"), _asked_for():
            tl.panel(
                given.adata,
                panel_settings.genes,
                labels=settings.known,
                efficiency=panel_settings.efficiency,
                counts=settings.layer or "raw",
                key=KEY,
                n_jobs=settings.jobs,
                **arguments,
            )
        record = _record(given, panel_settings, settings, command, log)
        with watch.stage("write"), log.timed("write"):
            _write(given.adata, folder, record)
        write_record(folder, record)
    return Outcome(Path(out), record, given.adata)


def read_genes(path: Place) -> pd.DataFrame:
    """Genes of a file, in a column ``gene``: one name a line, or a table with a heading that has that column."""
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise ValueError("a folder, a pipe or a device")
        text = check_text(Path(path)).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise FileError(f"{path} must be a text file with gene names, got: {error}") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise FileError(f"{path} must name genes, got an empty file")
    heading = re.split(r"[,\t;]", lines[0])
    if "gene" not in [name.strip().strip('"').lower() for name in heading]:
        if len(heading) > 1:
            raise FileError(f"{path} must have one gene a line or a column 'gene', got the heading {shown(lines[0])}")
        return pd.DataFrame({"gene": lines})
    separator = next((mark for mark in ",\t;" if mark in lines[0]), ",")
    try:
        table = pd.read_csv(StringIO("\n".join(lines)), sep=separator, dtype=str, keep_default_na=False)
    except ValueError as error:
        said = " ".join(str(error).split())[:200]
        raise FileError(f"{path} must be a table with a column 'gene', and cannot be read as one: {said}") from None
    table = table.rename(columns=lambda name: str(name).strip().lower())
    if "gene" not in table or table.columns.has_duplicates:
        raise FileError(f"{path} must have one column 'gene', and others of other names, got {listing(list(table))}")
    return table.assign(gene=table["gene"].map(plain_name))  # of a panel that was written before


def _left_out(adata: AnnData, named: list[str] | None, pattern: str | None) -> list[str] | None:
    """The genes to leave out, by name and by pattern; unknown names are told once, by that of the setting."""
    unknown = unknown_genes(adata, named or [])
    if unknown:
        warnings.warn(f"exclude has {unknown}", UserWarning, stacklevel=1)
    if named is None and pattern is None:
        return None
    matching = [] if pattern is None else [gene for gene in adata.var_names if re.search(pattern, gene)]
    return [*(gene for gene in named or [] if gene in adata.var_names), *matching]


@contextmanager
def _asked_for() -> Iterator[None]:
    """Errors in here are about what was asked for, in the names of the settings."""
    try:
        yield
    except (ValueError, TypeError) as error:
        said = re.sub(rf"\b({'|'.join(NAMES)})\b", lambda found: NAMES[found[0]], str(error))
        raise RequestError(said) from error


def _write(adata: AnnData, folder: Path, record: dict[str, Any]) -> None:
    from genesieve import pl

    fit = read_fit(adata, KEY)
    tables = {"panel": fit.found("panel"), "curve": fit.found("panel_curve"), "types": fit.found("panel_types")}
    write_tables({**tables, "confusion": fit.found("panel_confusion")}, folder)
    figures: dict[str, Callable[[], Any]] = {
        "curve": lambda: pl.panel(adata, key=KEY),
        "confusion": lambda: pl.panel(adata, key=KEY, show="confusion"),
    }
    write_figures(figures, folder / FIGURES)
    panel_page(adata, folder / REPORT, key=KEY, title=f"A panel of {len(tables['panel'])} genes", run=record)


def _record(given: Given, asked: PanelSettings, settings: Settings, command: Sequence[str], log: Log) -> dict[str, Any]:
    files = ("include", "exclude", "allowed")
    quality = read_fit(given.adata, KEY).found("panel_fit")
    about = {
        "settings": settings.as_dict(),
        "panel": {
            name: describe_file(value) if name in files and value is not None else value
            for name, value in asdict(asked).items()
        },
        "data": given.source,
        "scores": {name: float(value) for name, value in quality.items()},
    }
    return log.record("panel", command, about)
