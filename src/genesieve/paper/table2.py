"""Table 2: NMI, purity and entropy of every method on labelled data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from genesieve.paper.contest import DEFAULT, OURS, PUBLISHED, WORK, WRITTEN, best_published, mean_path, summary, tasks
from genesieve.paper.harness import Data, Done, Task
from genesieve.paper.printed import NAMES, TABLE2, Score
from genesieve.paper.report import Section, distance, markdown, percent, show
from genesieve.paper.study import Study, by_data_set, comparable

TITLE = "Table 2: NMI, purity and entropy"
WAYS = (PUBLISHED, WRITTEN, OURS)
PAIRS = [heading for name in ("NMI", "purity", "entropy") for heading in (name, "here", "sd off")]
HEADINGS = ["method", "genes", *PAIRS, "Eq. 28"]
# What is not known of the runs on real data, and other values of it: of the norm that W is given, and of how long the
# NMF runs that a method starts from.
LONGER = {"nmf_iterations": 2000, "nmf_tol": 1e-4}
ASSUMED: dict[str, list[dict[str, float]]] = {
    "onmf_lc0": [{"norm": norm} for norm in (1.0, 10.0, 20.0, 40.0, 100.0)],
    "nmf_l20": [{"nmf_iterations": 50}, {"nmf_iterations": 100}, LONGER],
    "onmf_l20_rho": [{"nmf_iterations": 50}, {"nmf_iterations": 100}, LONGER],
}
SCORES = {"NMI": "nmi", "purity": "purity", "entropy, as in Table 2": "entropy_given_classes", "Eq. 28": "entropy"}


def run(study: Study) -> Section:
    """Every method on every data set given, from every start."""
    note = (
        "In per cent, mean ± sd over starts. The first number of each pair is printed, the second was measured here,"
        " and 'sd off' is the difference in printed sd. The printed entropy conditions on the classes; Eq. 28 on the"
        " clusters. NMI is normalised by the arithmetic mean, as published.\n\n"
    )
    return by_data_set("table2", TITLE, note, study, _of_data)


def _of_data(study: Study, data: Data) -> tuple[str, list[Done]]:
    done = study.run([task for way in WAYS for task in tasks(data, way, study.starts)], data)
    otherwise = study.run(_other_assumptions(data, study.starts), data)
    return _report(data, done, study.n_starts) + _assumptions(data, otherwise), [*done, *otherwise]


def _report(data: Data, done: Sequence[Done], n_starts: int) -> str:
    scores = {column: summary(done, column) for column in (*SCORES.values(), "genes")}

    def line(name: str, way: str, method: str) -> list[str]:
        return [name, *(show(percent(scores[column][way, method]), 2) for column in SCORES.values())]

    rows = [
        _row(data, method, {column: each[PUBLISHED, method] for column, each in scores.items()}) for method in NAMES
    ]
    written = [line(name, WRITTEN, method) for method, name in NAMES.items()]
    best = best_published(scores["nmi"])
    default = [
        line("genesieve's default", OURS, DEFAULT),
        line(f"the paper's best here, {NAMES[best]}", PUBLISHED, best),
    ]
    return (
        f"### {data.name.capitalize()}\n\n{data.note}, {n_starts} starts.\n\n"
        f"Run as published ({_minutes(done, PUBLISHED)}):\n\n{markdown(HEADINGS, rows)}\n"
        f"NMI of the same runs after every stage of a growing rho:\n\n{_stages(done)}\n"
        f"The paper's algorithms as it writes them, `gs.METHODS` ({_minutes(done, WRITTEN)}):\n\n"
        f"{markdown(['method', *SCORES], written)}\n"
        f"genesieve's default ({_minutes(done, OURS)}):\n\n{markdown(['not in the paper', *SCORES], default)}"
    )


def _other_assumptions(data: Data, starts: Iterable[int]) -> list[Task]:
    """Methods under other assumptions, where there are printed values to hold them against."""
    if data.name not in TABLE2 or not comparable(data):
        return []
    settings = [(method, options) for method, each in ASSUMED.items() for options in each]
    return [task for method, options in settings for task in tasks(data, PUBLISHED, starts, (method,), **options)]


def _assumptions(data: Data, done: Sequence[Done]) -> str:
    if not done:
        return ""
    cases: dict[tuple[str, str], list[Done]] = {}
    for each in done:
        setting = ", ".join(f"{name} = {value:g}" for name, value in each.task.options.items())
        cases.setdefault((each.task.method, setting), []).append(each)
    rows = []
    for (method, setting), case in cases.items():
        here, printed = percent(summary(case)[PUBLISHED, method]), TABLE2[data.name][method].nmi
        rows.append([NAMES[method], setting, show(printed, 2), show(here, 2), distance(here, printed)])
    headings = ["method", "if", "NMI", "here", "sd off"]
    return (
        "\nRun as published, with other values of what is not known of the runs on real data: the norm that ONMF_lc0"
        " gives W (the rank above), and how long the NMF runs that a method starts from (500 iterations, or a change"
        f" below 1e-3, above):\n\n{markdown(headings, rows)}"
    )


def _minutes(done: Sequence[Done], way: str) -> str:
    mine = [each.seconds for each in done if each.task.work is WORK[way]]
    spent = f"{sum(mine) / 60:.1f} minutes" if sum(mine) >= 60 else f"{sum(mine):.0f} seconds"
    return f"{len(mine)} runs, {spent} of one core"


def _stages(done: Sequence[Done]) -> str:
    """Mean NMI after every stage."""
    paths: dict[str, list[list[list[float]]]] = {}
    for task, result, _ in done:
        if len(result.get("stages", ())) > 1:
            paths.setdefault(task.method, []).append(result["stages"])  # (stages, 2)
    if not paths:
        return "none has more than one stage\n"
    longest = max((path for each in paths.values() for path in each), key=len)
    rows = [
        [NAMES[method], *(f"{100 * score:.2f}" for _, score in mean_path(each, len(longest)))]
        for method, each in paths.items()
    ]
    return markdown(["rho =", *(f"{rho:.3g}" for rho, _ in longest)], rows)


def _row(data: Data, method: str, ours: dict[str, Score]) -> list[str]:
    printed = TABLE2.get(data.name, {}).get(method)
    cells = [NAMES[method], f"{ours['genes'].mean:.0f}"]
    for name, column in (("nmi", "nmi"), ("purity", "purity"), ("entropy", "entropy_given_classes")):
        value, here = getattr(printed, name, None), percent(ours[column])
        cells += [show(value, 2), show(here, 2), distance(here, value if comparable(data) else None)]
    return [*cells, show(percent(ours["entropy"]), 2)]
