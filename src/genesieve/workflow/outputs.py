"""What a run writes: tidy tables, figures, the report, the object and the model."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import without_stream
from genesieve._slots.keys import Keys
from genesieve.interpret.genes import marker_scores, specificity, z_scores
from genesieve.workflow.model import save_model

if TYPE_CHECKING:
    from anndata import AnnData

KEY = "ssnmf"
RESULT = "result.h5ad"
FIGURES = "figures"
REPORT = "report.html"
TOP_NAMES = 10  # genes that programs.csv names of each program
PNG_DPI = 200
# Without these, every SVG would hold the time and random names, and a repeated run would differ.
SVG_METADATA = {"Date": None}
REPEATABLE_SVG: Any = {"svg.hashsalt": "genesieve"}


def write_outputs(adata: AnnData, folder: Path, *, known: str | None, record: dict[str, Any]) -> None:
    """Fill the folder of a run with everything but run.json."""
    from genesieve._report import report

    write_tables(tables(adata, known=known), folder)
    write_figures(run_figures(adata, known=known), folder / FIGURES)
    save_model(adata, folder / "model", key=KEY)
    report(
        adata,
        folder / REPORT,
        key=KEY,
        known=known,
        title=f"Gene programs in {record['data']['name']}",
        run=_facts(record),
    )
    write_object(adata, folder / RESULT)


def _facts(record: dict[str, Any]) -> dict[str, Any]:
    """What the report tells of the record: no full paths, as the page is mailed around."""
    named = {name: record[name]["name"] for name in ("data", "gene_sets") if record[name] is not None}
    settings = {name: value for name, value in record["settings"].items() if value is not None}
    rest = ("genesieve", "status", "started", "seed", "scores", "versions", "timings", "notes")
    return {**named, "fingerprint": record["data"]["fingerprint"], "settings": settings} | {
        name: record[name] for name in rest if record[name]
    }


def write_object(adata: AnnData, path: Path) -> None:
    """Write h5ad; an error of HDF5 as the operating system's, where a full disk hides behind it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # remarks on how anndata stores things are not for the caller
            without_stream(adata).write_h5ad(path, compression="gzip")
    except Exception as error:
        reason = re.search(r"errno = (\d+)", str(error))
        if reason is None:
            raise
        number = int(reason[1])
        raise OSError(number, os.strerror(number), path.name) from error


# ------------------------------------------------------------------------------------------------ tables


def write_tables(found: dict[str, pd.DataFrame], folder: Path) -> None:
    """Write CSV. Names are written as they are, quoted where CSV needs it."""
    for name, table in found.items():
        table.to_csv(folder / f"{name}.csv", index=False, encoding="utf-8", lineterminator="\n")


def tables(adata: AnnData, *, known: str | None = None) -> dict[str, pd.DataFrame]:
    """The tables of a fit, by file name."""
    keys = Keys(KEY)
    found = {
        "programs": programs_table(adata, known=known),
        "genes": genes_table(adata),
        "cells": cells_table(adata, known=known),
        "biclusters": adata.uns[keys.biclusters],
    }
    if "cluster_centers" in adata.uns[keys.fit]:
        found["clusters"] = clusters_table(adata, known=known)
    if keys.enrichment in adata.uns:
        found["enrichment"] = adata.uns[keys.enrichment]
    return found


def clusters_table(adata: AnnData, *, known: str | None = None) -> pd.DataFrame:
    """One row a cluster: its cells, their confidence and, where types are known, the most frequent one."""
    keys = Keys(KEY)
    labels, rows = adata.obs[keys.labels], []
    for cluster in labels.cat.categories:
        members = (labels == cluster).to_numpy()
        row = {
            "cluster": cluster,
            "n_cells": int(members.sum()),
            "share": float(members.mean()),
            "median_confidence": float(adata.obs[keys.confidence][members].median()),
        }
        rows.append(row | (_mostly(adata.obs[known][members]) if known is not None else {}))
    return pd.DataFrame(rows)


def programs_table(adata: AnnData, *, known: str | None = None) -> pd.DataFrame:
    """One row a program: its cells, its genes and, where types are known, the most frequent one."""
    keys = Keys(KEY)
    of_cell = _most_used(adata)
    top, blocks = (adata.uns[name] for name in (keys.top_genes, keys.biclusters))
    markers = np.argsort(-marker_scores(adata.varm[keys.weights]), axis=0, kind="stable")[:TOP_NAMES]
    rows = []
    for program in _programs(adata):
        members = of_cell == program
        leading = top.loc[top["program"].astype(str) == program, "gene"].astype(str)
        row = {
            "program": program,
            "n_cells": int(members.sum()),
            "share": float(members.mean()),
            "n_bicluster_genes": int((blocks["program"].astype(str) == program).sum()),
            "marker_genes": ";".join(adata.var_names[markers[:, int(program)]].astype(str)),
            "top_genes": ";".join(leading[:TOP_NAMES]),
        }
        rows.append(row | (_mostly(adata.obs[known][members]) if known is not None else {}))
    return pd.DataFrame(rows)


