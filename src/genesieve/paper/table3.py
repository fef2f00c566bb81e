"""Table 3: NMI against the gene budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genesieve.paper.contest import DEFAULT, OURS, PUBLISHED, summary, tasks
from genesieve.paper.harness import Data, Done
from genesieve.paper.printed import NAMES, TABLE3, TABLE3_BUDGETS, TABLE3_METHODS, Score
from genesieve.paper.report import BLANK, Section, markdown
from genesieve.paper.study import Study, by_data_set

TITLE = "Table 3: NMI against the number of genes"
BUDGETS = (100, 250, *TABLE3_BUDGETS)  # two more than the paper's: few genes are what a panel can have
WAYS = ((PUBLISHED, TABLE3_METHODS), (OURS, (DEFAULT,)))


def run(study: Study) -> Section:
    """The four methods with a gene budget, and genesieve's default, with every budget that the genes allow."""
    note = "Mean NMI in per cent over starts; a budget above the number of genes at hand stays blank.\n\n"
    return by_data_set("table3", TITLE, note, study, _of_data)


def _of_data(study: Study, data: Data) -> tuple[str, list[Done]]:
    budgets = [k for k in BUDGETS if k <= data.X.shape[1]]
    ways = [(k, way, names) for k in budgets for way, names in WAYS]
    work = [task for k, way, names in ways for task in tasks(data, way, study.starts, names, n_genes=k)]
    done = study.run(work, data)
    scores = {k: summary([each for each in done if each.task.options["n_genes"] == k]) for k in budgets}
    return _report(data, scores, done, study.n_starts), done


def _report(
    data: Data, scores: Mapping[int, Mapping[tuple[str, str], Score]], done: Sequence[Done], n_starts: int
) -> str:
    def cells(way: str, method: str) -> list[str]:
        return [f"{100 * scores[k][way, method].mean:.2f}" if k in scores else BLANK for k in BUDGETS]

    rows = []
    for method in TABLE3_METHODS:
        printed = dict(zip(TABLE3_BUDGETS, TABLE3.get(data.name, {}).get(method, ()), strict=False))
        rows.append([f"{NAMES[method]}, printed", *(f"{printed[k]:.2f}" if k in printed else BLANK for k in BUDGETS)])
        rows.append([f"{NAMES[method]}, run as published", *cells(PUBLISHED, method)])
    minutes = sum(each.seconds for each in done) / 60
    default = markdown(["not in the paper, k =", *map(str, BUDGETS)], [["genesieve's default", *cells(OURS, DEFAULT)]])
    return (
        f"### {data.name.capitalize()}\n\n{data.note}, {n_starts} starts, {minutes:.1f} minutes of one core.\n\n"
        f"{markdown(['k =', *map(str, BUDGETS)], rows)}\n{default}"
    )
