"""The places of docs/genes.md."""

from __future__ import annotations

from benchmarks.genes import goals
from benchmarks.genes.goals import at_count, mean
from benchmarks.genes.planted import KINDS, LEVELS
from benchmarks.genes.selected import COUNTS, LABELLED_COUNTS
from benchmarks.genes.selectors import SELECTORS
from benchmarks.genes.terms import SETS
from benchmarks.harness.data import DATA
from benchmarks.harness.peers import Missing
from benchmarks.harness.report import NONE, goal_table, number, picture, table
from benchmarks.harness.results import Results

SCORES = {
    "oracle": "likelihood, all else known (no ranking is better)",
    "regression": "gene scores (`gs.tl.gene_scores`)",
    "true_usages": "the same from the true usages",
    "cnmf": 'as cNMF defines them (`method="cnmf"`)',
    "weight": "gene weights",
}
CUT = {
    "false_0.05": "false, of a promised 5 %",
    "sensitivity_0.05": "found at 5 %",
    "false_0.1": "false, of a promised 10 %",
    "sensitivity_0.1": "found at 10 %",
}


def fill(results: Results, pictures: list[str]) -> dict[str, str]:
    """The text of every place."""
    return {
        "pictures": "".join(picture(name) for name in pictures),
        "selected": "\n".join(selected_table(results, level) for level in LEVELS),
        "nmi": labelled_table(results, "nmi"),
        "accuracy": labelled_table(results, "balanced_accuracy"),
        "leads": lead_table(results),
        "goals": goal_table([goal.row(results) for goal in goals.GOALS]),
        "precision": by_level(results, "precision"),
        "often": by_level(results, "precision_often"),
        "best": by_level(results, "best_right"),
        "cut": cut_table(results),
        "terms": "\n".join(terms_table(results, name) for name in SETS),
    }


def both(results: Results, level: str, score: str, field: str, setting: str = "planted") -> str:
    """The means of both kinds of programs."""
    try:
        return " / ".join(number(mean(results, level, score, kind, field, setting), 3) for kind in KINDS)
    except Missing:
        return NONE


def by_level(results: Results, field: str) -> str:
    """A table of scores x levels."""
    body = [[title, *(both(results, level, name, field) for level in LEVELS)] for name, title in SCORES.items()]
    return table(["genes ranked by", *LEVELS], body)


def selected_table(results: Results, level: str) -> str:
    """Of k genes, the share that is right (and of the right ones, the share found), by selector."""
    body = []
    for name, selector in SELECTORS.items():
        cells = [selected_right(results, level, name, k) for k in COUNTS]
        if any(cell != NONE for cell in cells):
            body.append([selector.title, *cells])
    if not body:
        return ""
    n_raised = goals.raised_at(results, level)
    if n_raised:
        body.append(["*at most, as so many are raised*", *(f"{min(1.0, n_raised / k):.2f}" for k in COUNTS)])
    return f"{level}:\n\n{table(['genes from', *(f'k = {k}' for k in COUNTS)], body)}"


def selected_right(results: Results, level: str, selector: str, k: int) -> str:
    try:
        pair = [at_count(results, "selected", level, selector, k, field) for field in ("precision", "recall")]
    except Missing:
        return NONE
    return f"{pair[0]:.2f} ({pair[1]:.2f})"


def labelled_table(results: Results, field: str) -> str:
    """What k genes keep of known types, in the mean of the sets that have a choice at that k."""
    head = ["genes from", *(f"k = {k} ({len(goals.sets_at(results, k))} sets)" for k in LABELLED_COUNTS)]
    body = []
    for name, selector in SELECTORS.items():
        values = [goals.over_sets(results, name, k, field) for k in LABELLED_COUNTS]
        if any(value is not None for value in values):
            body.append([selector.title, *(number(value, 3) for value in values)])
    return table(head, body) if body else ""


def lead_table(results: Results) -> str:
    """How far our genes are ahead of each selector that a user may choose beforehand, by both measures."""
    body = []
    for field, title in {"nmi": "NMI", "balanced_accuracy": "balanced accuracy"}.items():
        ours = [goals.over_sets(results, goals.OURS, k, field) for k in LABELLED_COUNTS]
        for name, selector in SELECTORS.items():
            theirs = [goals.over_sets(results, name, k, field) for k in LABELLED_COUNTS]
            pairs = list(zip(ours, theirs, strict=True))
            if name != goals.OURS and any(other is not None for other in theirs):
                leads = [NONE if a is None or b is None else f"{a - b:+.3f}" for a, b in pairs]
                body.append([title, selector.title, *leads])
    return table(["measure", "ahead of", *(f"k = {k}" for k in LABELLED_COUNTS)], body) if body else ""


def cut_table(results: Results) -> str:
    """What passes the cut, by level."""
    rows = [("planted", level, level) for level in LEVELS]
    rows += [("cnmf", level, f"cNMF's setting, {level}") for level in LEVELS[:3]]
    body = [
        [title, *(both(results, level, "regression", field, setting) for field in CUT)]
        for setting, level, title in rows
    ]
    return table(["level", *CUT.values()], body)


def terms_table(results: Results, data: str) -> str:
    """The leading sets of every program of a data set."""
    found = results.measured(kind="real", what=data)
    if not found:
        return ""
    body = [
        [
            f"{program['type']} ({program['cells']})",
            " ".join(program["markers"]),
            *("; ".join(program[name]) or NONE for name in ("before", "after")),
        ]
        for program in found[0]["programs"]
    ]
    head = ["program: most frequent type (cells)", "markers", "leading sets of biclusters", "leading sets of markers"]
    return f"### {DATA[data].title}\n\n{table(head, body)}"
