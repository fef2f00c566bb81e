"""What a run writes: tidy tables, figures, the report, the object and the model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import without_stream
from genesieve._files import forgiving_file
from genesieve._slots.read import read_fit
from genesieve._spreadsheets import without_formulas
from genesieve.core.cells.streamed import streamed
from genesieve.tl._tables import cells_table, clusters_table, genes_table, programs_table, scores_table
from genesieve.workflow.model import save_model

if TYPE_CHECKING:
    from anndata import AnnData

KEY = "ssnmf"
RESULT = "result.h5ad"
FIGURES = "figures"
REPORT = "report.html"
PNG_DPI = 200
NAMED_GENES, FEWEST_GENES = 72, 2  # in a heat map of a page, and of each program
MAP_SIZE, LEGEND = 3.4, 1.2  # inches of a map of the cells, and of what is below it
MARGIN = 0.1  # inches around a figure
MANY_VALUES = 20_000_000  # of an object: packing more of them tightly would take longer than the fit
PACKED = {"compression": "gzip", "compression_opts": 1}  # 4, the default, takes 2.6 times as long for a quarter less
PACKED_QUICKLY = {"compression": "lzf"}
# Without these, every SVG would hold the time and random names, and a repeated run would differ.
SVG_METADATA = {"Date": None}
REPEATABLE_SVG: Any = {"svg.hashsalt": "genesieve"}


def write_outputs(
    adata: AnnData,
    folder: Path,
    *,
    known: str | None,
    record: dict[str, Any],
    figures: dict[str, Callable[[], Any]],
    step: Callable[[str], None],
) -> None:
    """Fill the folder of a run with everything but run.json; every ``step`` on the way is told by its name."""
    from genesieve._report import report

    with _in_background(adata, folder / RESULT) as map_is_made:
        step("tables")
        write_tables(tables(adata, known=known), folder)
        write_figures({name: figures[name] for name in figures if name != "map"}, folder / FIGURES, step)
        step("the model")
        save_model(adata, folder / "model", key=KEY)
        step("the map of the cells")
        map_is_made()
        write_figures({name: figures[name] for name in figures if name == "map"}, folder / FIGURES, step)
        step("the report")
        title = f"Gene programs in {record['data']['name']}"
        report(adata, folder / REPORT, key=KEY, known=known, title=title, run=_facts(record))
        step("the object")


OTHER_STEPS = 5  # besides the figures


@contextmanager
def _in_background(adata: AnnData, path: Path) -> Iterator[Callable[[], object]]:
    """Beside what happens in here, the map of the cells is made and the object written; gives what waits for the map.

    Most of both is compiled code, which leaves Python free. Of values outside memory the map is made first and the
    object written last: files are read by one at a time.
    """
    from genesieve._report.layout import keep_map, reserve_map

    if streamed(adata.X) is not None:
        keep_map(adata, KEY)
        yield lambda: None
        write_object(adata, path)
        return
    adata.strings_to_categoricals()  # as writing would do, while others read
    make_map = reserve_map(adata, KEY)  # slots must not be added while others go through them
    # Filters of warnings belong to all threads, so these are set once, around both.
    with warnings.catch_warnings(), ThreadPoolExecutor(1) as pool:
        for kind in (FutureWarning, DeprecationWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", kind)
        warnings.filterwarnings("ignore", module="anndata")
        made = pool.submit(make_map)
        written = pool.submit(_write_h5ad, adata, path)
        yield made.result
        written.result()


def _facts(record: dict[str, Any]) -> dict[str, Any]:
    """What the report tells of the record: no full paths, as the page is mailed around."""
    named = {name: record[name]["name"] for name in ("data", "gene_sets", "markers") if record.get(name) is not None}
    settings = {name: value for name, value in record["settings"].items() if value is not None}
    rest = {name: name for name in ("genesieve", "status", "started", "seed", "scores", "versions")}
    rest |= {"timings": "seconds", "notes": "notes"}
    return {**named, "fingerprint": record["data"]["fingerprint"], "settings": settings} | {
        title: record[name] for name, title in rest.items() if record[name]
    }


def write_object(adata: AnnData, path: Path) -> None:
    """Write h5ad, without remarks on how anndata stores things, which are not for the caller."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _write_h5ad(adata, path)


def _write_h5ad(adata: AnnData, path: Path) -> None:
    """Write as `AnnData.write_h5ad` does, into a file whose disk may be full: HDF5 itself would crash later on."""
    import h5py
    from anndata.io import write_elem

    adata = without_stream(adata)
    adata.strings_to_categoricals()
    packed: dict[str, Any] = PACKED if getattr(adata.X, "size", 0) < MANY_VALUES else PACKED_QUICKLY
    with forgiving_file(path) as file, h5py.File(file, "w") as store:
        write_elem(store, "/", adata, dataset_kwargs=packed)


# ------------------------------------------------------------------------------------------------ tables