def _mostly(types: pd.Series) -> dict[str, Any]:
    """The most frequent known type of some cells, and its share in those whose type is known."""
    counts = types.dropna().astype(str).value_counts(sort=False)
    if not counts.sum():
        return {"mostly": "", "purity": np.nan}
    return {"mostly": counts.idxmax(), "purity": float(counts.max() / counts.sum())}


def genes_table(adata: AnnData) -> pd.DataFrame:
    """One row a program and selected gene, largest weight first; rank 1 is the largest."""
    keys = Keys(KEY)
    selected = adata.var[keys.selected].to_numpy(dtype=bool)
    W = np.asarray(adata.varm[keys.weights])
    programs = _programs(adata)
    order = np.argsort(-W[selected], axis=0, kind="stable").T  # (rank, selected)
    columns = np.repeat(np.arange(len(programs)), order.shape[1])
    rows = np.flatnonzero(selected)[order.ravel()]
    return pd.DataFrame(
        {
            "program": np.array(programs, dtype=object)[columns],
            "gene": adata.var_names[rows].astype(str).to_numpy(),
            "weight": W[rows, columns].astype(np.float64),
            "rank": np.tile(np.arange(1, order.shape[1] + 1), len(programs)),
            "z": z_scores(W)[rows, columns],
            "specificity": specificity(W)[rows, columns],
        }
    )


def cells_table(adata: AnnData, *, known: str | None = None) -> pd.DataFrame:
    """One row a cell: its program, what else is known of it, and its usage of every program."""
    keys = Keys(KEY)
    columns = {"cell": adata.obs_names.astype(str), "program": _most_used(adata)}
    if "cluster_centers" in adata.uns[keys.fit]:
        columns["cluster"] = adata.obs[keys.labels].astype(str).to_numpy()
    optional = {"confidence": keys.confidence, "outlier": keys.outlier, "outlier_score": keys.outlier_score}
    columns |= {name: adata.obs[slot].to_numpy() for name, slot in optional.items() if slot in adata.obs}
    if known is not None:
        columns["known"] = adata.obs[known].to_numpy()
    usages = np.asarray(adata.obsm[keys.usages]).astype(np.float64)
    return pd.DataFrame(columns | {f"usage_{number}": column for number, column in enumerate(usages.T)})


def _most_used(adata: AnnData) -> np.ndarray:
    """The program that each cell uses most, by name."""
    return np.array(_programs(adata), dtype=object)[np.asarray(adata.obsm[Keys(KEY).usages]).argmax(axis=1)]


def _programs(adata: AnnData) -> list[str]:
    return [str(number) for number in range(adata.obsm[Keys(KEY).usages].shape[1])]


# ------------------------------------------------------------------------------------------------ figures


def run_figures(adata: AnnData, *, known: str | None = None) -> dict[str, Callable[[], Any]]:
    """Figures of a fit, by file name: the names are ours, whatever the data call things."""
    from genesieve import pl

    figures: dict[str, Callable[[], Any]] = {
        "usages": lambda: pl.usages(adata, key=KEY, color=known),
        "loadings": lambda: pl.loadings(adata, key=KEY),
        "top_genes": lambda: pl.top_genes(adata, key=KEY),
        "biclusters": lambda: pl.biclusters(adata, key=KEY, color=known),
        "overlap": lambda: pl.overlap(adata, key=KEY),
        "outliers": lambda: pl.outliers(adata, key=KEY),
        "convergence": lambda: pl.convergence(adata, key=KEY),
    }
    if Keys(KEY).enrichment in adata.uns:
        figures["enrichment"] = lambda: pl.enrichment(adata, key=KEY)
    return figures


def write_figures(figures: dict[str, Callable[[], Any]], folder: Path) -> None:
    """Draw and save each as PNG and SVG; what cannot be drawn of these data is said and left out."""
    import matplotlib.pyplot as plt

    folder.mkdir()
    for name, draw in figures.items():
        open_before = set(plt.get_fignums())
        try:
            with plt.rc_context(REPEATABLE_SVG), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Glyph .* missing from")
                figure = np.ravel(np.asarray(draw(), dtype=object))[0].figure
                figure.draw_without_rendering()
                figure.set_layout_engine("none")  # laid out once, not again for every file
                figure.savefig(folder / f"{name}.png", dpi=PNG_DPI, bbox_inches="tight")
                figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata=SVG_METADATA)
        except ValueError as error:
            for suffix in ("png", "svg"):
                (folder / f"{name}.{suffix}").unlink(missing_ok=True)
            warnings.warn(f"no figure of {name}: {' '.join(str(error).split())}", UserWarning, stacklevel=2)
        finally:
            for number in set(plt.get_fignums()) - open_before:
                plt.close(number)
