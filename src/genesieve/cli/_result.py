"""How a finished run is told: a table and where the report is, or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genesieve.cli._screen import LEFT, RIGHT, plain, print_json, table

if TYPE_CHECKING:
    import pandas as pd

    from genesieve.workflow import Outcome

SHOWN_GENES = 5
SHOWN_TERMS = 3  # gene sets of each program


def tell(outcome: Outcome, *, quiet: bool, as_json: bool) -> None:
    """Print the outcome of a run."""
    if as_json:
        print_json(summary(outcome))
    elif not quiet:
        _programs(outcome)
        for line in (*_reasons(outcome), *_lines(outcome)):
            print(plain(line))


def _reasons(outcome: Outcome) -> list[str]:
    """Why there are so many programs and genes, where the data decided."""
    chosen = outcome.record.get("selection")
    return [] if chosen is None else why(chosen)


def why(chosen: dict[str, Any]) -> list[str]:
    """A suggestion, its reason and how sure it is, in words."""
    from genesieve.selection.rule import how_sure

    sizes, sure = chosen["suggested"], how_sure(chosen["signals"], clear=chosen["clear"])
    said = [f"Suggested: {sizes['n_components']} programs, {sizes['n_genes']:,} genes.", f"Why: {chosen['reason']}."]
    return [*said, f"How sure: {sure}"] if sure else said


def summary(outcome: Outcome) -> dict[str, Any]:
    """What --json prints."""
    record, folder = outcome.record, outcome.folder
    names = ("kind", "status", "fit", "selection", "scores", "timings", "notes")
    report = folder / "report.html"
    return {
        "folder": str(folder),
        "report": str(report) if report.exists() else None,
        "files": sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()),
        "cells": outcome.adata.n_obs,
        **{name: record[name] for name in names if name in record},
    }


def _programs(outcome: Outcome) -> None:
    from genesieve._slots.read import read_fit
    from genesieve.tl._tables import programs_table

    record, adata = outcome.record, outcome.adata
    known = record["settings"]["labels"]
    found = programs_table(adata, known=known)
    named = "name" in found and found["name"].astype(bool).any()
    headings = {"program": RIGHT, **({"name": LEFT} if named else {}), "cells": RIGHT}
    headings |= {**({"mostly": LEFT} if known else {}), "marker genes": LEFT}
    headings |= {"look twice": LEFT} if found["flags"].any() else {}
    rows: list[list[object]] = []
    for row in found.itertuples():
        mostly = [f"{row.mostly} ({row.purity:.0%})" if row.mostly else "-"] if known else []
        flagged = [row.flags] if found["flags"].any() else []
        genes = " ".join(row.marker_genes.split(";")[:SHOWN_GENES])
        rows.append([row.program, *([row.name or "-"] if named else []), row.n_cells, *mostly, genes, *flagged])
    given = int(read_fit(adata, "ssnmf").given.sum())  # data outside memory keep the genes that preparing drops
    genes = f"{record['fit']['selected_genes']} of {given} genes"
    table(f"{len(found)} programs on {genes}, {adata.n_obs} cells", headings, rows)


def _lines(outcome: Outcome) -> list[str]:
    from genesieve._slots.read import read_fit

    fit, scores = read_fit(outcome.adata, "ssnmf"), outcome.record["scores"]
    n_clusters = len(fit.of_cells("cluster").cat.categories) if fit.has("cluster") else 0
    lines = [f"{n_clusters} clusters of the cells: {outcome.folder / 'clusters.csv'}"] if n_clusters else []
    if scores:
        lines.append(agreement(scores))
    if fit.has("compare"):
        lines.append(f"{differences(fit.found('compare'))}: {outcome.folder / 'compare.csv'}")
    if outcome.record["status"] != "complete":
        lines.append("The fit was stopped early: these are its results so far.")
    return [*lines, f"All files: {outcome.folder}", f"Report: {outcome.folder / 'report.html'}"]


def differences(found: pd.DataFrame) -> str:
    """How many programs differ between groups, in words."""
    from genesieve.tl._tables import ALPHA

    reference, *groups = dict.fromkeys([*found["reference"].astype(str), *found["group"].astype(str)])
    different = found.loc[found["p_adjusted"] <= ALPHA, "program"].nunique()
    told = f"{different} of {found['program'].nunique()} programs differ between {reference} and {', '.join(groups)}"
    return f"{told} at a false discovery rate of {ALPHA:.0%}, samples as replicates"


def agreement(scores: dict[str, Any]) -> str:
    """Scores against the known types, in words."""
    said = _numbers(scores)
    if "clusters" in scores:
        said = f"programs {said}; clusters {_numbers(scores['clusters'])}"
    return f"Agreement with the known types of {scores['cells']} cells: {said}"


def _numbers(scores: dict[str, Any]) -> str:
    return f"NMI {scores['nmi']:.2f}, ARI {scores['ari']:.2f}, purity {scores['purity']:.2f}"


def described(outcome: Outcome) -> str:
    """How well the model describes new cells, in words; nothing where it is not known."""
    from genesieve._slots.read import read_projection

    cells = read_projection(outcome.adata, "ssnmf")
    if not cells.has("poor_fit"):
        return ""
    poor, explained = cells.of_cells("poor_fit"), cells.of_cells("explained")
    return f", {poor.mean():.0%} of them poorly described (median share explained {explained.median():.2f})"


def tell_enrichment(outcome: Outcome) -> None:
    """Print the leading gene sets of every program."""
    from genesieve._slots.read import read_fit
    from genesieve.tl._tables import ALPHA, significant

    found = read_fit(outcome.adata, "ssnmf").found("enrichment")
    best = significant(found).groupby("program", observed=True, sort=False).head(SHOWN_TERMS)
    rows: list[list[object]] = [
        [row.program, row.term, f"{row.overlap} of {row.set_size}", f"{row.p_adjusted:.1e}"]
        for row in best.itertuples()
    ]
    headings = {"program": RIGHT, "gene set": LEFT, "genes": RIGHT, "adjusted p": RIGHT}
    table(f"Gene sets with an adjusted p-value of at most {ALPHA:g}", headings, rows)
    print(plain(f"All tests: {outcome.folder / 'enrichment.csv'}"))
    print(plain(f"Report: {outcome.folder / 'report.html'}"))