def write_tables(found: dict[str, pd.DataFrame], folder: Path) -> None:
    """Write CSV. Names are written as they are, but for those that a spreadsheet would run as a formula."""
    for name, table in found.items():
        without_formulas(table).to_csv(folder / f"{name}.csv", index=False, encoding="utf-8", lineterminator="\n")


def tables(adata: AnnData, *, known: str | None = None) -> dict[str, pd.DataFrame]:
    """The tables of a fit, by file name."""
    fit = read_fit(adata, KEY)
    found = {
        "programs": programs_table(adata, key=KEY, known=known),
        "genes": genes_table(adata, key=KEY),
        "cells": cells_table(adata, key=KEY, known=known),
        "biclusters": fit.found("biclusters"),
    }
    if fit.has("markers"):  # runs of older versions have none
        found |= {"markers": fit.found("markers"), "gene_scores": scores_table(adata, key=KEY)}
    if fit.has("cluster") or fit.centers is not None:  # runs of older versions have labels alone
        found["clusters"] = clusters_table(adata, key=KEY, known=known)
    if fit.has("enrichment"):
        found["enrichment"] = fit.found("enrichment")
    for name in ("compare", "compare_samples", "annotation"):
        if fit.has(name):
            found[name] = fit.found(name)
    return found


# ------------------------------------------------------------------------------------------------ figures


def run_figures(
    adata: AnnData, *, known: str | None = None, only: Sequence[str] | None = None
) -> dict[str, Callable[[], Any]]:
    """Figures of a fit, or some of them, by file name: the names are ours, whatever the data call things."""
    from genesieve import pl

    fit = read_fit(adata, KEY)
    few = max(FEWEST_GENES, NAMED_GENES // fit.rank)
    figures: dict[str, Callable[[], Any]] = {
        "map": lambda: _maps(adata, known),
        "usages": lambda: pl.usages(adata, key=KEY, color=known),
        "loadings": lambda: pl.loadings(adata, key=KEY),
        "top_genes": lambda: pl.top_genes(adata, key=KEY),
        "biclusters": lambda: pl.biclusters(adata, key=KEY, color=known, n_genes=few),
        "overlap": lambda: pl.overlap(adata, key=KEY),
        "outliers": lambda: pl.outliers(adata, key=KEY),
    }
    if fit.has("markers"):
        figures["markers"] = lambda: pl.markers(adata, key=KEY, color=known, n_genes=few)
    if fit.has("enrichment"):
        figures["enrichment"] = lambda: pl.enrichment(adata, key=KEY)
    if fit.has("compare"):
        figures["compare"] = lambda: pl.compare(adata, key=KEY)
    if fit.has("annotation"):
        figures["annotation"] = lambda: pl.annotation(adata, key=KEY)
    return {name: draw for name, draw in figures.items() if only is None or name in only}


def _maps(adata: AnnData, known: str | None) -> Any:
    """The cells by program, by cluster and by known type, as far as there are any."""
    import matplotlib.pyplot as plt

    from genesieve import pl

    fit = read_fit(adata, KEY)
    colors = [None, *([fit.of_cells("cluster").name] if fit.has("cluster") else []), *([known] if known else [])]
    _, grid = plt.subplots(1, len(colors), figsize=(MAP_SIZE * len(colors), MAP_SIZE + LEGEND), layout="constrained")
    return [pl.cell_map(adata, color, key=KEY, ax=ax) for color, ax in zip(colors, np.ravel(grid), strict=True)]


def write_figures(
    figures: dict[str, Callable[[], Any]], folder: Path, step: Callable[[str], None] = lambda what: None
) -> None:
    """Draw and save each as PNG and SVG; what cannot be drawn of these data is said and left out."""
    import matplotlib.pyplot as plt

    from genesieve.pl._style import settle_for_good

    if figures:
        folder.mkdir(exist_ok=True)
    for name, draw in figures.items():
        step(f"figure of {name.replace('_', ' ')}")
        open_before = set(plt.get_fignums())
        try:
            with plt.rc_context(REPEATABLE_SVG), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Glyph .* missing from")
                figure = np.ravel(np.asarray(draw(), dtype=object))[0].figure
                settle_for_good(figure)  # laid out and measured once, not again for every file
                box = figure.get_tightbbox().padded(MARGIN)
                figure.savefig(folder / f"{name}.png", dpi=PNG_DPI, bbox_inches=box)
                figure.savefig(folder / f"{name}.svg", bbox_inches=box, metadata=SVG_METADATA)
        except ValueError as error:
            for suffix in ("png", "svg"):
                (folder / f"{name}.{suffix}").unlink(missing_ok=True)
            warnings.warn(f"no figure of {name}: {' '.join(str(error).split())}", UserWarning, stacklevel=2)
        finally:
            for number in set(plt.get_fignums()) - open_before:
                plt.close(number)
