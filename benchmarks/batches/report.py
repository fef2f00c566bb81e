"""The places of docs/batches.md."""

from __future__ import annotations

from statistics import mean

from benchmarks.batches import goals
from benchmarks.batches.goals import kang_mean, planted_mean
from benchmarks.batches.planted import EFFECTS, LEVELS
from benchmarks.harness.peers import Missing
from benchmarks.harness.report import NONE, goal_table, number, table
from benchmarks.harness.results import Results

FITS = {
    "free": "no effects",
    "free_known": "no effects, batches named all the same",
    "ignored": "effects, batches not named",
    "known": "effects, batches named",
}
FIELDS = {"correlation": "usages", "area": "batch told by usages (area)", "planted": "selected genes planted"}
KANG = {
    "ignored": "programs, condition not named",
    "known": "programs, condition as batch",
    "ignored_graph": "graph labels, condition not named",
    "known_graph": "graph labels, condition as batch",
    "harmony": "scanpy, Harmony, Leiden (best of six resolutions)",
    "cnmf": "Harmony on counts, cNMF (`Preprocess`, 20 restarts)",
}
INTERFERON = {
    "bag": "all cells as one bag",
    "donors": '`batch_key="donor"`',
    "activities": '`batch_key="donor", orthogonality=0`',
}
KANG_FIELDS = {
    "cell_type": "types (NMI)",
    "condition": "condition (NMI)",
    "clusters": "types, by clusters beside programs",
    "best": "at the best of six resolutions",
    "default": "at resolution 1",
    "seconds": "s",
    "cpu": "CPU s",
}


def fill(results: Results) -> dict[str, str]:
    """The text of every place."""
    return {
        "goals": goal_table([goal.row(results) for goal in goals.GOALS]),
        "planted": planted_table(results),
        "kang": kang_table(results),
        "interferon": interferon_table(results),
    }


def planted_table(results: Results) -> str:
    """Every fit at every level and effect that was run."""
    body = []
    for level in LEVELS:
        for effect in EFFECTS:
            if results.measured(kind="planted", what=level, effect=effect):
                found = [
                    [number(planted_mean(results, level, effect, how, field), 3) for field in FIELDS] for how in FITS
                ]
                body += [[level, str(effect), title, *row] for title, row in zip(FITS.values(), found, strict=True)]
    return table(["level", "effect", "fit", *FIELDS.values()], body)


def kang_table(results: Results) -> str:
    """Ways to label the cells."""
    return table(
        ["labels", *KANG_FIELDS.values()],
        [[title, *(_mean(results, how, field) for field in KANG_FIELDS)] for how, title in KANG.items()],
    )


def interferon_table(results: Results) -> str:
    """The interferon program of every fit; the largest p-value of the seeds."""
    body = []
    for how, title in INTERFERON.items():
        found = results.measured(kind="interferon", what=how)
        if found:
            means = {name: mean(record[name] for record in found) for name in ("area", "reference_mean", "mean")}
            genes = f"{min(record['strongest'] for record in found)} of {found[0]['n_interferon']}"
            shares = [f"{means['reference_mean']:.1%}", f"{means['mean']:.1%}"]
            most = f"{max(record['p_adjusted'] for record in found):.0e}"
            body.append([title, genes, f"{means['area']:.3f}", *shares, most, str(len(found))])
        else:
            body.append([title, *[NONE] * 6])
    heads = ["genes strongest in one program", "condition told by its usage (area)", "share, control", "stimulated"]
    return table(["fit", *heads, "adjusted p, at most", "seeds"], body)


def _mean(results: Results, how: str, field: str) -> str:
    try:
        return number(kang_mean(results, how, field), 1 if field in ("seconds", "cpu") else 3)
    except Missing:
        return NONE
