"""The goals, and what was measured for them."""

from __future__ import annotations

from statistics import mean

from benchmarks.harness.goals import Found, Goal
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Results

GOAL_LEVEL, GOAL_EFFECT = "medium", 0.3
MOST_LOST, MOST_AREA, MOST_GENES, LEAST_NMI, TENTH, MOST_COST = 0.02, 0.55, 0.02, 0.70, 0.1, 1.5
LEVEL = 0.05


def planted_mean(results: Results, level: str, effect: float, how: str, field: str) -> float:
    """Over the seeds."""
    found = results.measured(kind="planted", what=level, effect=effect)
    if not found:
        raise Missing("not measured")
    return mean(record[how][field] for record in found)


def kang_mean(results: Results, how: str, field: str) -> float:
    """Over the seeds."""
    found = [record[field] for record in results.measured(kind="kang", what=how) if field in record]
    if not found:
        raise Missing(f"{how} not measured")
    return mean(found)


def verdict(met: bool) -> str:
    return "met" if met else "missed"


def usages(results: Results) -> Found:
    free, known = (planted_mean(results, GOAL_LEVEL, GOAL_EFFECT, how, "correlation") for how in ("free", "known"))
    return f"{known:.3f}, without effects {free:.3f}", verdict(known >= free - MOST_LOST)


def area(results: Results) -> Found:
    found = planted_mean(results, GOAL_LEVEL, GOAL_EFFECT, "known", "area")
    return f"{found:.3f}", verdict(found <= MOST_AREA)


def genes(results: Results) -> Found:
    free, known = (planted_mean(results, GOAL_LEVEL, GOAL_EFFECT, how, "planted") for how in ("free", "known"))
    return f"{known:.3f} planted, without effects {free:.3f}", verdict(known >= free * (1 - MOST_GENES))


def types(results: Results) -> Found:
    found = {how: kang_mean(results, how, "cell_type") for how in ("known", "ignored")}
    of_seeds = [record["cell_type"] for record in results.measured(kind="kang", what="known")]
    said = f"{found['known']:.3f} ({min(of_seeds):.3f} to {max(of_seeds):.3f}, {len(of_seeds)} seeds)"
    return f"{said}; condition not named {found['ignored']:.3f}", verdict(found["known"] >= LEAST_NMI)


def against_harmony(results: Results) -> Found:
    """As many clusters as types, beside the peer's best resolution, told by the types, and its default."""
    ours, theirs = kang_mean(results, "known", "clusters"), kang_mean(results, "harmony", "cell_type")
    argmax, best = (kang_mean(results, "known", field) for field in ("cell_type", "best"))
    default = mean(record["by_setting"][-1] for record in results.measured(kind="kang", what="harmony"))
    ratio = kang_mean(results, "known", "cpu") / kang_mean(results, "harmony", "cpu")
    of_ours = f"clusters {ours:.3f} ({best:.3f} at the best of six resolutions, argmax {argmax:.3f})"
    told = f"{of_ours} against {theirs:.3f} ({default:.3f} at its default resolution) at {ratio:.2f} of the CPU time"
    return told, verdict(ours > theirs and ratio <= TENTH)


def against_cnmf(results: Results) -> Found:
    ours, theirs = (kang_mean(results, how, "cell_type") for how in ("known", "cnmf"))
    ratio = kang_mean(results, "known", "cpu") / kang_mean(results, "cnmf", "cpu")
    return f"{ours:.3f} against {theirs:.3f} at {ratio:.3f} of the CPU time", verdict(ours > theirs and ratio <= TENTH)


def one_interferon_program(results: Results) -> Found:
    """The worst of all fits: interferon genes strongest in one program, and how surely it is called different."""
    found = results.measured(kind="interferon")
    if not found:
        raise Missing("not measured")
    least, most = min(record["strongest"] for record in found), max(record["p_adjusted"] for record in found)
    n_genes, n_donors = found[0]["n_interferon"], found[0]["n_donors"]
    told = f"{least} of {n_genes} interferon genes strongest in one program, adjusted p {most:.0e} ({n_donors} donors)"
    return f"{told}, the worst of {len(found)} fits", verdict(least == n_genes and most <= LEVEL)


def cost(results: Results) -> Found:
    ratio, whole = (
        kang_mean(results, "known", field) / kang_mean(results, "ignored", field) for field in ("fit_cpu", "cpu")
    )
    told = f"{ratio:.2f} of the CPU time of a fit on Kang, {whole:.2f} from counts to labels and clusters"
    return told, verdict(ratio <= MOST_COST)


GOALS = [
    Goal(f"usages correlate with the true ones as without effects, less {MOST_LOST}", usages),
    Goal(f"batch told from usages within a type: area at most {MOST_AREA}", area),
    Goal("selected genes planted, to within 2 % of the fit without effects", genes),
    Goal(f"Kang: types by NMI at least {LEAST_NMI:.2f} with the condition as batch", types),
    Goal("Kang: better than scanpy, Harmony and Leiden at a tenth of the time", against_harmony),
    Goal("Kang: better than cNMF on counts that Harmony corrected, at a tenth of the time", against_cnmf),
    Goal(
        "Kang: the interferon program is one program, and called different between conditions", one_interferon_program
    ),
    Goal(f"at most {MOST_COST} times the time of a fit without batches", cost),
]
