"""Writing the report: gather, render, and put the file in place whole or not at all."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from genesieve._checks import check_integer
from genesieve._files import write_whole
from genesieve._report import content, words
from genesieve._report.figures import still_pictures
from genesieve._report.findings import Findings, read_findings
from genesieve._report.payload import make_payload
from genesieve._report.samples import samples_section
from genesieve._report.selection import selection_section
from genesieve._slots.read import check_anndata
from genesieve.estimators._parameters import RECORDED
from genesieve.interpret.programs import UNSURE
from genesieve.pl._layout import MOST_SHOWN, choose_cells, place_cells

if TYPE_CHECKING:
    from anndata import AnnData

SCRIPTS = ("base.js", "map.js", "heat.js", "tables.js", "start.js")
# Of the fit's parameters, what only means something to the program.
INTERNAL = ("gauge_scale", "penalty", "gauge")


def report(
    adata: AnnData,
    path: str | os.PathLike[str] = "report.html",
    *,
    key: str = "ssnmf",
    known: str | None = None,
    basis: str | None = None,
    title: str | None = None,
    run: Mapping[str, Any] | None = None,
    max_cells: int = MOST_SHOWN,
) -> Path:
    """Write what a fit found as one HTML page that needs no network.

    The page has the programs with their cells, genes, gene sets and known types, how sure labels are, a map of the
    cells, tables to sort and search, and heat maps to zoom into. Without JavaScript and in print it shows still
    pictures and plain tables. What was not computed before (`genesieve.tl.enrich`, `genesieve.tl.outliers`) is left
    out. The same input gives the same file, byte by byte.

    Parameters
    ----------
    adata
        Data with a fit, from `genesieve.tl.ssnmf`; it is not changed.
    path
        The file to write. It is replaced whole, or left as it was if anything fails.
    key
        Name of the fit.
    known
        Column of ``obs`` with known cell types, to compare with.
    basis
        Slot of ``obsm`` with the cell map's coordinates, say ``"X_umap"``. ``None`` takes a UMAP or t-SNE that is
        there, the map that a run has kept (``"X_ssnmf_map"``), and else makes one of the selected genes' expression.
    title
        Title of the page.
    run
        What else to record of how the fit was made, say versions, times and a fingerprint of the data; may be nested.
    max_cells
        With more cells, so many are drawn, small clusters more densely, and the page says so. Numbers and tables are
        always of all cells.

    Returns
    -------
    pathlib.Path
        The file written.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 50)
    >>> from tempfile import gettempdir
    >>> gs.report(adata, f"{gettempdir()}/report.html", known="cell_type").name
    'report.html'
    """
    check_anndata(adata)
    check_integer("max_cells", max_cells, 1)
    if run is not None and not isinstance(run, Mapping):
        raise TypeError(f"run must be a dictionary or None, got {type(run).__name__}")
    if not Path(path).parent.is_dir():
        raise FileNotFoundError(f"the folder of path must exist, got {str(path)!r}")
    findings = read_findings(adata, key, known)
    shown = choose_cells(findings.clusters.of_cell, findings.programs.usages.max(axis=1), max_cells)
    layout = place_cells(adata, findings.fit, shown, basis)
    sets, n_sets = content.set_rows(findings)
    page = _render(
        findings,
        title=title or f"Gene programs in {words.counted(len(findings.cells), 'cell')}",
        payload=make_payload(findings, shown, layout, sets),
        pictures=still_pictures(findings, shown, layout),
        layout=layout.title,
        n_shown=len(shown),
        sets=sets,
        n_sets=n_sets,
        run=words.facts(run or {}),
    )
    with write_whole(Path(path)) as file:
        file.write(page.encode(errors="replace"))
    return Path(path)


def _render(findings: Findings, **given: Any) -> str:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(
        count=words.count, counted=words.counted, percent=words.percent, number=words.number, p=words.p_value
    )
    begin, script = _asset("theme.js"), "\n".join(_asset(name) for name in SCRIPTS)
    script = f'(function () {{\n"use strict";\n{script}\n}})();\n'
    cards = content.program_cards(findings)
    return environment.from_string(_asset("page.html.j2")).render(
        given,
        findings=findings,
        cards=cards,
        clusters=[] if findings.clusters_are_programs else content.cluster_cards(findings),
        mean_usages=[] if findings.clusters_are_programs else content.mean_usages(findings),
        headline=content.headline(findings, cards),
        agreement=content.agreement(findings),
        crossing=content.crossing(findings),
        gene_rows=content.gene_rows(findings),
        outliers=content.outlier_names(findings),
        by_size=sorted(cards, key=lambda card: -card.n_cells),
        quality=content.quality(findings),
        samples=samples_section(findings.fit, findings.programs.names),
        selection=selection_section(findings.fit),
        parameters=words.facts(_parameters(findings.fit.params)),
        version=version("genesieve"),
        unsure=UNSURE,
        limits=content,
        style=Markup(_asset("style.css")),
        begin=Markup(begin),
        script=Markup(script),
        hashes=[_hash(begin), _hash(script)],
    )


def _parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """The fit's parameters in the order of the estimator's, which files do not keep."""
    names = [*RECORDED, *sorted(set(params) - set(RECORDED))]
    return {name: params[name] for name in names if name in params and name not in INTERNAL}


def _asset(name: str) -> str:
    return files("genesieve._report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """By which the page's security policy knows its own scripts; no other script runs."""
    return "sha256-" + b64encode(sha256(script.encode()).digest()).decode()
